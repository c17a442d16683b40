"""The one log: everything durable is appended to it once, and read back from it by position. Stands alone."""

from heliograph.log.buffer_pool import Room
from heliograph.log.commit import NO_ROOM
from heliograph.log.cursor import Chunk, Cursor, decode_cursor
from heliograph.log.cursor_reading import CursorReading, Found
from heliograph.log.cursor_table import Account
from heliograph.log.group import Group, records_in
from heliograph.log.kinds import FIRST_FACT, GROUP, MESSAGES
from heliograph.log.lock import DirectoryLock
from heliograph.log.log import LogOptions
from heliograph.log.maintenance import Fact, Upkeep
from heliograph.log.message_log import Ledger
from heliograph.log.messages import (
    AMQP_MESSAGES,
    MIXED_PACKETS,
    PUBLISH_PACKETS,
    Messages,
    Receivers,
    decode_messages,
    encode_messages,
    form_of,
    publisher_of,
    qos_and_retain,
    receivers_of,
)
from heliograph.log.mixed_messages import LONGEST_HEAD, MixedMessages, decode_mixed_messages, name_start
from heliograph.log.queue_messages import QueueMessages, decode_queue_messages, message_alone
from heliograph.log.ranges import Ranges
from heliograph.log.reader import LogReader
from heliograph.log.record import ALIGNMENT, Record
from heliograph.log.recovery import Recovered, find_segments, recover, segment_spans
from heliograph.log.segment import segment_files

__all__ = [
    "ALIGNMENT",
    "AMQP_MESSAGES",
    "FIRST_FACT",
    "GROUP",
    "LONGEST_HEAD",
    "MESSAGES",
    "MIXED_PACKETS",
    "NO_ROOM",
    "PUBLISH_PACKETS",
    "Account",
    "Chunk",
    "Cursor",
    "CursorReading",
    "DirectoryLock",
    "Fact",
    "Found",
    "Group",
    "Ledger",
    "LogOptions",
    "LogReader",
    "Messages",
    "MixedMessages",
    "QueueMessages",
    "Ranges",
    "Receivers",
    "Record",
    "Recovered",
    "Room",
    "Upkeep",
    "decode_cursor",
    "decode_messages",
    "decode_mixed_messages",
    "decode_queue_messages",
    "encode_messages",
    "find_segments",
    "form_of",
    "message_alone",
    "name_start",
    "publisher_of",
    "qos_and_retain",
    "receivers_of",
    "records_in",
    "recover",
    "segment_files",
    "segment_spans",
]
