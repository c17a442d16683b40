"""The log: everything durable is appended to it once, and read back by position. It imports no other room.

Begin with `message_log`, which is what the broker writes to: messages, the cursors that read them, acknowledgements.
Below it are `log` (append, how far it is safe, segments), `commit` (the thread that writes) and `recovery`; beside it
`maintenance` (checkpoints and compaction). Streams are in `heliograph.log.streams`, the log's own kinds of records in
`heliograph.log.log_kinds`.
"""

from heliograph.log.buffer_pool import BufferPool
from heliograph.log.commit import DISK_FULL
from heliograph.log.cursor import Chunk, Cursor, decode_cursor
from heliograph.log.cursor_reader import CursorReader, FoundRecord
from heliograph.log.cursor_table import CursorTable
from heliograph.log.group import RecordGroup, records_in
from heliograph.log.log import LogOptions
from heliograph.log.log_kinds import FIRST_APPLICATION_KIND, GROUP, MESSAGES
from heliograph.log.maintenance import ApplicationRecord, Maintenance
from heliograph.log.message_log import MessageLog
from heliograph.log.messages import (
    AMQP_MESSAGES,
    MIXED_PACKETS,
    PUBLISH_PACKETS,
    Receivers,
    UniformMessages,
    decode_uniform_messages,
    encode_uniform_messages,
    form_of,
    publisher_of,
    qos_and_retain,
    receivers_of,
)
from heliograph.log.mixed_messages import LONGEST_HEAD, MixedMessages, decode_mixed_messages, topic_start
from heliograph.log.queue_messages import QueueMessages, decode_queue_messages, single_queue_message
from heliograph.log.ranges import Ranges
from heliograph.log.reader import LogReader
from heliograph.log.record import ALIGNMENT, Record
from heliograph.log.recovery import RecoveryResult, find_segments, recover, segment_spans
from heliograph.log.segment import segment_files

__all__ = [
    "ALIGNMENT",
    "AMQP_MESSAGES",
    "DISK_FULL",
    "FIRST_APPLICATION_KIND",
    "GROUP",
    "LONGEST_HEAD",
    "MESSAGES",
    "MIXED_PACKETS",
    "PUBLISH_PACKETS",
    "ApplicationRecord",
    "BufferPool",
    "Chunk",
    "Cursor",
    "CursorReader",
    "CursorTable",
    "FoundRecord",
    "LogOptions",
    "LogReader",
    "Maintenance",
    "MessageLog",
    "MixedMessages",
    "QueueMessages",
    "Ranges",
    "Receivers",
    "Record",
    "RecordGroup",
    "RecoveryResult",
    "UniformMessages",
    "decode_cursor",
    "decode_mixed_messages",
    "decode_queue_messages",
    "decode_uniform_messages",
    "encode_uniform_messages",
    "find_segments",
    "form_of",
    "publisher_of",
    "qos_and_retain",
    "receivers_of",
    "records_in",
    "recover",
    "segment_files",
    "segment_spans",
    "single_queue_message",
    "topic_start",
]
