"""The generator's own benchmark runs, and even a busy machine is far from making it slow."""

from heliograph.lab.bench.generator import receiving


def test_one_process_takes_messages_by_the_batch() -> None:
    measured = receiving(0.3)
    assert measured.value > 100_000, str(measured)
    assert measured.outcome.groups["takers"].errors == 0
