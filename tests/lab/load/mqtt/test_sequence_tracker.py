"""Missing and duplicate messages, found from sequence numbers that wrap."""

from heliograph.lab.load.mqtt.packet_cycle import SequenceTracker


def take(*sequences: int) -> SequenceTracker:
    tracker = SequenceTracker(8)
    for sequence in sequences:
        tracker.take(sequence)
    return tracker


def test_in_order_round_and_round():
    tracker = take(*[number % 8 for number in range(20)])
    assert (tracker.received, tracker.missing, tracker.duplicates) == (20, set(), 0)


def test_a_gap_is_missing():
    tracker = take(0, 1, 4)
    assert (tracker.received, tracker.missing, tracker.duplicates) == (3, {2, 3}, 0)


def test_a_late_message_is_no_longer_missing():
    tracker = take(0, 2, 3, 1, 4)
    assert (tracker.received, tracker.missing, tracker.duplicates, tracker.late) == (5, set(), 0, 1)


def test_the_same_again_is_a_duplicate():
    tracker = take(0, 1, 1, 2, 0)
    assert (tracker.received, tracker.missing, tracker.duplicates) == (3, set(), 2)
