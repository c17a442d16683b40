"""Streams in the log: the index that a server writes, and readers, from files or over HTTP.

Begin with `StreamSource`, which both readers are. `StreamReader` reads files while the server writes them,
`RemoteStreamReader` asks a server's pages. Whoever reads in bulk takes `StreamBlock`s instead of single messages.
"""

from heliograph.log.errors import OffsetAhead, OffsetGone, ServerUnreachable, UnknownStream
from heliograph.log.streams.remote_stream_reader import RemoteStreamReader, decode_page, request_page
from heliograph.log.streams.stream_block import BlockData, StreamBlock
from heliograph.log.streams.stream_index import (
    PartitionIndexWriter,
    delete_index,
    stream_names,
    unknown_stream,
    write_description,
)
from heliograph.log.streams.stream_parts import BodyPiece, FilePart
from heliograph.log.streams.stream_reader import StreamReader
from heliograph.log.streams.stream_source import StreamSource, StreamState, stream_lag
from heliograph.log.streams.stream_span import StreamMessage

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
    "stream_lag",
    "stream_names",
    "unknown_stream",
    "write_description",
]
