"""Runs of four-byte acknowledgements, read and made as matrices."""

import numpy as np

from heliograph.lab.load.mqtt.in_flight import Ids

PUBACK, PUBREC, PUBREL, PUBCOMP = 0x40, 0x50, 0x62, 0x70
KINDS = frozenset({PUBACK, PUBREC, PUBREL, PUBCOMP})

_FEW = 16


def ack_ids(data: memoryview, at: int) -> Ids:
    """The packet identifiers of the acknowledgements from `at` on that are of the kind of the first one.

    The caller has seen that a four-byte acknowledgement starts there. The answer may fall short of the whole run.
    """
    count = (len(data) - at) >> 2
    head = data[at : at + 2]
    last = at + ((count - 1) << 2)
    if data[last : last + 2] != head:
        count = min(count, _FEW)
    if count == 1:
        return np.array([data[at + 2] << 8 | data[at + 3]])
    rows = np.frombuffer(data, ">u2", 2 * count, at).reshape(-1, 2)
    same = rows[:, 0] == rows[0, 0]
    if not same.all():
        rows = rows[: int(np.argmin(same))]
    return rows[:, 1].astype(np.int64)


def acks_of(kind: int, ids: Ids) -> bytes:
    """Acknowledgements of this kind."""
    if len(ids) == 1:
        return bytes((kind, 2)) + int(ids[0]).to_bytes(2)
    rows = np.empty((len(ids), 2), ">u2")
    rows[:, 0] = kind << 8 | 2
    rows[:, 1] = ids
    return rows.tobytes()


def ack_run(kind: int, high: bytes, low: bytes) -> bytes:
    """Acknowledgements of one kind for packet identifiers given as a column of high and a column of low bytes."""
    run = bytearray(bytes([kind, 2, 0, 0]) * len(high))
    run[2::4] = high
    run[3::4] = low
    return bytes(run)


def answer_run(kind: int, run: bytes) -> bytes:
    """The same identifiers as in this run of four-byte acknowledgements, acknowledged by another kind."""
    answer = bytearray(run)
    answer[0::4] = bytes([kind]) * (len(run) // 4)
    return bytes(answer)
