"""Streams: topics whose messages are kept for a time, whoever is subscribed, to be read from any offset.

A stream has partitions. Each is a cursor of the log that nobody acknowledges but retention, so its messages stay where
they were stored, once, together with those for subscriptions. All messages of a topic go to one partition and are in
order there. Readers find them by the index, which is brought up to date here.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

from heliograph.errors import Problem
from heliograph.log.cursor import Cursor
from heliograph.log.ledger import Ledger
from heliograph.log.stream_index import PartitionWriter, write_description


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """What is wanted of a stream."""

    name: str = ""
    """Name of the stream: letters, digits, "-", "_" and ".", a letter or digit first."""
    filter: str = ""
    """Topic filter: messages that match it are kept, whatever their QoS."""
    partitions: int = 1
    """Parts that can be read side by side. All messages of a topic are in one. Can grow, but not shrink."""
    retention_bytes: int = 1 << 30
    """Most bytes kept, over all partitions; the oldest messages go first. 0 is no limit."""
    retention_age: float = 0.0
    """Seconds that messages are kept; 0 is no limit."""


class Stream:
    """One stream."""

    def __init__(self, options: StreamOptions, cursors: list[Cursor], *, configured: bool) -> None:
        self.options = options
        self.cursors = cursors
        """One for each partition."""
        self.configured = configured
        """Whether it gets new messages: one that is not configured any more keeps what it has."""
        self.writers: list[PartitionWriter] = []

    @property
    def name(self) -> str:
        return self.options.name

    def cursor_for(self, topic: bytes) -> Cursor:
        """The partition of a topic."""
        return self.cursors[crc32(topic) % len(self.cursors)]

    def fact(self) -> dict[str, Any]:
        """All that the log has to know of it; the partitions are in order."""
        options = self.options
        return {
            "stream": options.name,
            "filter": options.filter,
            "retention_bytes": options.retention_bytes,
            "retention_age": options.retention_age,
            "cursors": [cursor.number for cursor in self.cursors],
        }

    def description(self) -> dict[str, Any]:
        """What readers are told of it."""
        return {
            "name": self.options.name,
            "filter": self.options.filter,
            "partitions": len(self.cursors),
            "retention_bytes": self.options.retention_bytes,
            "retention_age": self.options.retention_age,
            "configured": self.configured,
        }

    def outdated(self, now: int) -> Iterator[tuple[Cursor, int, int]]:
        """What retention lets go: partitions, the offset up to which all is too old or too much, and its size.

        Whole chunks go. The newest one stays unless all of it is too old: it is where messages are put.
        """
        share = self.options.retention_bytes / len(self.cursors)
        oldest = now - self.options.retention_age * 1000 if self.options.retention_age else 0
        for cursor in self.cursors:
            size, end = 0, None
            for index, chunk in enumerate(cursor.chunks):
                too_much = share and cursor.bytes - size > share and index < len(cursor.chunks) - 1
                if not too_much and chunk.time >= oldest:
                    break
                size, end = size + chunk.size, chunk.next
            if end is not None:
                yield cursor, end, size


def options_of(fact: dict[str, Any]) -> StreamOptions:
    """What was wanted of the stream that a fact tells of."""
    return StreamOptions(
        fact["stream"], fact["filter"], len(fact["cursors"]), fact["retention_bytes"], fact["retention_age"]
    )


class Streams:
    """All streams of one log."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.by_name: dict[str, Stream] = {}
        self._snapshot: int | None = None
        """What has been noted for the index can be written when the log is safe up to here."""
        self._news: list[PartitionWriter] = []

    def revive(self, facts: dict[str, dict[str, Any]]) -> set[int]:
        """Take up the streams that the log tells of; the numbers of their cursors."""
        for name, fact in facts.items():
            cursors = [self._ledger.cursors[number] for number in fact["cursors"]]
            self.by_name[name] = Stream(options_of(fact), cursors, configured=False)
        return {cursor.number for stream in self.by_name.values() for cursor in stream.cursors}

    def configure(self, wanted: Sequence[StreamOptions]) -> list[Stream]:
        """Make the streams what is wanted; those that are new or have changed. A Problem says what is not possible."""
        for options in wanted:
            known = self.by_name.get(options.name)
            if known and options.partitions < len(known.cursors):
                raise Problem(
                    f"stream {options.name}: it has {len(known.cursors)} partitions, and they cannot become fewer: "
                    f"expected at least as many, found partitions = {options.partitions}"
                )
        changed = []
        for options in wanted:
            stream = self.by_name.setdefault(options.name, Stream(options, [], configured=True))
            stream.configured = True
            if stream.options != options or len(stream.cursors) < options.partitions:
                stream.options = options
                while len(stream.cursors) < options.partitions:
                    stream.cursors.append(self._ledger.new_cursor())
                changed.append(stream)
        return changed

    # The index

    def open_index(self) -> None:
        """Write an index for all that there is. Everything in the log has to be safe."""
        directory = self._ledger.log.directory
        for stream in self.by_name.values():
            write_description(directory, stream.name, stream.description())
            stream.writers = [
                PartitionWriter(directory, stream.name, partition, cursor)
                for partition, cursor in enumerate(stream.cursors)
            ]
        self.update_index()

    def update_index(self) -> None:
        """Let readers see what has become safe. What is stored meanwhile is noted, and its turn comes next time."""
        if self._snapshot is None:
            self._news = [writer for stream in self.by_name.values() for writer in stream.writers if writer.take()]
            self._snapshot = self._ledger.end
        if self._ledger.safe >= self._snapshot:
            for writer in self._news:
                writer.write()
            self._snapshot = None

    def close_index(self) -> None:
        """Write down what is left, all of which is safe, and close the files."""
        for _ in range(2):  # what was noted before, and what is new since
            self.update_index()
        for stream in self.by_name.values():
            for writer in stream.writers:
                writer.close()

    # Retention

    def retain(self, now: int) -> int:
        """Let go what is too old or too much, at this time in milliseconds since 1970; how many bytes that was."""
        freed = 0
        for stream in self.by_name.values():
            for cursor, end, size in list(stream.outdated(now)):
                self._ledger.acknowledge(cursor, cursor.first, end)
                freed += size
        return freed
