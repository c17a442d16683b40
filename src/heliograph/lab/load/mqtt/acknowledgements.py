"""Packet identifiers in flight of one MQTT client, and runs of four-byte acknowledgements as matrices."""

import numpy as np
from numpy.typing import NDArray

from heliograph.lab.load.histogram import Values

Ids = NDArray[np.int64]

PUBACK, PUBREC, PUBREL, PUBCOMP = 0x40, 0x50, 0x62, 0x70
KINDS = frozenset({PUBACK, PUBREC, PUBREL, PUBCOMP})

_FEW = 16

_LAST = 65535


def ack_ids(data: memoryview, at: int) -> Ids:
    """The packet identifiers of the acknowledgements from `at` on that have the type of the first one.

    The caller has checked that a four-byte acknowledgement starts there. May return only the beginning of a run.
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
    """Acknowledgements of another type for the identifiers of this run of four-byte acknowledgements."""
    answer = bytearray(run)
    answer[0::4] = bytes([kind]) * (len(run) // 4)
    return bytes(answer)


class MqttInFlight:
    """Unacknowledged QoS 1 and 2 messages of one client; packet identifiers are used in turn."""

    __slots__ = ("_next", "_sent_at", "_space", "count", "window")

    def __init__(self, window: int) -> None:
        self.window = min(window, _LAST)
        self._space = min(_LAST, max(2 * window, 16))
        self._sent_at = np.zeros(self._space + 1, np.int64)  # by identifier; 0: free
        self._next = 0  # one less than the next identifier
        self.count = 0

    def room(self) -> int:
        """How many more may be sent: what the window allows, or fewer if the next identifiers are still in use."""
        room = self.window - self.count
        if room <= 0 or not self.count:
            return max(0, room)
        used = np.flatnonzero(self._sent_at[self._ids(room)])
        return int(used[0]) if len(used) else room

    def _ids(self, count: int) -> Ids:
        return (np.arange(self._next, self._next + count, dtype=np.int64)) % self._space + 1

    def begin(self, count: int, now: int) -> Ids:
        """Identifiers for the next messages, which are sent now; not more than there is room for."""
        ids = self._ids(count)
        self._sent_at[ids] = now
        self._next = (self._next + count) % self._space
        self.count += count
        return ids

    def end(self, ids: Ids, now: int) -> Values:
        """Settle these; returns how long each message took, without those not in flight."""
        if len(ids) > 1 and not bool((np.diff(ids) == 1).all()):
            ids = np.unique(ids)
        ids = ids[ids <= self._space]
        sent = self._sent_at[ids]
        known = sent > 0
        if not known.all():
            ids, sent = ids[known], sent[known]
        self._sent_at[ids] = 0
        self.count -= len(ids)
        return now - sent
