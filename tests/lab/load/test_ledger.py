"""Accounts find every gap, double and swap, however the messages are cut into batches."""

from collections import defaultdict

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.lab.load.ledger import Coverage, Faults, Receiver, Share, repeated

SENDERS = 7
GROUP = 3

# Streams with few numbers, so that all kinds of trouble come up; and mostly ascending ones, so that some have none.
arrivals = st.lists(st.tuples(st.integers(0, SENDERS - 1), st.integers(0, 12)), max_size=120)
streams = st.lists(st.integers(0, SENDERS - 1), max_size=120)
cuts = st.lists(st.integers(1, 25), min_size=1, max_size=20)


def plainly(messages: list[tuple[int, int]], *, gaps: bool = True) -> Faults:
    """The same accounts, message by message."""
    faults, seen, highest = Faults(), defaultdict[int, set[int]](set), defaultdict[int, int](lambda: -1)
    for sender, number in messages:
        if number in seen[sender]:
            faults.duplicates += 1
        elif number < highest[sender]:
            faults.reordered += 1
        elif gaps:
            faults.lost += number - highest[sender] - 1
        seen[sender].add(number)
        highest[sender] = max(highest[sender], number)
    return faults


def in_batches(receiver: Receiver, messages: list[tuple[int, int]], sizes: list[int]) -> Faults:
    faults, at, turn = Faults(), 0, 0
    while at < len(messages):
        size = sizes[turn % len(sizes)]
        batch = messages[at : at + size]
        if len(batch) == 1:
            receiver.take_one(GROUP, *batch[0], faults)
        else:
            senders, numbers = zip(*batch, strict=True)
            receiver.take(GROUP, np.array(senders, np.uint32), np.array(numbers, np.int64), faults)
        at, turn = at + size, turn + 1
    return faults


def in_order(senders: list[int]) -> list[tuple[int, int]]:
    counts = defaultdict[int, int](int)
    made = []
    for sender in senders:
        made.append((sender, counts[sender]))
        counts[sender] += 1
    return made


def lost_at_the_end(messages: list[tuple[int, int]]) -> int:
    highest = defaultdict[int, int](int)
    for sender, number in messages:
        highest[sender] = max(highest[sender], number + 1)
    return sum(highest.values()) - len(set(messages))


@settings(max_examples=50, deadline=None)
@given(arrivals, cuts)
def test_a_receiver_counts_what_one_sees_who_looks_at_each_message(
    messages: list[tuple[int, int]], sizes: list[int]
) -> None:
    faults, exact = in_batches(Receiver(), messages, sizes), plainly(messages)
    assert (faults.duplicates, faults.lost) == (exact.duplicates, exact.lost)
    # What was a gap and came after all is what came late.
    assert faults.lost - faults.reordered == lost_at_the_end(messages)
    assert faults.reordered == exact.reordered


@settings(max_examples=50, deadline=None)
@given(streams, cuts)
def test_streams_that_come_in_order_have_no_faults(senders: list[int], sizes: list[int]) -> None:
    receiver = Receiver()
    messages = in_order(senders)
    assert in_batches(receiver, messages, sizes) == Faults()
    for sender in range(SENDERS):
        assert receiver.highest(GROUP, sender) == senders.count(sender)


@settings(max_examples=50, deadline=None)
@given(arrivals, cuts)
def test_a_member_of_a_share_counts_doubles_and_swaps_but_no_gaps(
    messages: list[tuple[int, int]], sizes: list[int]
) -> None:
    share = Share({GROUP: SENDERS})
    faults, exact = in_batches(Receiver(share), messages, sizes), plainly(messages, gaps=False)
    assert (faults.lost, faults.duplicates, faults.reordered) == (0, exact.duplicates, exact.reordered)


@settings(max_examples=50, deadline=None)
@given(arrivals, cuts, st.randoms())
def test_members_of_a_share_know_what_the_others_got(messages: list[tuple[int, int]], sizes: list[int], choose) -> None:
    share = Share({GROUP: SENDERS})
    members = [Receiver(share) for _ in range(3)]
    dealt: list[list[tuple[int, int]]] = [[], [], []]
    for message in messages:
        dealt[choose.randrange(3)].append(message)
    faults = [in_batches(member, part, sizes) for member, part in zip(members, dealt, strict=True)]
    assert sum(one.duplicates for one in faults) == len(messages) - len(set(messages))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 200)), unique=True), min_size=2, max_size=4))
def test_what_several_processes_got_is_found_when_they_are_put_together(parts: list[list[tuple[int, int]]]) -> None:
    packed = []
    for part in parts:
        coverage = Coverage(5)
        if part:
            streams, numbers = (np.array(column, np.int64) for column in zip(*part, strict=True))
            coverage.add(streams, numbers)
        packed.append(coverage.packed())
    together = [message for part in parts for message in part]
    assert repeated(packed) == len(together) - len(set(together))


def test_whole_blocks_take_no_memory_and_are_still_known() -> None:
    coverage = Coverage()
    coverage.fill(0, 100_000)
    again = coverage.add(np.zeros(3, np.int64), np.array([5, 99_999, 100_000]))
    assert again.tolist() == [False, False, True]
    assert sum(map(len, coverage.packed().values())) <= 512
