"""Runs of packets: many packets of one length, compared and written with slices instead of one by one.

A pipelining client sends hundreds of packets of one length with one header, and acknowledgements with consecutive
identifiers. A run of packets of equal length is a matrix: each packet is a row, and `data[at:stop:stride]` is the
column of the byte at offset `at`. For example, three PUBLISH packets of 8 bytes (`stride` 8), QoS 1, topic "t":

    32 06 00 01 74 00 05 61        first byte, length, topic length, topic, packet identifier 5, payload "a"
    32 06 00 01 74 00 06 62
    32 06 00 01 74 00 07 63

The header is the same in all rows if each of its columns equals its first byte repeated; the identifiers are two
columns (`id_at` 5), which are compared with slices of `ID_HIGH` and `ID_LOW`. Comparing or writing a dozen columns
costs some 13 ns per packet, whatever the payload. A run of acknowledgements is a slice of a table made once (`PUBACKS`
and so on): the one for identifier i stands at 4 * i.
"""

LAST_ID = 65535

Ids = range | list[int]
"""Packet identifiers in the order of their packets: a range wherever they are consecutive, which costs no memory."""

# Column i of these is the high or low byte of packet identifier i.
ID_HIGH = bytes(i >> 8 for i in range(LAST_ID + 1))
ID_LOW = bytes(i & 0xFF for i in range(LAST_ID + 1))
# All identifiers as they stand in a packet, one after the other.
ID_BYTES = b"".join(i.to_bytes(2, "big") for i in range(LAST_ID + 1))

# The number of packets compared at first. While all are alike, the number grows by this factor.
_LEAP = 128


def _ack_table(first_byte: int) -> bytes:
    """The four-byte acknowledgement of every packet identifier, one after the other."""
    table = bytearray(bytes((first_byte, 2, 0, 0)) * (LAST_ID + 1))
    table[2::4] = ID_HIGH
    table[3::4] = ID_LOW
    return bytes(table)


PUBACKS = _ack_table(0x40)
PUBRECS = _ack_table(0x50)
PUBRELS = _ack_table(0x62)
PUBCOMPS = _ack_table(0x70)


def ack_run(table: bytes, first: int, count: int) -> bytes:
    """Return acknowledgements for `count` consecutive identifiers from one of the tables (`PUBACKS`, ...)."""
    return table[4 * first : 4 * (first + count)]


def read_ack_run(table: bytes, data: bytes, pos: int) -> tuple[int, int]:
    """(first identifier, how many consecutive ones) of the acknowledgements of one kind that start at `pos`.

    The caller has seen that a four-byte acknowledgement of that kind starts there.
    """
    first = data[pos + 2] << 8 | data[pos + 3]
    most = min((len(data) - pos) >> 2, LAST_ID + 1 - first)
    at = 4 * first
    # Compare in growing steps: the cost must depend on the length of the run, not on how much data lies behind it.
    good, bad = 1, min(_LEAP, most)
    while data[pos : pos + 4 * bad] == table[at : at + 4 * bad]:
        if bad == most:
            return first, most
        good, bad = bad, min(_LEAP * bad, most)
    while bad - good > 1:
        middle = (good + bad) >> 1
        if data[pos + 4 * good : pos + 4 * middle] == table[at + 4 * good : at + 4 * middle]:
            good = middle
        else:
            bad = middle
    return first, good


def run_length(data: bytes, pos: int, stride: int, head: int, id_at: int) -> int:
    """Return how many packets from `pos` on surely have the length (`stride`) and header of the first one.

    The header is the first `head` bytes; two of them at offset `id_at` hold a packet identifier, which may differ
    (0: there is none). The answer may fall short of the whole run: what is left of it is found by the next call.
    """
    most = count = (len(data) - pos) // stride
    count = min(count, _LEAP)
    probe = data[pos : pos + (id_at or head)]
    while count > 1:
        # Halve the guess until it is right.
        # Comparing the last packet first finds most wrong guesses before any column is cut.
        if data.startswith(probe, pos + (count - 1) * stride) and _same_columns(data, pos, stride, head, id_at, count):
            break
        count >>= 1
    if count < _LEAP:
        return count or 1
    while count < most:
        further = min(most, _LEAP * count)
        last = pos + (count - 1) * stride
        if not _same_columns(data, last, stride, head, id_at, further - count + 1):
            break
        count = further
    return count


def _same_columns(data: bytes, pos: int, stride: int, head: int, id_at: int, count: int) -> bool:
    stop = pos + count * stride
    for at in range(pos, pos + (id_at or head)):
        if data[at:stop:stride] != data[at : at + 1] * count:
            return False
    if id_at:
        for at in range(pos + id_at + 2, pos + head):
            if data[at:stop:stride] != data[at : at + 1] * count:
                return False
    return True


def write_ids(packets: bytearray, id_at: int, stride: int, first: int, count: int) -> None:
    """Write consecutive identifiers into a run of `count` packets, `stride` bytes each, at offset `id_at`."""
    packets[id_at::stride] = ID_HIGH[first : first + count]
    packets[id_at + 1 :: stride] = ID_LOW[first : first + count]


def ids_of(packets: bytes, id_at: int, stride: int) -> Ids:
    """The packet identifiers of a run of packets, in their order: a range if they are consecutive."""
    high, low = packets[id_at::stride], packets[id_at + 1 :: stride]
    first, count = high[0] << 8 | low[0], len(high)
    if high == ID_HIGH[first : first + count] and low == ID_LOW[first : first + count]:
        return range(first, first + count)
    return [h << 8 | low_byte for h, low_byte in zip(high, low, strict=True)]


def first_ids_of(packets: bytes, id_at: int, stride: int, worth: int) -> Ids:
    """Like `ids_of`, but only the leading consecutive identifiers, if there are at least `worth` of them.

    Every sender starts its identifiers again at some point, which would make a whole run a list.
    """
    high, low = packets[id_at::stride], packets[id_at + 1 :: stride]
    first, count = high[0] << 8 | low[0], len(high)
    if high == ID_HIGH[first : first + count] and low == ID_LOW[first : first + count]:
        return range(first, first + count)
    if count >= worth:
        good = _consecutive(high, low, first, min(count, LAST_ID + 1 - first))
        if good >= worth:
            return range(first, first + good)
    return [h << 8 | low_byte for h, low_byte in zip(high, low, strict=True)]


def _consecutive(high: bytes, low: bytes, first: int, most: int) -> int:
    """How many identifiers from the first one on are consecutive."""
    good, bad = 1, most + 1
    while bad - good > 1:
        middle = (good + bad) >> 1
        here = slice(first + good, first + middle)
        if high[good:middle] == ID_HIGH[here] and low[good:middle] == ID_LOW[here]:
            good = middle
        else:
            bad = middle
    return good


def acks_for(table: bytes, ids: Ids, reason: int = 0) -> bytes:
    """Acknowledgements of the kind in `table` for these identifiers, in their order; with an MQTT 5 reason if not 0."""
    if not reason:
        # Reason 0 (success) is left out: the short form of MQTT 5 (section 3.4.2.1) equals the packet of MQTT 3.
        if isinstance(ids, range):
            return ack_run(table, ids.start, len(ids))
        return b"".join([table[4 * i : 4 * i + 4] for i in ids])
    # Five bytes each: the properties may be left out if there are none (MQTT 5, section 3.4.2.2.1).
    run = bytearray((table[:1] + bytes((3, 0, 0, reason))) * len(ids))
    run[2::5] = bytes([i >> 8 for i in ids])
    run[3::5] = bytes([i & 0xFF for i in ids])
    return bytes(run)
