"""Frames: their headers, and a fast decoder for the two performatives that come by the thousand and look different.

Runs of transfers and dispositions that look alike are taken apart by `engine.incoming_runs`. What is left are the
transfers of large messages, of which none is like the one before, and flows: a client that takes one message at a time
sends one for each. Both decoders here know the usual form alone (a short list of numbers, flags and nulls) and
return None for anything else, which is then a case for `decode` and `resolve`.
"""

import struct
from typing import Final

from heliograph.amqp.codec.performatives import Flow, Transfer

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


SHORT_TRANSFER: Final = b"\x00\x53\x14\xc0"  # the descriptor, and a short list
_uint = struct.Struct(">I").unpack_from
_TRANSFER_FIELDS: Final = 6  # handle, delivery-id, delivery-tag, message-format, settled, more
_MOST_TRANSFER_FIELDS: Final = 11
_UINTS, _TAG = {0, 1, 3}, 2
_FLAGS: Final = {0x40: None, 0x41: True, 0x42: False}


def decode_transfer(data: bytes, at: int, end: int) -> tuple[Transfer, int] | None:
    """The transfer in a short list at `at`, and where its payload begins; None, for what is odd, is for the decoder."""
    try:
        stop = at + 5 + data[at + 4]
        count = data[at + 5]
        at += 6
        values: list[int | bytes | bool | None] = []
        for field in range(min(count, _TRANSFER_FIELDS)):
            code = data[at]
            at += 1
            if field in _UINTS and code == 0x70:
                values += _uint(data, at)
                at += 4
            elif field in _UINTS and code == 0x52:
                values.append(data[at])
                at += 1
            elif field in _UINTS and code == 0x43:
                values.append(0)
            elif field == _TAG and code == 0xA0:
                length = data[at]
                at += 1 + length
                values.append(data[at - length : at])
            elif code == 0x40 or (field > 3 and code in _FLAGS):
                values.append(_FLAGS[code])
            else:
                return None
    except (IndexError, struct.error):
        return None
    # What follows is nearly always left out, or null.
    if not at <= stop <= end or stop - at != max(count - _TRANSFER_FIELDS, 0) or data[at:stop].strip(b"\x40"):
        return None
    if not values or values[0] is None or count > _MOST_TRANSFER_FIELDS:
        return None
    if len(values) == _TRANSFER_FIELDS:
        values[-1] = bool(values[-1])
    return Transfer(*values), stop  # type: ignore[arg-type]


SHORT_FLOW: Final = b"\x00\x53\x13\xc0"  # the descriptor, and a short list
_FLOW_NUMBERS: Final = 8  # fields that are uints; two booleans and the properties follow
_FLOW_REQUIRED: Final = slice(1, 4)


def decode_flow(body: bytes) -> Flow | None:
    """The flow that is a short list of numbers and flags, as all are but odd ones; None is for the decoder."""
    count = body[5]
    if count < _FLOW_REQUIRED.stop or count > _FLOW_NUMBERS + 2 or body[4] + 5 != len(body):
        return None
    values: list[int | None] = []
    at = 6
    try:
        for _ in range(min(count, _FLOW_NUMBERS)):
            code = body[at]
            if code == 0x70:
                values.append(_uint(body, at + 1)[0])
                at += 5
            elif code == 0x52:
                values.append(body[at + 1])
                at += 2
            elif code == 0x43:
                values.append(0)
                at += 1
            elif code == 0x40:
                values.append(None)
                at += 1
            else:
                return None
    except (IndexError, struct.error):
        return None
    flags = body[at:]
    if len(flags) != max(count - _FLOW_NUMBERS, 0) or flags.strip(b"\x40\x41\x42") or None in values[_FLOW_REQUIRED]:
        return None
    return Flow(*values, *[flag == 0x41 for flag in flags])  # type: ignore[arg-type]
