"""Streams: messages of a topic filter, kept until retention deletes them, and read from any offset.

Theory of operation

1. A partition of a stream is a cursor of the log that only retention acknowledges. So a message is stored once, for
   streams and subscriptions together, and stays as long as any of them needs it.
2. A checksum of the topic selects the partition, so all messages of a topic are in one partition, in order. Partitions
   can be added, not removed: offsets of readers would lose their meaning.
3. Readers are other processes. They find messages by an index per partition, small files beside the log that
   `update_index` brings up to date. An index entry is written only when the log is safe up to where the partition was
   looked at (`_noted`): readers must not see what a crash could undo.
4. Life of a stream: `configured` (from the configuration file) or `made` (while the server runs) streams are fed. One
   that is neither any more keeps its messages until they are deleted. A new stream of an old name gets a new identity,
   because the same offsets are other messages.
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
    """The options of a stream, checked when they are made; InvalidObject says what is wrong."""

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
        """Check the options."""
        check_object(self)


MOST_MADE = 1024
"""Partitions of all streams made while the server runs, together: each costs a cursor and an open file."""


class Stream:
    """One stream: its options and its partitions."""

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
        """The cursor of each partition."""
        self.configured = configured
        """Whether it is in the configuration file."""
        self.made = made
        """Whether it was made while the server ran. False once it is in the configuration as well."""
        self.identity = identity
        """Tells it from an earlier or later stream of the same name, whose offsets are other messages."""
        self.writers: list[PartitionIndexWriter] = []

    @property
    def is_fed(self) -> bool:
        """Whether it gets new messages. One that is neither made nor configured any more only keeps what it has."""
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
        """The body of its record in the log. The cursors are in the order of the partitions."""
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
        """Its description for readers."""
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
        """What retention deletes: for each partition, the offset up to which messages go, and their size in bytes.

        Whole chunks are deleted. The newest chunk is still growing, so it goes only if all of it is too old.
        """
        # The limit is divided evenly, so that each partition can be retained by itself.
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
    """The options of a stream, from its record."""
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
        """Partitions still to be looked at in this round of `update_index`."""
        self._noted: deque[tuple[int, PartitionIndexWriter]] = deque()
        """Partitions with new entries, and the position up to which the log must be safe before they are written."""
        self.taken_over: list[str] = []
        """Names of streams that were made while a server ran, and are in the configuration now."""

    def recover(self, facts: dict[str, Record], failed: Callable[[Record, Exception], None]) -> set[int]:
        """Open the streams found in the log. Returns the numbers of their cursors; failures are passed to `failed`."""
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
        """Apply the configuration.

        Returns the streams that are new or have changed; InvalidStream if that is impossible.
        """
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
        """Make a stream, or find the one of this name and filter. Returns it, and whether it was not fed before.

        A stream that is fed already stays as it is. StreamConflict if it has another filter.
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
        """Delete a stream. Returns it and how many messages it had. StreamKept if it has some, unless `purge`."""
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
        # Writers of a deleted stream must not write its index again.
        self._to_look_at = deque(writer for writer in self._to_look_at if writer not in gone)
        self._noted = deque(noted for noted in self._noted if noted[1] not in gone)
        return stream, messages

    def _identified(self) -> list[Stream]:
        """Give an identity to streams from logs of versions that had none. Returns those streams."""
        old = [stream for stream in self.by_name.values() if not stream.identity]
        for stream in old:
            stream.identity = self._new_identity()
        return old

    def _add_partitions(self, stream: Stream) -> None:
        while len(stream.cursors) < stream.options.partitions:
            stream.cursors.append(self._ledger.new_cursor())

    # The index.

    def open_index(self) -> list[tuple[Stream, Problem]]:
        """Write an index for all streams. Everything in the log has to be safe.

        Returns the streams for which that failed, with the reason; they are not served. If a configured stream fails,
        the Problem is raised: the operator has to know at once.
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
        """Delete the index of streams that do not exist: a crash came between deleting a stream and its index."""
        directory = self._ledger.log.directory
        for name in set(stream_names(directory)) - self.by_name.keys():
            delete_index(directory, name)

    def index_of_new(self, stream: Stream) -> Callable[[], None]:
        """A callable that writes the index of a new stream, to be called when its record is safe."""
        directory = self._ledger.log.directory
        # The entries are taken now: messages that come later may not be safe yet when the stream itself is.
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
        """Delete the index of a deleted stream. To be called when its record is safe."""
        for writer in stream.writers:
            writer.close()
        delete_index(self._ledger.log.directory, stream.name)

    def update_index(self, has_time: Callable[[], bool] = lambda: True) -> bool:
        """Write index entries for messages that have become safe. Returns whether there is more to do now.

        Works in rounds: each looks at every partition once, then waits until the log is safe up to there. What is
        stored meanwhile is for the next round.
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
        """Write the remaining entries, all of which are safe, and close the files."""
        for _ in range(2):  # what was noted before, and what is new since
            self.update_index()
        for stream in self.by_name.values():
            for writer in stream.writers:
                writer.close()

    # Retention.

    def retain(self, stream: Stream, now: int) -> Iterator[int]:
        """Apply the retention of a stream at the time `now` (milliseconds since 1970).

        Yields the bytes freed per partition.
        """
        for cursor, end, size in stream.outdated(now):
            if self.by_name.get(stream.name) is not stream:  # deleted between two steps
                return
            self._ledger.acknowledge(cursor, cursor.first, end)
            self._ledger.write_acks()  # not deferred: readers see the new earliest offset when it is safe
            yield size
