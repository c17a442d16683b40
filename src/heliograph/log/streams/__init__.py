"""Streams in the log: their partitions and index, and readers of them, from files or over HTTP."""

from heliograph.log.streams.remote_pages import ServerUnreachable, decode_page, request_page
from heliograph.log.streams.remote_stream_reader import RemoteStreamReader
from heliograph.log.streams.stream_block import BlockData, StreamBlock
from heliograph.log.streams.stream_index import (
    PartitionIndexWriter,
    UnknownStream,
    delete_index,
    stream_names,
    unknown_stream,
    write_description,
)
from heliograph.log.streams.stream_parts import BodyPiece, FilePart
from heliograph.log.streams.stream_reader import StreamReader
from heliograph.log.streams.stream_span import OffsetAhead, OffsetGone, StreamMessage, StreamSource, StreamState

__all__ = [
    "BlockData",
    "BodyPiece",
    "FilePart",
    "OffsetAhead",
    "OffsetGone",
    "PartitionIndexWriter",
    "RemoteStreamReader",
    "ServerUnreachable",
    "StreamBlock",
    "StreamMessage",
    "StreamReader",
    "StreamSource",
    "StreamState",
    "UnknownStream",
    "decode_page",
    "delete_index",
    "request_page",
    "stream_names",
    "unknown_stream",
    "write_description",
]
