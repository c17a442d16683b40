"""What is missing and what came twice, from sequence numbers that wrap."""

from heliograph.lab.tally import Tally


def take(*sequences: int) -> Tally:
    tally = Tally(8)
    for sequence in sequences:
        tally.take(sequence)
    return tally


def test_in_order_round_and_round():
    tally = take(*[number % 8 for number in range(20)])
    assert (tally.received, tally.missing, tally.duplicates) == (20, set(), 0)


def test_a_gap_is_missing():
    tally = take(0, 1, 4)
    assert (tally.received, tally.missing, tally.duplicates) == (3, {2, 3}, 0)


def test_a_late_message_is_no_longer_missing():
    tally = take(0, 2, 3, 1, 4)
    assert (tally.received, tally.missing, tally.duplicates, tally.late) == (5, set(), 0, 1)


def test_the_same_again_is_a_duplicate():
    tally = take(0, 1, 1, 2, 0)
    assert (tally.received, tally.missing, tally.duplicates) == (3, set(), 2)
