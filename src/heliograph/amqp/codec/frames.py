"""Frames (AMQP part 2, section 2.3), and fast decoders for two performatives that are frequent but not uniform.

Runs of uniform transfers and dispositions are decoded by `engine.incoming_runs`. That leaves transfers of large
messages, each unlike the one before, and flows, of which a client that fetches one message at a time sends one for
each. Both decoders here handle only the usual form (a short list of numbers, flags and nulls) and return None for
anything else; then the caller uses `decode` and `resolve`.
"""

import struct
from typing import Final

from heliograph.amqp.codec.performatives import Flow, Transfer

AMQP_HEADER: Final = b"AMQP\x00\x01\x00\x00"
TLS_HEADER: Final = b"AMQP\x02\x01\x00\x00"
SASL_HEADER: Final = b"AMQP\x03\x01\x00\x00"
HEADER_SIZE: Final = 8

EMPTY_FRAME: Final = b"\x00\x00\x00\x08\x02\x00\x00\x00"
SMALLEST_MAX_FRAME: Final = 512  # MIN-MAX-FRAME-SIZE: every peer must accept frames of this size (section 2.8.19)

_pack_head = struct.Struct(">IBBH").pack


def amqp_frame(channel: int, body: bytes) -> bytes:
    """A frame with a performative (and payload)."""
    return _pack_head(8 + len(body), 2, 0, channel) + body


def sasl_frame(body: bytes) -> bytes:
    """A frame of the SASL exchange."""
    return _pack_head(8 + len(body), 2, 1, 0) + body


SHORT_TRANSFER: Final = b"\x00\x53\x14\xc0"  # the descriptor 0x14, and the code of a short list
_uint = struct.Struct(">I").unpack_from
_TRANSFER_FIELDS: Final = 6  # handle, delivery-id, delivery-tag, message-format, settled, more
_MOST_TRANSFER_FIELDS: Final = 11
_UINTS, _TAG = {0, 1, 3}, 2
_FLAGS: Final = {0x40: None, 0x41: True, 0x42: False}


def decode_transfer(data: bytes, at: int, end: int) -> tuple[Transfer, int] | None:
    """Decode the transfer at `at`; return it with the offset of its payload. None means that the general decoder
    must."""
    try:
        stop = at + 5 + data[at + 4]
        count = data[at + 5]
        at += 6
        # Codes: 0x70 uint, 0x52 small uint, 0x43 uint 0, 0xa0 binary up to 255 bytes, 0x40 null, 0x41 true, 0x42 false.
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
    # The other fields (receiver settle mode, state, resume, aborted, batchable) are nearly always left out or null.
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
    """Decode a flow that is a short list of numbers and flags, as nearly all are; None means that the decoder must."""
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
