"""Objects that were found in the log and cannot be opened, for example a queue whose definition makes no sense.

One broken object must not keep a server from starting. So its record is set aside: wrapped, with the reason, in a
record of kind SET_ASIDE, when a server first meets it and again in each checkpoint. It stays readable for `helio log`,
keeps its cursors and thereby its messages, and does not block a new object of the same name. Each start tries to open
it again, until it works or an operator decides.
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
"""Objects with cursors: what they are called, and which field of the record has the name."""
OTHERS = {
    MESSAGES: "messages",
    record_kinds.RETAINED: "retained message",
    record_kinds.MOVES: "packet identifiers",
    record_kinds.DELIVERIES: "failed deliveries",
    record_kinds.AWAY: "sessions",
}


class SetAside(NamedTuple):
    """One object that was set aside: its record, and why it could not be opened."""

    kind: int
    body: bytes
    name: str
    """What it is called in messages to people, for example `stream "plant"`."""
    why: str
    position: int
    """Position in the log at which the record was first found."""
    cursors: tuple[int, ...] = ()
    """The cursors that belong to no other object: they keep its messages."""

    @property
    def key(self) -> tuple[int, bytes]:
        """Identifies it. The same record is met again if an earlier start was cut short."""
        return self.kind, self.body

    def record(self) -> ApplicationRecord:
        """The SET_ASIDE record."""
        told = {**self._asdict(), "body": base64.b64encode(self.body).decode()}
        return record_kinds.SET_ASIDE, record_kinds.as_json(told)


def read_set_aside(body: bytes) -> SetAside:
    """Decode the body of a SET_ASIDE record."""
    told = json.loads(body)
    return SetAside(**{**told, "body": base64.b64decode(told["body"]), "cursors": tuple(told["cursors"])})


def reason(error: Exception) -> str:
    """Why something could not be opened, in one line."""
    if isinstance(error, Problem | ProtocolError):
        return "; ".join(str(error).splitlines())
    # An unexpected exception: its type and text are all that is known.
    text = f"{type(error).__name__}: {error}".encode("utf-8", "backslashreplace").decode()
    return " ".join(text.split())[:500]


class SetAsides:
    """All objects that are set aside in one log."""

    def __init__(self) -> None:
        self._found: dict[tuple[int, bytes], SetAside] = {}
        self._logged: set[tuple[int, bytes]] = set()
        """Those that have a SET_ASIDE record."""
        self._owners_unknown: list[tuple[int, bytes]] = []
        """Records that cannot be read at all, so that it is unknown which cursors they had."""

    def __len__(self) -> int:
        return len(self._found)

    def __iter__(self) -> Iterator[SetAside]:
        return iter(list(self._found.values()))

    def add(self, record: Record, error: Exception) -> None:
        """Set the object of this record aside."""
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
        """Take a SET_ASIDE record from the log."""
        one = read_set_aside(body)
        self._found[one.key] = one
        self._logged.add(one.key)
        return one

    def remove(self, one: SetAside) -> None:
        """Remove an object, because it could be opened or an operator has decided."""
        del self._found[one.key]

    def keep_cursors(self, there: set[int], owned: set[int]) -> set[int]:
        """Divide cursors without an owner among what is set aside. Returns those that must be kept.

        An object whose record cannot be read gets all that are left: some of them may be its own.
        """
        kept: set[int] = set()
        for one in self:
            mine = (set(one.cursors) & there) - owned
            if one.key in self._owners_unknown:
                mine |= there - owned - kept
            kept |= mine
            self._found[one.key] = one._replace(cursors=tuple(sorted(mine)))
        return kept

    def news(self) -> list[SetAside]:
        """The objects without a SET_ASIDE record. The caller writes one for each."""
        new = [one for one in self if one.key not in self._logged]
        self._logged.update(one.key for one in new)
        return new

    @property
    def outdated(self) -> bool:
        """Whether something with a SET_ASIDE record is not set aside any more."""
        return not self._logged <= self._found.keys()


def _name(kind: int, fact: Any, position: int) -> str:
    if kind not in _NAMES:
        return f"{OTHERS.get(kind, f'fact of kind {kind}')} at position {position}"
    what, key = _NAMES[kind]
    name = fact.get(key) if isinstance(fact, dict) else None
    return f"{what} {shown_value(name)}" if isinstance(name, str) else f"{what} at position {position}"


def _cursors_in(fact: Any) -> Iterator[int]:
    """The numbers of cursors anywhere in a record."""
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
