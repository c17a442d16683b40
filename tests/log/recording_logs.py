"""A message log with a user who remembers everything, and crashes of it."""

import shutil
from pathlib import Path
from unittest import mock

from heliograph.log.log import LogOptions
from heliograph.log.log_kinds import FIRST_APPLICATION_KIND
from heliograph.log.maintenance import Maintenance
from heliograph.log.message_log import MessageLog
from heliograph.log.messages import AMQP_MESSAGES, MIXED_PACKETS, UniformMessages, decode_uniform_messages, form_of
from heliograph.log.mixed_messages import MixedMessages, decode_mixed_messages
from heliograph.log.queue_messages import QueueMessages, decode_queue_messages
from heliograph.log.record import Record
from heliograph.log.segment import SEGMENT_HEADER_SIZE, read_segment, segment_files
from log.test_mixed_messages import mixed

SET, CLEAR = FIRST_APPLICATION_KIND, FIRST_APPLICATION_KIND + 1
HEAD = b"head"


def messages(topic: str, payloads: list[bytes]) -> UniformMessages:
    """Messages as the broker stores them: packets of one length, which end in the payload."""
    data = b"".join(HEAD + payload for payload in payloads)
    return UniformMessages(topic.encode(), data, len(payloads), len(HEAD), 1, 2, True, False, True, False, b"", 0, 0)


def queue_messages(payloads: list[bytes]) -> QueueMessages:
    """Messages as queues store them: of any lengths."""
    return QueueMessages.of(payloads, [4] * len(payloads), bytes(len(payloads)))


def mixed_messages(payloads: list[bytes]) -> MixedMessages:
    """Messages of any lengths, as the broker stores those of many clients; each has a topic of its own."""
    return mixed([(b"topic/%d" % number, payload, b"", 7, 0) for number, payload in enumerate(payloads)], 1, False)


class RecordingLog:
    """A message log and its user, whose application records are the values of some keys."""

    def __init__(self, directory: Path, **options: object) -> None:
        self.directory = directory
        self.values: dict[str, str] = {}
        self.seen: list[Record] = []
        """Application records and messages in the order in which opening the log has handed them out."""
        how = LogOptions(**{"force": False, "retry": 0.01, **options})  # type: ignore[arg-type]
        self.message_log = MessageLog(
            directory, self._on_application_record, lambda record, receivers: self.seen.append(record), options=how
        )
        self.maintenance = Maintenance(self.message_log, self._all_facts)

    def _on_application_record(self, record: Record) -> None:
        self.seen.append(record)
        key, _, value = record.body.decode().partition("=")
        if record.kind == SET:
            self.values[key] = value
        else:
            self.values.pop(key, None)

    def _all_facts(self):
        for key in list(self.values):
            if key in self.values:
                yield SET, f"{key}={self.values[key]}".encode()

    def set(self, key: str, value: str) -> None:
        self.values[key] = value
        self.message_log.append_record(SET, f"{key}=".encode(), value.encode())

    def clear(self, key: str) -> None:
        self.values.pop(key, None)
        self.message_log.append_record(CLEAR, key.encode())

    def store(self, cursors, payloads: list[bytes], topic: str = "t") -> None:
        self.message_log.store(messages(topic, payloads), list(cursors), [0] * len(cursors))

    def store_queued(self, cursors, payloads: list[bytes]) -> None:
        self.message_log.store(queue_messages(payloads), list(cursors), [0] * len(cursors))

    def store_mixed(self, cursors, payloads: list[bytes]) -> None:
        self.message_log.store(mixed_messages(payloads), list(cursors), [0] * len(cursors))

    def payload(self, reading, offset: int) -> bytes | None:
        """The payload of a message of a cursor; None if it cannot be read yet."""
        found = reading.find(offset)
        if found is None:
            return None
        assert found.first <= offset < found.next
        body, count = found.record.body, found.record.count
        if form_of(body) == AMQP_MESSAGES:
            return decode_queue_messages(body, count).message(offset - found.first)
        if form_of(body) == MIXED_PACKETS:
            return decode_mixed_messages(body, count).payloads[offset - found.first]
        return decode_uniform_messages(body, count).payloads[offset - found.first]

    def pending(self, cursor) -> dict[int, bytes | None]:
        """All that is pending for a cursor, as it is read back."""
        reading = self.message_log.cursor_reader(cursor)
        return {o: self.payload(reading, o) for lo, hi in cursor.pending_ranges() for o in range(lo, hi)}

    def size(self) -> int:
        """Bytes on the disk."""
        return sum(path.stat().st_size for path in segment_files(self.directory))

    def close(self) -> None:
        self.message_log.close()


def crash(source: Path, copy: Path, cut: int) -> None:
    """A copy of a log as a crash would leave it: all up to position `cut` is there, and nothing of what follows."""
    shutil.copytree(source, copy)
    for path in segment_files(copy):
        segment = read_segment(path)
        if segment.base > cut:
            path.unlink()
        elif segment.file_end() > cut and path == segment_files(copy)[-1]:
            with path.open("r+b") as file:
                file.truncate(cut - segment.base + SEGMENT_HEADER_SIZE)


def unforced():
    """Nothing is forced to the disk meanwhile: these tests crash no machine."""
    return mock.patch("os.fsync")
