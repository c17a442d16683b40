"""What can be done to a load while it runs, from any thread."""

import threading
from collections import deque

from heliograph.errors import Problem
from heliograph.lab.load.plan import Plan


class Control:
    """Changes the rate of a running load, or ends it early."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._commands: deque[tuple[str, float]] = deque()

    def set_rate(self, rate: float | None = None, *, factor: float | None = None) -> None:
        """From now on so many messages per second of all paced groups together, or so many times the planned rate.

        Groups keep their shares of the rate. Groups in a closed loop go on as they are.
        """
        if (rate is None) == (factor is None):
            raise Problem("a new rate is either messages per second or a factor")
        value = rate if rate is not None else factor
        assert value is not None
        if value < 0:
            raise Problem(f"a rate is not negative; {value:g} was asked for")
        with self._lock:
            self._commands.append(("factor" if rate is None else "rate", value))

    def stop(self) -> None:
        """Send nothing more, and end as after the whole time: what was measured until now counts."""
        with self._lock:
            self._commands.append(("stop", 0.0))

    def take(self, plan: Plan) -> list[float | str]:
        """What was asked for since the last call: factors of the planned rates, and "stop"."""
        with self._lock:
            commands, self._commands = list(self._commands), deque()
        planned = sum(group.rate or 0.0 for group in plan.groups if group.sends)
        made: list[float | str] = []
        for kind, value in commands:
            if kind == "stop":
                made.append("stop")
            elif kind == "factor":
                made.append(value)
            elif planned:
                made.append(value / planned)
        return made
