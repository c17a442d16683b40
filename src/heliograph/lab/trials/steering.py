"""Control of a load that remembers what was done to it, because that belongs to what was measured."""

import time
from typing import NamedTuple

from heliograph.lab.load import Control


class Turn(NamedTuple):
    """Something that somebody did to a running load."""

    at: float  # of `time.monotonic`
    kind: str  # rate or stop
    text: str


class Steering(Control):
    """Changes the rate of one load, or ends it early."""

    def __init__(self) -> None:
        super().__init__()
        self.turns: list[Turn] = []

    def set_rate(self, rate: float | None = None, *, factor: float | None = None) -> None:
        """From now on so many messages per second of all paced groups together, or so many times the planned rate."""
        super().set_rate(rate, factor=factor)
        text = f"{rate:g} msg/s" if rate is not None else f"{factor:g} times the planned rate"
        self.turns.append(Turn(time.monotonic(), "rate", text))

    def stop(self) -> None:
        """Send nothing more, and end as after the whole time."""
        super().stop()
        self.turns.append(Turn(time.monotonic(), "stop", "ended early"))

    @property
    def changed(self) -> bool:
        """Whether the rate is not the planned one any more."""
        return any(turn.kind == "rate" for turn in self.turns)
