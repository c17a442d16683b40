"""Transfers that are not plain, in a fast form: a large message comes in many, of which none is like the one before."""

import struct
from typing import Final

from heliograph.amqp.codec.performatives import Transfer

SHORT_TRANSFER: Final = b"\x00\x53\x14\xc0"  # the descriptor, and a short list
_uint = struct.Struct(">I").unpack_from
_FIELDS: Final = 6  # handle, delivery-id, delivery-tag, message-format, settled, more
_MOST_FIELDS: Final = 11
_UINTS, _TAG = {0, 1, 3}, 2
_FLAGS: Final = {0x40: None, 0x41: True, 0x42: False}


def decode_transfer(data: bytes, at: int, end: int) -> tuple[Transfer, int] | None:
    """The transfer in a short list at `at`, and where its payload begins; None, for what is odd, is for the decoder."""
    try:
        stop = at + 5 + data[at + 4]
        count = data[at + 5]
        at += 6
        values: list[int | bytes | bool | None] = []
        for field in range(min(count, _FIELDS)):
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
    if not at <= stop <= end or stop - at != max(count - _FIELDS, 0) or data[at:stop].strip(b"\x40"):
        return None
    if not values or values[0] is None or count > _MOST_FIELDS:
        return None
    if len(values) == _FIELDS:
        values[-1] = bool(values[-1])
    return Transfer(*values), stop  # type: ignore[arg-type]
