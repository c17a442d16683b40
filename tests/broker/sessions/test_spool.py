"""A spool is ranges of offsets: what waits for a durable subscription, within its limits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.durable_clients import subscriber
from heliograph.broker.core.limits import Limits, WhenFull
from heliograph.broker.sessions.spool import Spool, SpoolTotals
from heliograph.mqtt import Publish


class Cursor:
    """Messages of ten bytes, two in a chunk."""

    def __init__(self):
        self.pending = set()

    @property
    def bytes(self):
        return 10 * len(self.pending)

    def chunk_of(self, offset):
        return type("Chunk", (), {"first": offset // 2 * 2, "next": offset // 2 * 2 + 2})


class Ledger:
    """Notes what is done with."""

    def __init__(self):
        self.discarded = []

    def discard(self, cursor, lo, hi):
        self.discarded += range(lo, hi)
        cursor.pending -= set(range(lo, hi))

    acknowledge = discard


def spool_with(number, total=None):
    """A spool in which so many messages wait."""
    spool = Spool(Ledger(), Cursor(), total or SpoolTotals())
    spool.cursor.pending |= set(range(number))
    if number:
        spool.put(0, number)
    return spool


REJECT = Limits(max_messages=5, max_bytes=1000)
DISCARD = Limits(max_messages=5, max_bytes=1000, when_full=WhenFull.DISCARD_OLD)


@pytest.mark.parametrize(("there", "come", "taken"), [(0, 5, 5), (3, 5, 2), (5, 1, 0), (0, 9, 5)])
def test_a_spool_that_rejects_takes_what_fits(there, come, taken):
    spool = spool_with(there)
    assert spool.accept(come, 10 * come, REJECT) == taken
    assert spool.rejected == come - taken
    assert spool.discarded == 0


@pytest.mark.parametrize(("there", "come", "discarded"), [(0, 5, 0), (3, 5, 3), (5, 1, 1), (4, 9, 4)])
def test_a_spool_that_discards_takes_all_and_gives_up_the_oldest(there, come, discarded):
    spool = spool_with(there)
    assert spool.accept(come, 10 * come, DISCARD) == come
    assert spool.discarded == discarded
    assert spool._ledger.discarded == list(range(discarded))
    assert spool.count == there - discarded


def test_bytes_are_limited_too_but_an_empty_spool_takes_anything():
    assert spool_with(0).accept(1, 5000, REJECT) == 1
    spool = spool_with(1)
    assert spool.accept(2, 5000, REJECT) == 0
    assert spool.rejected == 2


def test_chunk_by_chunk_goes_until_there_is_room_for_the_bytes():
    spool = spool_with(5)
    limits = Limits(max_messages=100, max_bytes=50, when_full=WhenFull.DISCARD_OLD)
    assert spool.accept(1, 25, limits) == 1
    assert spool._ledger.discarded == [0, 1, 2, 3]
    assert spool.count == 1


@given(st.lists(st.tuples(st.sampled_from(["put", "take", "sent", "any"]), st.integers(0, 30), st.integers(1, 6))))
def test_what_waits_is_counted_over_all_spools(steps):
    total = SpoolTotals()
    spool, other = Spool(Ledger(), Cursor(), total), Spool(Ledger(), Cursor(), total)
    other.put(0, 3)
    known, most = set(), 0
    for what, at, number in steps:
        if what == "put":
            spool.put(at, at + number)
            known |= set(range(at, at + number))
        elif what == "sent":
            spool.sent_before(at, at + number)
            known -= set(range(at, at + number))
        elif known:
            oldest = min(known)
            lo, hi = spool.take_any() if what == "any" else spool._take(number)
            assert lo == oldest
            assert what == "any" or hi - lo <= number
            known -= set(range(lo, hi))
        most = max(most, len(known))
        assert spool.count == len(known)
        assert total.messages == len(known) + 3
    assert spool.high_water == most
    spool.forget()
    assert (spool.count, total.messages) == (0, 3)


def test_what_waits_is_read_back_from_the_log(scene):
    client = subscriber(scene)
    client.lose()
    publisher = scene.client("p")
    for payload in (b"1", b"2", b"3"):
        publisher.publish("a", payload, qos=1)
    (spool,) = [one.spool for one in scene.broker.sessions["s"].subscriptions.values()]
    found = spool.next()
    assert (spool.count, found.first, found.next) == (3, spool.unsent.first, spool.unsent.first + 1)
    assert spool.take(found, 5) == (found.first, found.next)
    assert spool.expire(spool.next()) == 1
    assert (spool.count, spool.expired, spool.cursor.pending) == (1, 1, 2)
    spool.rest()
    assert spool.next().first == found.first + 2


def test_what_is_not_safe_yet_is_not_read(scene):
    client = subscriber(scene)
    client.lose()
    publisher = scene.client("p")
    (spool,) = [one.spool for one in scene.broker.sessions["s"].subscriptions.values()]
    scene.stop_the_clock_of_the_log()
    publisher.publish("a", b"1")
    publisher.send(Publish("a", b"2", 1, packet_id=9))
    scene.broker.turn.write_down()
    assert spool.count == 1
    assert spool.next() is None
