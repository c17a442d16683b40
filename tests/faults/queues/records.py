"""What the server's own log tells of a run: which messages were stored in which place, and which are done with."""

import json
from pathlib import Path

from faults.queues.history import Key, Records
from faults.queues.world import BACKED_OUT, read
from heliograph.amqp.messages.message import Value, decode_message
from heliograph.broker.storage import record_kinds
from heliograph.log import log_kinds
from heliograph.log.group import records_in
from heliograph.log.log_kinds import ACK
from heliograph.log.messages import receivers_of
from heliograph.log.queue_messages import decode_queue_messages
from heliograph.log.reader import LogReader
from heliograph.log.record import Record


def read_records(directory: Path) -> Records | None:
    """All that a log tells; None if it has been compacted, so that it does not tell all any more."""
    reader = LogReader(directory)
    try:
        if reader.start:
            return None
        reading = _Reading()
        for whole in reader.records(0):
            for record in records_in(whole):
                if record.flags & log_kinds.COPY:
                    return None
                reading.take(record, whole.position)
        return reading.records()
    finally:
        reader.close()


class _Reading:
    def __init__(self) -> None:
        self._places: dict[int, str] = {}
        """By cursor. A cursor gets messages before the log says whose it is."""
        self._stored: dict[tuple[int, int], tuple[tuple[str, int], int]] = {}
        """By cursor and offset: sender and number, and the position."""
        self._done: dict[tuple[int, int], int] = {}

    def take(self, record: Record, position: int) -> None:
        if record.kind == log_kinds.MESSAGES:
            self._take_messages(record, position)
        elif record.kind == log_kinds.ACKS:
            for cursor, lo, count in ACK.iter_unpack(record.body):
                for offset in range(lo, lo + count):
                    self._done.setdefault((cursor, offset), position)
        elif record.kind == record_kinds.QUEUE:
            fact = json.loads(record.body)
            # What was backed out is still a message of the place that it came to first; see `Get.backed_out`.
            self._places[fact["cursor"]] = fact["queue"].rpartition("/")[2].removesuffix(BACKED_OUT)

    def _take_messages(self, record: Record, position: int) -> None:
        messages = decode_queue_messages(record.body, record.count)
        receivers = receivers_of(record.body)
        for index in range(record.count):
            body = decode_message(messages.message(index)).body
            said = read(body.value) if isinstance(body, Value) else None
            if said is not None:
                for cursor, first in zip(receivers.cursors, receivers.offsets, strict=True):
                    self._stored[cursor, first + index] = said, position

    def records(self) -> Records:
        found = Records()
        for (cursor, offset), (said, position) in self._stored.items():
            key = Key(self._places[cursor], *said)
            found.stored.setdefault(key, position)
            if (cursor, offset) in self._done:
                found.done[key] = self._done[cursor, offset]
        return found
