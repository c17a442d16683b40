"""Streams in the log: their partitions and index, and readers of them, from files or over HTTP."""

from heliograph.log.streams.remote_pages import Unreachable, ask, told
from heliograph.log.streams.remote_stream_reader import RemoteStreamReader
from heliograph.log.streams.stream_block import Block, Data
from heliograph.log.streams.stream_index import (
    PartitionWriter,
    UnknownStream,
    delete_index,
    stream_names,
    unknown_stream,
    write_description,
)
from heliograph.log.streams.stream_parts import FilePart, Piece
from heliograph.log.streams.stream_reader import StreamReader
from heliograph.log.streams.stream_span import OffsetAhead, OffsetGone, StreamMessage, StreamSource, StreamState

__all__ = [
    "Block",
    "Data",
    "FilePart",
    "OffsetAhead",
    "OffsetGone",
    "PartitionWriter",
    "Piece",
    "RemoteStreamReader",
    "StreamMessage",
    "StreamReader",
    "StreamSource",
    "StreamState",
    "UnknownStream",
    "Unreachable",
    "ask",
    "delete_index",
    "stream_names",
    "told",
    "unknown_stream",
    "write_description",
]
