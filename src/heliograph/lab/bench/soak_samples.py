"""Samples of a server's memory and data folder over a long time, and whether these have stopped growing."""

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Self

MB = 1e6
GROWTH = 1.1  # what the last third of a run may have, compared with the second
MEMORY_SLACK = 5 * MB  # and a little, because a small server's noise is more than a tenth
# The log is cut into files of 64 MB, and gives space back file by file.
DATA_SLACK = 64 * MB


@dataclass(frozen=True)
class Sample:
    """The server at one moment."""

    seconds: float  # since the start
    resident: int  # bytes of memory
    data: int  # bytes that its data folder occupies
    sent: int
    received: int


class Record:
    """All samples of a run; each is written to a CSV file at once, so that a run that is broken off leaves its own."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.samples: list[Sample] = []
        self._file = path.open("w", newline="")
        self._rows = csv.writer(self._file)
        self._rows.writerow(["seconds", "resident_mb", "data_mb", "sent", "received"])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._file.close()

    def add(self, sample: Sample) -> None:
        """Keep this sample."""
        self.samples.append(sample)
        resident, data = f"{sample.resident / MB:.1f}", f"{sample.data / MB:.1f}"
        self._rows.writerow([f"{sample.seconds:.1f}", resident, data, sample.sent, sample.received])
        self._file.flush()


def growths(samples: Sequence[Sample]) -> list[str]:
    """What grew more than allowed; empty when nothing did."""
    looks: tuple[tuple[str, Callable[[Sample], int], float], ...] = (
        ("resident memory", lambda sample: sample.resident, MEMORY_SLACK),
        ("the data folder", lambda sample: sample.data, DATA_SLACK),
    )
    found = []
    for name, look, slack in looks:
        middle, last = middle_and_last([look(sample) for sample in samples])
        if last > middle * GROWTH + slack:
            found.append(f"{name} grew from {middle / MB:.0f} MB to {last / MB:.0f} MB (second and last third)")
    return found


def middle_and_last(values: Sequence[int]) -> tuple[float, float]:
    """Medians of the second and of the last third; the first one is for warming up."""
    third = len(values) // 3
    if not third:
        raise ValueError(f"three samples are needed at least, there are {len(values)}")
    return median(values[third : 2 * third]), median(values[2 * third :])
