"""Runs of packets, against models that look at every packet."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.mqtt.runs import (
    LAST_ID,
    PUBACKS,
    PUBCOMPS,
    PUBRECS,
    PUBRELS,
    ack_run,
    acks_for,
    first_ids_of,
    ids_of,
    read_ack_run,
    run_length,
    write_ids,
)

FIRST_BYTES = {0x40: PUBACKS, 0x50: PUBRECS, 0x62: PUBRELS, 0x70: PUBCOMPS}


def ack(first_byte, packet_id):
    return bytes((first_byte, 2)) + packet_id.to_bytes(2, "big")


packet_ids = st.integers(1, LAST_ID) | st.sampled_from([1, 255, 256, LAST_ID - 1, LAST_ID])
id_runs = st.builds(
    lambda first, count: list(range(first, min(first + count, LAST_ID + 1))), packet_ids, st.integers(1, 9)
)
id_lists = id_runs | st.lists(packet_ids, min_size=1, max_size=9)


@pytest.mark.parametrize("first_byte", FIRST_BYTES)
def test_the_tables_hold_the_acknowledgement_of_every_identifier(first_byte):
    table = FIRST_BYTES[first_byte]
    assert table == b"".join(ack(first_byte, packet_id) for packet_id in range(LAST_ID + 1))


@given(packet_ids, st.integers(1, 9))
def test_an_ack_run_is_the_acknowledgements_one_after_the_other(first, count):
    expected = b"".join(ack(0x40, packet_id) for packet_id in range(first, min(first + count, LAST_ID + 1)))
    assert ack_run(PUBACKS, first, count) == expected


@given(st.sampled_from(list(FIRST_BYTES)), id_lists)
def test_acks_for_writes_one_acknowledgement_per_identifier_in_order(first_byte, ids):
    expected = b"".join(ack(first_byte, packet_id) for packet_id in ids)
    assert acks_for(FIRST_BYTES[first_byte], ids) == expected


# What comes after a run: other kinds, identifiers that do not go on, pieces of packets.
followers = st.lists(st.builds(ack, st.sampled_from(list(FIRST_BYTES)), packet_ids), max_size=4).map(b"".join)


@given(st.sampled_from(list(FIRST_BYTES)), id_runs, followers, st.binary(max_size=5), st.binary(max_size=5))
def test_read_ack_run_reads_as_far_as_identifiers_count_up(first_byte, ids, after, before, rest):
    run = b"".join(ack(first_byte, packet_id) for packet_id in ids)
    data = before + run + after + rest
    first, count = read_ack_run(FIRST_BYTES[first_byte], data, len(before))
    assert first == ids[0]
    expected = 1
    at = len(before) + 4
    while first + expected <= LAST_ID and data[at : at + 4] == ack(first_byte, first + expected):
        expected += 1
        at += 4
    assert count == expected


def test_an_ack_run_ends_at_the_last_identifier():
    data = ack(0x40, LAST_ID) + ack(0x40, 0) + ack(0x40, 1)
    assert read_ack_run(PUBACKS, data, 0) == (LAST_ID, 1)


def same_header(data, pos, stride, head, id_at, index):
    one, other = data[pos : pos + head], data[pos + index * stride : pos + index * stride + head]
    if id_at:
        one, other = one[:id_at] + one[id_at + 2 :], other[:id_at] + other[id_at + 2 :]
    return one == other


@st.composite
def packet_runs(draw):
    """Packets with one header, then anything, often more packets whose header is almost the same."""
    before = draw(st.binary(max_size=3))
    head = draw(st.integers(4, 8))
    id_at = draw(st.sampled_from([0, *range(1, head - 1)]))
    header = draw(st.binary(min_size=head, max_size=head))
    size = draw(st.integers(0, 12))
    # A payload may well look like a header, or like the start of one.
    payloads = st.binary(min_size=size, max_size=size) | st.just((header * 3)[:size])

    def packet(head_bytes):
        if id_at:
            packet_id = draw(st.binary(min_size=2, max_size=2))
            head_bytes = head_bytes[:id_at] + packet_id + head_bytes[id_at + 2 :]
        return head_bytes + draw(payloads)

    run = [packet(header) for _ in range(draw(st.integers(1, 9)))]
    other = bytearray(header)
    other[draw(st.integers(0, head - 1))] ^= draw(st.sampled_from([0, 1, 0x80]))
    others = [packet(bytes(other)) for _ in range(draw(st.integers(0, 4)))]
    tail = [packet(header) for _ in range(draw(st.integers(0, 4)))]
    rest = draw(st.binary(max_size=head + size))
    return before + b"".join(run + others + tail) + rest, len(before), head + size, head, id_at, len(run)


@given(packet_runs())
def test_a_run_is_never_longer_than_the_packets_with_the_same_header(case):
    data, pos, stride, head, id_at, _ = case
    count = run_length(data, pos, stride, head, id_at)
    assert count >= 1
    assert pos + count * stride <= len(data)
    assert all(same_header(data, pos, stride, head, id_at, index) for index in range(count))


@given(packet_runs())
def test_a_run_that_fills_the_buffer_is_found_whole(case):
    data, pos, stride, head, id_at, length = case
    data = data[: pos + length * stride]
    assert run_length(data, pos, stride, head, id_at) == length


@given(packet_runs())
def test_calling_again_finds_the_rest_of_a_run(case):
    data, pos, stride, head, id_at, length = case
    found = 0
    while found < length:
        found += run_length(data, pos + found * stride, stride, head, id_at)
    assert found >= length


@given(st.integers(1, 65_535), st.integers(1, 600), st.lists(st.integers(1, 65_535), max_size=40))
def test_first_ids_are_the_consecutive_ones_if_these_are_many(first, count, others) -> None:
    consecutive = list(range(first, min(first + count, 65_536)))
    ids = consecutive + others
    found = first_ids_of(b"".join(i.to_bytes(2, "big") for i in ids), 0, 2, 64)
    assert list(found) == ids[: len(found)]
    assert len(found) == len(ids) or (isinstance(found, range) and len(found) >= 64)
    if len(consecutive) >= 64:
        assert isinstance(found, range)
        assert len(found) >= len(consecutive)


@given(id_lists, st.integers(0, 5), st.integers(0, 5))
def test_ids_of_reads_the_identifier_of_every_packet(ids, before, after):
    data = b"".join(b"x" * before + packet_id.to_bytes(2, "big") + b"y" * after for packet_id in ids)
    found = ids_of(data, before, before + 2 + after)
    assert list(found) == ids
    consecutive = ids == list(range(ids[0], ids[0] + len(ids)))
    assert isinstance(found, range) is consecutive


@given(packet_ids, st.integers(1, 9), st.integers(0, 5), st.integers(0, 5))
def test_write_ids_numbers_the_packets_and_changes_nothing_else(first, count, before, after):
    count = min(count, LAST_ID + 1 - first)
    blank = b"x" * before + b"\0\0" + b"y" * after
    run = bytearray(blank * count)
    write_ids(run, before, len(blank), first, count)
    expected = b"".join(blank.replace(b"\0\0", (first + i).to_bytes(2, "big")) for i in range(count))
    assert bytes(run) == expected


LENGTHS = [1, 2, 127, 128, 129, 300, 16_384, 20_000]


@pytest.mark.parametrize("count", LENGTHS)
@pytest.mark.parametrize("after", [b"", ack(0x40, 1), ack(0x50, 9), ack(0x40, 1) * 1000])
def test_a_long_ack_run_is_read_whole_whatever_follows(count, after):
    assert read_ack_run(PUBACKS, ack_run(PUBACKS, 7, count) + after, 0) == (7, count)


@pytest.mark.parametrize("count", LENGTHS)
@pytest.mark.parametrize("others", [0, 1, 1000])
def test_a_long_run_of_packets_is_never_overrun(count, others):
    data = b"headAApayload" * count + b"heedAApayload" * others + b"headAApayload" * others
    found = 0
    while found < count:
        step = run_length(data, found * 13, 13, 6, 4)
        assert 1 <= step <= count - found
        found += step
    if not others:
        assert run_length(data, 0, 13, 6, 4) == count
