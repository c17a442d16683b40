"""What a broker and the generator cost: CPU time and memory, read from outside."""

import time
from dataclasses import dataclass

from heliograph.errors import Problem

try:
    import psutil
except ImportError:  # pragma: no cover
    raise Problem("helio bench needs psutil; install heliograph with its 'lab' extra") from None


@dataclass(frozen=True)
class Reading:
    """Clocks at one moment, or the differences between two moments; all in seconds."""

    wall: float
    broker_cpu: float
    generator_cpu: float
    machine_cpu: float  # of everything that runs on this machine

    def since(self, earlier: "Reading") -> "Reading":
        """What has passed between `earlier` and this reading."""
        return Reading(
            self.wall - earlier.wall,
            self.broker_cpu - earlier.broker_cpu,
            self.generator_cpu - earlier.generator_cpu,
            self.machine_cpu - earlier.machine_cpu,
        )


class Meter:
    """Reads a broker's process tree; the generator is the process that reads."""

    def __init__(self, pid: int) -> None:
        self._broker = psutil.Process(pid)

    def read(self) -> Reading:
        """The clocks now; user and system time of the broker and of all its children."""
        used = 0.0
        for process in self._tree():
            times = process.cpu_times()
            used += times.user + times.system
        machine = psutil.cpu_times()
        busy = machine.user + machine.system + getattr(machine, "nice", 0.0)
        return Reading(time.perf_counter(), used, time.process_time(), busy)

    def memory(self) -> int:
        """Resident memory of the broker, in bytes."""
        return sum(process.memory_info().rss for process in self._tree())

    def _tree(self) -> list[psutil.Process]:
        return [self._broker, *self._broker.children(recursive=True)]
