"""Places in a stream as users name them: earliest, latest, offsets by partition, or a time."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from heliograph.log.streams import StreamSource
from heliograph.pipeline.errors import InvalidOption

_WORDS = ("earliest", "latest")


@dataclass(frozen=True)
class Position:
    """A place in each partition of a stream: one of these is set."""

    option: str = ""
    """The option that names it, for messages."""
    word: str | None = None
    time: int | None = None
    """Milliseconds since 1970: the first message at that time or later."""
    offsets: tuple[tuple[int, int | str], ...] | None = None
    """By partition: an offset, or a word."""

    def __eq__(self, other: object) -> bool:
        """Whether it is the same place, whichever option names it."""
        return isinstance(other, Position) and self._place == other._place

    def __hash__(self) -> int:
        return hash(self._place)

    @property
    def _place(self) -> tuple[object, ...]:
        return self.word, self.time, self.offsets

    def resolve(self, reader: StreamSource) -> dict[int, int]:
        """The offset in each partition, as things are now. A Problem if it does not fit the stream."""
        numbers = range(reader.partitions)
        if self.offsets is not None:
            return self._by_partition(reader, numbers)
        if self.time is not None:
            return {number: reader.offset_at(number, self.time) for number in numbers}
        find = _finder(reader, self.word or "")
        return {number: find(number) for number in numbers}

    def check_within(self, stream: str, offsets: Mapping[int, int], extents: Sequence[tuple[int, int]]) -> None:
        """A Problem if it was resolved to offsets that are behind the end of a partition."""
        for partition, (_, latest) in enumerate(extents):
            if offsets[partition] > latest:
                raise InvalidOption(
                    f'{self.option}: stream "{stream}", partition {partition}, ends at {latest}, '
                    f"found {offsets[partition]}"
                )

    def _by_partition(self, reader: StreamSource, numbers: range) -> dict[int, int]:
        given = dict(self.offsets or ())
        where = f'{self.option}: stream "{reader.name}" has partitions 0 to {numbers[-1]}'
        if unknown := sorted(given.keys() - set(numbers)):
            raise InvalidOption(f"{where}, found an offset for {', '.join(map(str, unknown))}")
        if missing := sorted(set(numbers) - given.keys()):
            raise InvalidOption(f"{where}, found no offset for {', '.join(map(str, missing))}")
        return {n: place if isinstance(place, int) else _finder(reader, place)(n) for n, place in given.items()}


EARLIEST, LATEST = Position(word="earliest"), Position(word="latest")


def _finder(reader: StreamSource, word: str) -> Callable[[int], int]:
    return reader.earliest if word == "earliest" else reader.latest


def position_of(option: str, text: str) -> Position:
    """Parse the value of an option."""
    text = text.strip()
    if text.lower() in _WORDS:
        return Position(option, word=text.lower())
    if text.isascii() and text.isdigit():
        return Position(option, time=int(text))
    if text.startswith("{"):
        return Position(option, offsets=_offsets(option, text))
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidOption(
            f'{option}: expected earliest, latest, offsets by partition as in {{"0": 5, "1": 7}}, or a time '
            f'(2026-01-31T12:00:00Z, or milliseconds since 1970), found "{text}"'
        ) from None
    return Position(option, time=milliseconds(time))


def milliseconds(time: datetime) -> int:
    """A time as the log has it, rounded up; without a time zone it is UTC."""
    since = (time if time.tzinfo else time.replace(tzinfo=UTC)) - datetime(1970, 1, 1, tzinfo=UTC)
    whole = since.days * 86_400_000 + since.seconds * 1000
    return max(0, whole - -since.microseconds // 1000)


def _offsets(option: str, text: str) -> tuple[tuple[int, int | str], ...]:
    try:
        given: dict[str, Any] = json.loads(text)
        found = [(int(partition), place) for partition, place in given.items()]
    except ValueError:
        raise InvalidOption(f'{option}: expected offsets by partition as in {{"0": 5, "1": 7}}, found {text}') from None
    for partition, place in found:
        if not (place in _WORDS or (type(place) is int and place >= 0)):
            raise InvalidOption(
                f"{option}: expected a whole number, earliest or latest for partition {partition}, found {place!r}"
            )
    return tuple(sorted(found))
