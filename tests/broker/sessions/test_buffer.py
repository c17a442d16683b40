"""The bounded buffer, against a list of messages."""

from hypothesis import given
from hypothesis import strategies as st

from heliograph.broker.core.limits import Limits, WhenFull
from heliograph.broker.core.memory import Budget
from heliograph.broker.core.span import Span
from heliograph.broker.sessions.buffer import Buffer, BufferTotals, cut_packets
from heliograph.mqtt import Publish, encode

MOST = 7


def numbered(first, count, expires=0.0):
    """A span whose payloads are the numbers from `first` on."""
    data = b"".join((first + i).to_bytes(2, "big") for i in range(count))
    return Span(b"a", data, count, head=0, qos=1, id_at=0, version5=False, expires=expires)


COST = numbered(0, 1).cost - 2
"""What a span costs beside its payloads."""


def account():
    return Budget().account("client", "c")


def numbers(queue):
    return [int.from_bytes(p, "big") for span, lo, hi in queue for p in span.payloads(lo, hi)]


def add(buffer, queue, first, count, when_full=WhenFull.REJECT_NEW, expires=0.0):
    return buffer.add(queue, numbered(first, count, expires), 0, count, Limits(max_messages=MOST, when_full=when_full))


counts = st.lists(st.tuples(st.booleans(), st.integers(1, 10)), max_size=8)


@given(counts)
def test_a_full_buffer_that_rejects_keeps_the_oldest(additions):
    buffer = Buffer(BufferTotals(), account())
    late, waiting, rejected, next_number = [], [], 0, 0
    for is_late, count in additions:
        taken = add(buffer, buffer.late if is_late else buffer.waiting, next_number, count)
        room = MOST - len(late) - len(waiting)
        (late if is_late else waiting).extend(range(next_number, next_number + min(count, room)))
        assert taken == min(count, room)
        rejected += count - taken
        next_number += count
    assert (numbers(buffer.late), numbers(buffer.waiting)) == (late, waiting)
    assert (buffer.count, buffer.high_water) == (len(late) + len(waiting),) * 2
    assert (buffer.rejected, buffer.discarded) == (rejected, 0)


@given(counts)
def test_a_full_buffer_that_discards_keeps_the_newest_and_gives_up_qos_0_first(additions):
    buffer = Buffer(BufferTotals(), account())
    late, waiting, discarded, next_number = [], [], 0, 0
    for is_late, count in additions:
        assert (
            add(buffer, buffer.late if is_late else buffer.waiting, next_number, count, WhenFull.DISCARD_OLD) == count
        )
        arriving = list(range(next_number, next_number + count))
        over = len(late) + len(waiting) + count - MOST
        while over > 0:
            (late or waiting or arriving).pop(0)
            over -= 1
            discarded += 1
        (late if is_late else waiting).extend(arriving)
        next_number += count
    assert (numbers(buffer.late), numbers(buffer.waiting)) == (late, waiting)
    assert buffer.count == len(late) + len(waiting)
    assert (buffer.rejected, buffer.discarded) == (0, discarded)


def test_the_high_water_mark_stays_when_the_buffer_empties():
    buffer = Buffer(BufferTotals(), account())
    add(buffer, buffer.late, 0, 5)
    list(buffer.clear_late())
    assert (buffer.count, buffer.high_water) == (0, 5)


def test_clearing_late_messages_leaves_the_others():
    buffer = Buffer(BufferTotals(), account())
    add(buffer, buffer.late, 0, 2)
    add(buffer, buffer.waiting, 2, 3)
    list(buffer.clear_late())
    assert (numbers(buffer.late), numbers(buffer.waiting), buffer.count) == ([], [2, 3, 4], 3)


def test_what_is_put_back_comes_first_and_is_never_rejected():
    buffer = Buffer(BufferTotals(), account())
    add(buffer, buffer.waiting, 10, MOST)
    buffer.put_back(numbered(0, 3), 1, 3)
    assert numbers(buffer.waiting) == [1, 2, *range(10, 10 + MOST)]
    assert (buffer.count, buffer.high_water, buffer.rejected) == (MOST + 2, MOST + 2, 0)
    assert add(buffer, buffer.waiting, 20, 1) == 0


def test_what_has_expired_is_dropped_from_the_front_of_both_queues():
    buffer = Buffer(BufferTotals(), account())
    add(buffer, buffer.late, 0, 1, expires=10.0)
    add(buffer, buffer.late, 1, 1)
    add(buffer, buffer.waiting, 2, 2, expires=10.0)
    add(buffer, buffer.waiting, 4, 1, expires=11.0)
    assert buffer.drop_expired(9.9) == 0
    assert buffer.drop_expired(10.0) == 3
    assert (numbers(buffer.late), numbers(buffer.waiting)) == ([1], [4])
    assert (buffer.count, buffer.expired) == (2, 3)


@given(st.lists(st.integers(0, 300), min_size=1, max_size=6), st.data())
def test_packets_are_cut_out_of_a_run_whatever_their_lengths(sizes, data):
    packets = [encode(Publish("a", b"x" * size), 4) for size in sizes]
    lo = data.draw(st.integers(0, len(packets) - 1))
    hi = data.draw(st.integers(lo + 1, len(packets)))
    assert cut_packets(b"".join(packets), lo, hi) == b"".join(packets[lo:hi])


def test_bytes_are_limited_too_but_for_the_first_message():
    limits = Limits(max_bytes=COST + 10)
    buffer = Buffer(BufferTotals(), account())
    assert buffer.add(buffer.waiting, numbered(0, 8), 0, 8, limits) == 8
    assert buffer.add(buffer.waiting, numbered(8, 1), 0, 1, limits) == 0
    assert (buffer.count, buffer.bytes, buffer.rejected) == (8, COST + 16, 1)
    buffer.pop(buffer.waiting)
    assert buffer.bytes == 0


def test_the_oldest_give_way_to_newer_bytes():
    limits = Limits(max_bytes=2 * COST + 10, when_full=WhenFull.DISCARD_OLD)
    buffer = Buffer(BufferTotals(), account())
    for first in (0, 2, 4):
        assert buffer.add(buffer.waiting, numbered(first, 2), 0, 2, limits) == 2
    assert numbers(buffer.waiting) == [2, 3, 4, 5]
    assert buffer.add(buffer.waiting, numbered(6, 8), 0, 8, limits) == 8
    assert numbers(buffer.waiting) == list(range(6, 14))
    assert (buffer.count, buffer.bytes, buffer.discarded) == (8, COST + 16, 6)


@given(counts)
def test_an_empty_buffer_holds_no_bytes(additions):
    buffer = Buffer(BufferTotals(), account())
    for number, (is_late, count) in enumerate(additions):
        add(buffer, buffer.late if is_late else buffer.waiting, 0, count, expires=1.0 + number % 2)
    list(buffer.clear_late())
    assert buffer.bytes == sum(span.cost for span, _, _ in buffer.waiting)
    buffer.drop_expired(9.0)
    assert (buffer.count, buffer.bytes) == (0, 0)


def test_what_waits_in_several_buffers_counts_once_in_all():
    held = BufferTotals()
    buffers = [Buffer(held, account()) for _ in range(3)]
    span = numbered(0, 8)
    for buffer in buffers:
        buffer.add(buffer.waiting, span, 0, 8, Limits())
        buffer.add(buffer.late, b"plain packets", 0, 1, Limits())
    plain = held.bytes - span.cost
    assert plain > 3 * len(b"plain packets")
    list(buffers[0].clear())
    list(buffers[1].clear_late())
    assert held.bytes == span.cost + plain // 3
    for buffer in buffers:
        list(buffer.clear())
    assert held.bytes == 0


def test_all_buffers_together_are_limited():
    limits = Limits(buffered_bytes=COST + 20)
    held = BufferTotals()
    full, other = Buffer(held, account()), Buffer(held, account())
    shared = numbered(0, 8)
    assert full.add(full.waiting, shared, 0, 8, limits) == 8
    assert other.add(other.waiting, numbered(8, 4), 0, 4, limits) == 0
    assert other.rejected == 4
    assert other.add(other.waiting, shared, 0, 8, limits) == 8, "what is there already takes no more room"
    list(full.clear())
    list(other.clear())
    assert other.add(other.waiting, numbered(8, 4), 0, 4, limits) == 4


def test_a_buffer_gives_way_only_with_its_own_messages():
    limits = Limits(buffered_bytes=2 * COST + 20, when_full=WhenFull.DISCARD_OLD)
    held = BufferTotals()
    full, other = Buffer(held, account()), Buffer(held, account())
    full.add(full.waiting, numbered(0, 7), 0, 7, limits)
    assert other.add(other.waiting, numbered(7, 2), 0, 2, limits) == 2
    assert other.add(other.waiting, numbered(9, 3), 0, 3, limits) == 3
    assert numbers(other.waiting) == [9, 10, 11]
    assert (other.discarded, other.rejected, full.count) == (2, 0, 7)
    assert other.add(other.waiting, numbered(12, 4), 0, 4, limits) == 0
    assert (other.discarded, other.rejected, full.count) == (5, 4, 7)
