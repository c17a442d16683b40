"""What a record looks like, and that nothing else passes for one."""

import struct

import google_crc32c
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.log.errors import BadRecord
from heliograph.log.record import ALIGNMENT, HEADER_SIZE, frame, padded, read_record

bodies = st.binary(max_size=200)
u32, u64 = st.integers(0, 2**32 - 1), st.integers(0, 2**64 - 1)


@given(st.integers(0, 255), bodies, u64, u32, u64, u32, st.integers(0, 255), st.integers(0, 2**40))
def test_what_is_framed_is_read_again(kind, body, offset, count, time, epoch, flags, position) -> None:
    data = b"".join(frame(kind, [body], offset=offset, count=count, time=time, epoch=epoch, flags=flags)[0])
    record = read_record(data, 0, position)
    assert (record.kind, record.body, record.offset, record.count) == (kind, body, offset, count)
    assert (record.time, record.epoch, record.flags, record.position) == (time, epoch, flags, position)
    assert record.end == position + len(data) == position + padded(HEADER_SIZE + len(body))


def test_the_bytes_of_a_record_are_as_documented() -> None:
    data = b"".join(frame(7, [b"hello"], offset=3, count=2, time=1000, epoch=9)[0])
    after_crc = struct.pack("<IBBHIIQQ", 36 + 5, 7, 0, 0, 9, 2, 3, 1000) + b"hello"
    assert data == struct.pack("<I", google_crc32c.value(after_crc)) + after_crc + bytes(7)
    assert len(data) % ALIGNMENT == 0


@given(bodies, st.data())
def test_one_flipped_bit_is_noticed(body: bytes, data: st.DataObject) -> None:
    raw = bytearray(b"".join(frame(1, [body], offset=5, count=1)[0])[: HEADER_SIZE + len(body)])
    at = data.draw(st.integers(0, 8 * len(raw) - 1))
    raw[at // 8] ^= 1 << at % 8
    with pytest.raises(BadRecord):
        read_record(bytes(raw), 0, 0)


@given(bodies, st.data())
def test_a_record_that_is_cut_short_is_noticed(body: bytes, data: st.DataObject) -> None:
    raw = b"".join(frame(1, [body])[0])[: HEADER_SIZE + len(body)]
    with pytest.raises(BadRecord):
        read_record(raw[: data.draw(st.integers(0, len(raw) - 1))], 0, 0)


@given(st.binary(max_size=300))
def test_random_bytes_are_no_record(raw: bytes) -> None:
    with pytest.raises(BadRecord):
        read_record(raw, 0, 0)
