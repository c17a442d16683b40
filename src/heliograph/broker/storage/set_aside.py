"""Objects of the log that cannot be opened: set aside as they are, until an operator decides, while all else is served.

The fact that tells of such an object is wrapped in a fact of its own, with the reason, when a server first meets it,
and again in each checkpoint. So it stays readable for `helio log`, is in nobody's way (there may be a new object of the
same name), and keeps its cursors, and with them its messages. Each start tries to open it again.
"""

import base64
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from heliograph.broker.storage import record_kinds
from heliograph.errors import Problem
from heliograph.log import MESSAGES, ApplicationRecord, Record
from heliograph.mqtt import ProtocolError
from heliograph.objects import shown_value

_NAMES = {
    record_kinds.SESSION: ("session", "client"),
    record_kinds.SUBSCRIBED: ("subscription", "filter"),
    record_kinds.STREAM: ("stream", "stream"),
    record_kinds.QUEUE: ("queue", "queue"),
}
"""What people call those that have cursors, and where their facts have the name."""
OTHERS = {
    MESSAGES: "messages",
    record_kinds.RETAINED: "retained message",
    record_kinds.MOVES: "packet identifiers",
    record_kinds.DELIVERIES: "failed deliveries",
    record_kinds.AWAY: "sessions",
}


class SetAside(NamedTuple):
    """One object: the fact that tells of it, and why it could not be opened."""

    kind: int
    body: bytes
    name: str
    """For people, as in `stream "plant"`."""
    why: str
    position: int
    """Where in the log the fact was found first."""
    cursors: tuple[int, ...] = ()
    """Those that nobody else has: its messages."""

    @property
    def key(self) -> tuple[int, bytes]:
        """By which it is known: the same fact is met again when a start is cut short."""
        return self.kind, self.body

    def record(self) -> ApplicationRecord:
        """What the log is told of it."""
        told = {**self._asdict(), "body": base64.b64encode(self.body).decode()}
        return record_kinds.SET_ASIDE, record_kinds.as_json(told)


def read_set_aside(body: bytes) -> SetAside:
    """What the log was told."""
    told = json.loads(body)
    return SetAside(**{**told, "body": base64.b64decode(told["body"]), "cursors": tuple(told["cursors"])})


def reason(error: Exception) -> str:
    """Why something could not be opened, in one line."""
    if isinstance(error, Problem | ProtocolError):
        return "; ".join(str(error).splitlines())
    # Not foreseen: say what Python says.
    text = f"{type(error).__name__}: {error}".encode("utf-8", "backslashreplace").decode()
    return " ".join(text.split())[:500]


class SetAsides:
    """All that is set aside in one log."""

    def __init__(self) -> None:
        self._found: dict[tuple[int, bytes], SetAside] = {}
        self._logged: set[tuple[int, bytes]] = set()
        """What the log has as set aside."""
        self._owners_unknown: list[tuple[int, bytes]] = []
        """Facts that cannot be read at all: whose cursors they had, nobody knows."""

    def __len__(self) -> int:
        return len(self._found)

    def __iter__(self) -> Iterator[SetAside]:
        return iter(list(self._found.values()))

    def add(self, record: Record, error: Exception) -> None:
        """This fact tells of something that cannot be opened."""
        kind, body, position = record.kind, record.body, record.position
        try:
            fact = json.loads(body) if kind in _NAMES else None
        except (ValueError, RecursionError):
            fact = None
            self._owners_unknown.append((kind, body))
        if kind == record_kinds.AWAY:
            self._owners_unknown.append((kind, body))
        known = self._found.get((kind, body))
        cursors = set(_cursors_in(fact)) | set(known.cursors if known else ())
        position = known.position if known else position
        one = SetAside(kind, body, _name(kind, fact, position), reason(error), position, tuple(sorted(cursors)))
        self._found[one.key] = one

    def take(self, body: bytes) -> SetAside:
        """Take up what the log was told."""
        one = read_set_aside(body)
        self._found[one.key] = one
        self._logged.add(one.key)
        return one

    def remove(self, one: SetAside) -> None:
        """It is tried once more, or an operator has decided."""
        del self._found[one.key]

    def keep_cursors(self, there: set[int], owned: set[int]) -> set[int]:
        """Of the cursors that are there and have no other owner: those that stay for what is set aside."""
        kept: set[int] = set()
        for one in self:
            mine = (set(one.cursors) & there) - owned
            if one.key in self._owners_unknown:
                mine |= there - owned - kept
            kept |= mine
            self._found[one.key] = one._replace(cursors=tuple(sorted(mine)))
        return kept

    def news(self) -> list[SetAside]:
        """What the log does not have as set aside yet; it is told now."""
        new = [one for one in self if one.key not in self._logged]
        self._logged.update(one.key for one in new)
        return new

    @property
    def outdated(self) -> bool:
        """Whether the log has something as set aside that could be opened now."""
        return not self._logged <= self._found.keys()


def _name(kind: int, fact: Any, position: int) -> str:
    if kind not in _NAMES:
        return f"{OTHERS.get(kind, f'fact of kind {kind}')} at position {position}"
    what, key = _NAMES[kind]
    name = fact.get(key) if isinstance(fact, dict) else None
    return f"{what} {shown_value(name)}" if isinstance(name, str) else f"{what} at position {position}"


def _cursors_in(fact: Any) -> Iterator[int]:
    """The numbers of cursors that stand anywhere in a fact."""
    if isinstance(fact, list):
        for one in fact:
            yield from _cursors_in(one)
    elif isinstance(fact, dict):
        for key, value in fact.items():
            if key in {"cursor", "cursors"}:
                numbers = value if isinstance(value, list) else [value]
                yield from (one for one in numbers if isinstance(one, int) and one)
            else:
                yield from _cursors_in(value)
