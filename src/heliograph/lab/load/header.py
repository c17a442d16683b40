"""The 32 bytes at the start of every payload: which message this is, when it was due and when it was sent.

Little-endian: magic u16, group u16, sender u32, sequence u64, due_ns u64, sent_ns u64. Times are CLOCK_MONOTONIC,
which all processes of one machine share. `sender` is the number of a stream in its group: client * topics + topic.
"""

import struct

import numpy as np

MAGIC = 0x4C48  # "HL" on the wire
SIZE = 32
HEADER = struct.Struct("<HHIQQQ")

FIELDS = {"magic": 0, "group": 2, "sender": 4, "sequence": 8, "due": 16, "sent": 24}
_FORMATS = {"magic": "<u2", "group": "<u2", "sender": "<u4", "sequence": "<i8", "due": "<i8", "sent": "<i8"}


def rows_dtype(at: int, stride: int) -> np.dtype[np.void]:
    """The header as columns of packets of `stride` bytes each, with the payload at offset `at`."""
    names = list(FIELDS)
    return np.dtype(
        {
            "names": names,
            "formats": [_FORMATS[name] for name in names],
            "offsets": [at + FIELDS[name] for name in names],
            "itemsize": stride,
        }
    )
