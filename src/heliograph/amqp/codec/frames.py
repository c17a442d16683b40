"""Frames and protocol headers: how performatives lie in the stream."""

import struct
from typing import Final

AMQP_HEADER: Final = b"AMQP\x00\x01\x00\x00"
TLS_HEADER: Final = b"AMQP\x02\x01\x00\x00"
SASL_HEADER: Final = b"AMQP\x03\x01\x00\x00"
HEADER_SIZE: Final = 8

EMPTY_FRAME: Final = b"\x00\x00\x00\x08\x02\x00\x00\x00"
SMALLEST_MAX_FRAME: Final = 512  # every peer must take frames of this size

_pack_head = struct.Struct(">IBBH").pack


def amqp_frame(channel: int, body: bytes) -> bytes:
    """A frame with a performative (and payload)."""
    return _pack_head(8 + len(body), 2, 0, channel) + body


def sasl_frame(body: bytes) -> bytes:
    """A frame of the SASL exchange."""
    return _pack_head(8 + len(body), 2, 1, 0) + body
