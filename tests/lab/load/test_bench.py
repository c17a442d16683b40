"""The generator's own benchmark runs, and even a busy machine is far from making it slow."""

from heliograph.lab.load.bench import receiving, sending


def test_one_process_sends_and_receives_without_looking_at_single_messages() -> None:
    for measured in (sending(0.4), receiving(0.4)):
        assert measured.value > 100_000, str(measured)
        assert sum(totals.errors for totals in measured.outcome.groups.values()) == 0
