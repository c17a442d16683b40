"""Streams: topics whose messages are kept for a time, whoever is subscribed, to be read from any offset.

A stream has partitions. Each is a cursor of the log that nobody acknowledges but retention, so its messages stay where
they were stored, once, together with those for subscriptions. All messages of a topic go to one partition and are in
order there. Readers find them by the index, which is brought up to date here.
"""

import json
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any
from zlib import crc32

from heliograph.broker.core.names import LONGEST_PLAIN_NAME, filter_mistake, plain_name_mistake
from heliograph.broker.errors import InvalidStream, MalformedObject, StreamConflict, StreamKept, TooManyStreams
from heliograph.errors import Problem
from heliograph.log import Cursor, MessageLog, Record
from heliograph.log.streams import PartitionIndexWriter, delete_index, stream_names, write_description
from heliograph.objects import About, Effect, Range, check_object, text_mistake


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """What is wanted of a stream. Made only if that can be had; InvalidObject says what is wrong."""

    name: Annotated[
        str,
        About(
            "Name of the stream: letters, digits, `-`, `_` and `.`, a letter or digit first, at most 200.",
            check=plain_name_mistake,
            default="none (needed)",
            effect=Effect.NEVER,
        ),
    ] = ""
    filter: Annotated[
        str,
        About(
            "Topic filter, not a shared subscription: messages that match it are kept, whatever their QoS.",
            check=filter_mistake,
            default="none (needed)",
            effect=Effect.RESTART,
        ),
    ] = ""
    partitions: Annotated[
        int,
        About(
            "Parts that can be read side by side. All messages of a topic are in one. Can grow, but not shrink.",
            range=Range(1, 1024),
            effect=Effect.RESTART,
        ),
    ] = 1
    retention_bytes: Annotated[
        int,
        About(
            "Most that is kept, over all partitions; the oldest messages go first. 0 is no limit.",
            unit="bytes",
            range=Range(0, 1 << 60),
            effect=Effect.RESTART,
        ),
    ] = 1 << 30
    retention_age: Annotated[
        float,
        About(
            "How long messages are kept; 0 is no limit.",
            unit="seconds",
            range=Range(0, 10_000_000_000),
            effect=Effect.RESTART,
        ),
    ] = 0.0

    def __post_init__(self) -> None:
        """Check it."""
        check_object(self)


MOST_MADE = 1024
"""Partitions of all streams made while the server runs, together: each costs a cursor and an open file."""


class Stream:
    """One stream."""

    def __init__(
        self,
        options: StreamOptions,
        cursors: list[Cursor],
        *,
        configured: bool = False,
        made: bool = False,
        identity: str = "",
    ) -> None:
        self.options = options
        self.cursors = cursors
        """One for each partition."""
        self.configured = configured
        """Whether it is in the configuration."""
        self.made = made
        """Whether somebody made it while the server ran. What is in the configuration is not made any more."""
        self.identity = identity
        """By which readers know it from another of the same name, which has other messages at the same offsets."""
        self.writers: list[PartitionIndexWriter] = []

    @property
    def is_fed(self) -> bool:
        """Whether it gets new messages: one that is neither made nor configured any more keeps what it has."""
        return self.configured or self.made

    @property
    def name(self) -> str:
        return self.options.name

    def partition_for(self, topic: bytes) -> int:
        """The number of the partition that messages of a topic go to."""
        return crc32(topic) % len(self.cursors)

    def cursor_for(self, topic: bytes) -> Cursor:
        """The partition of a topic."""
        return self.cursors[self.partition_for(topic)]

    def fields(self) -> dict[str, Any]:
        """All that the log has to know of it; the partitions are in order."""
        options = self.options
        return {
            "stream": options.name,
            "filter": options.filter,
            "retention_bytes": options.retention_bytes,
            "retention_age": options.retention_age,
            "cursors": [cursor.number for cursor in self.cursors],
            "made": self.made,
            "identity": self.identity,
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
            "made": self.made,
            "identity": self.identity,
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


def stream_options_of(fact: dict[str, Any]) -> StreamOptions:
    """What was wanted of the stream that a fact tells of."""
    return StreamOptions(
        fact["stream"], fact["filter"], len(fact["cursors"]), fact["retention_bytes"], fact["retention_age"]
    )


class Streams:
    """All streams of one log."""

    def __init__(self, ledger: MessageLog, new_identity: Callable[[], str]) -> None:
        self._ledger = ledger
        self._new_identity = new_identity
        self.by_name: dict[str, Stream] = {}
        self._to_look_at: deque[PartitionIndexWriter] = deque()
        """Partitions that have not been looked at since the index was brought up to date last."""
        self._noted: deque[tuple[int, PartitionIndexWriter]] = deque()
        """Partitions that have news, and up to where the log has to be safe before these can be written."""
        self.taken_over: list[str] = []
        """Streams that were made while a server ran, and are in the configuration now."""

    def recover(self, facts: dict[str, Record], failed: Callable[[Record, Exception], None]) -> set[int]:
        """Take up the streams that the log tells of; the numbers of their cursors. `failed` gets the ones that fail."""
        for name, record in list(facts.items()):
            try:
                self.by_name[name] = self._recovered(json.loads(record.body))
            except Exception as error:
                failed(record, error)
                del facts[name]
        return {cursor.number for stream in self.by_name.values() for cursor in stream.cursors}

    def _recovered(self, fact: dict[str, Any]) -> Stream:
        options = stream_options_of(fact)
        if missing := [number for number in fact["cursors"] if number not in self._ledger.cursors]:
            raise MalformedObject(f"expected cursor {missing[0]} with messages of it, found none")
        identity = fact.get("identity", "")
        if mistake := text_mistake(identity, LONGEST_PLAIN_NAME):
            raise MalformedObject(f"identity: {mistake}")
        cursors = [self._ledger.cursors[number] for number in fact["cursors"]]
        return Stream(options, cursors, made=fact.get("made", False), identity=identity)

    def configure(self, wanted: Sequence[StreamOptions]) -> list[Stream]:
        """Make the streams what is wanted; those that are new or have changed. A Problem says what is not possible."""
        for options in wanted:
            known = self.by_name.get(options.name)
            if known and options.partitions < len(known.cursors):
                raise InvalidStream(
                    f"stream {options.name}: it has {len(known.cursors)} partitions, and they cannot become fewer: "
                    f"expected at least as many, found partitions = {options.partitions}"
                )
        changed = self._identified()
        for options in wanted:
            stream = self.by_name.setdefault(
                options.name, Stream(options, [], configured=True, identity=self._new_identity())
            )
            stream.configured = True
            if stream.made:
                stream.made = False
                self.taken_over.append(stream.name)
                changed.append(stream)
            if stream.options != options or len(stream.cursors) < options.partitions:
                stream.options = options
                self._add_partitions(stream)
                changed.append(stream)
        return changed

    def make(self, options: StreamOptions) -> tuple[Stream, bool]:
        """The stream of this name and filter, fed from now on; whether it was not before.

        One that is fed already stays as it is. StreamConflict if it has another filter.
        """
        stream = self.by_name.get(options.name)
        if stream is not None and stream.options.filter != options.filter:
            raise StreamConflict(
                f'stream {options.name} is there already: expected its filter, "{stream.options.filter}", '
                f'found "{options.filter}"'
            )
        if stream is not None and stream.is_fed:
            return stream, False
        made = sum(len(one.cursors) for one in self.by_name.values() if one.made)
        if made + options.partitions > MOST_MADE:
            raise TooManyStreams(
                f"streams made while the server runs have {made} partitions, and {MOST_MADE} are the most: "
                f"expected at most {MOST_MADE - made}, found partitions = {options.partitions}"
            )
        if stream is None:
            stream = self.by_name[options.name] = Stream(options, [], identity=self._new_identity())
            self._add_partitions(stream)
        stream.made = True
        return stream, True

    def delete(self, name: str, *, purge: bool) -> tuple[Stream, int]:
        """Forget a stream; what it was, and how many messages it had. StreamKept, unless `purge`, if it has some."""
        stream = self.by_name[name]
        if stream.configured:
            raise StreamKept(
                f"stream {name} is in the server's configuration; take it out there and restart the server first"
            )
        messages = sum(cursor.pending for cursor in stream.cursors)
        if messages and not purge:
            raise StreamKept(
                f"stream {name} has {messages} messages; expected purge=true (helio stream delete --purge) to delete "
                "it with them"
            )
        del self.by_name[name]
        gone = set(stream.writers)
        self._to_look_at = deque(writer for writer in self._to_look_at if writer not in gone)
        self._noted = deque(noted for noted in self._noted if noted[1] not in gone)
        return stream, messages

    def _identified(self) -> list[Stream]:
        """Give an identity to streams of logs that were written when there was none; which these are."""
        old = [stream for stream in self.by_name.values() if not stream.identity]
        for stream in old:
            stream.identity = self._new_identity()
        return old

    def _add_partitions(self, stream: Stream) -> None:
        while len(stream.cursors) < stream.options.partitions:
            stream.cursors.append(self._ledger.new_cursor())

    # The index

    def open_index(self) -> list[tuple[Stream, Problem]]:
        """Write an index for all that there is. Everything in the log has to be safe.

        Streams that can have none, and why, are left out from now on. A Problem if one of the configuration can not:
        whoever wrote that wants to know it now.
        """
        directory = self._ledger.log.directory
        failed = []
        for stream in list(self.by_name.values()):
            try:
                write_description(directory, stream.name, stream.description())
            except Problem as problem:
                if stream.configured:
                    raise
                failed.append((stream, problem))
                del self.by_name[stream.name]
                continue
            stream.writers = [
                PartitionIndexWriter(directory, stream.name, partition, cursor)
                for partition, cursor in enumerate(stream.cursors)
            ]
        self.update_index()
        return failed

    def forget_index_of_others(self) -> None:
        """Delete the index of streams that are not there: a crash came before it could be done."""
        directory = self._ledger.log.directory
        for name in set(stream_names(directory)) - self.by_name.keys():
            delete_index(directory, name)

    def index_of_new(self, stream: Stream) -> Callable[[], None]:
        """What to do when a stream that has just been made is safe, so that readers find it."""
        directory = self._ledger.log.directory
        # They note what the partitions are like now, since messages may come that are not safe with the stream itself.
        new = [
            PartitionIndexWriter(directory, stream.name, partition, one) for partition, one in enumerate(stream.cursors)
        ]
        for writer in new:
            writer.take()

        def write() -> None:
            write_description(directory, stream.name, stream.description())
            if not stream.writers:
                for writer in new:
                    writer.write()
                stream.writers = new

        return write

    def forget_index(self, stream: Stream) -> None:
        """Delete the index of a stream that is deleted, when that is safe: readers find it no more."""
        for writer in stream.writers:
            writer.close()
        delete_index(self._ledger.log.directory, stream.name)

    def update_index(self, has_time: Callable[[], bool] = lambda: True) -> bool:
        """Let readers see what has become safe, or as much as there is time for; whether there is more to do now.

        What is stored meanwhile is noted, and its turn comes next time.
        """
        if not self._noted and not self._to_look_at:
            self._to_look_at.extend(writer for stream in self.by_name.values() for writer in stream.writers)
        while self._to_look_at:
            if (writer := self._to_look_at.popleft()).take():
                self._noted.append((self._ledger.end, writer))
                if not has_time():
                    return True
        while self._noted and self._noted[0][0] <= self._ledger.safe:
            self._noted.popleft()[1].write()
            if not has_time():
                return bool(self._noted)
        return False

    def close_index(self) -> None:
        """Write down what is left, all of which is safe, and close the files."""
        for _ in range(2):  # what was noted before, and what is new since
            self.update_index()
        for stream in self.by_name.values():
            for writer in stream.writers:
                writer.close()

    # Retention

    def retain(self, stream: Stream, now: int) -> Iterator[int]:
        """Let go what is too old or too much, at this time in milliseconds since 1970; bytes of each partition."""
        for cursor, end, size in stream.outdated(now):
            if self.by_name.get(stream.name) is not stream:  # it has been deleted meanwhile
                return
            self._ledger.acknowledge(cursor, cursor.first, end)
            self._ledger.write_acks()  # in a hurry: readers learn of it when it is safe
            yield size
