"""Counters of CPU time, memory and disk writes of a broker and of the generator, read from outside."""

import time
from dataclasses import dataclass, replace

import psutil


@dataclass(frozen=True)
class MeterReading:
    """Counters at one moment, or the differences between two moments; in seconds where nothing else is said."""

    wall: float
    broker_cpu: float
    generator_cpu: float
    machine_cpu: float  # of everything that runs on this machine
    broker_written: int = 0  # bytes that the broker caused to be written to a disk

    def since(self, earlier: "MeterReading") -> "MeterReading":
        """What has passed between `earlier` and this reading."""
        return MeterReading(
            self.wall - earlier.wall,
            self.broker_cpu - earlier.broker_cpu,
            self.generator_cpu - earlier.generator_cpu,
            self.machine_cpu - earlier.machine_cpu,
            self.broker_written - earlier.broker_written,
        )


def before_start() -> MeterReading:
    """The counters now, of a broker that has not been started yet."""
    machine = psutil.cpu_times()
    busy = machine.user + machine.system + getattr(machine, "nice", 0.0)
    return MeterReading(time.perf_counter(), 0.0, time.process_time(), busy)


class BrokerMeter:
    """Reads a broker's process tree; the generator is the process that reads."""

    def __init__(self, pid: int) -> None:
        self._broker = psutil.Process(pid)

    def read(self) -> MeterReading:
        """The counters now; user and system time, and bytes written, of the broker and of all its children."""
        used = 0.0
        for process in self._tree():
            times = process.cpu_times()
            used += times.user + times.system
        return replace(before_start(), broker_cpu=used, broker_written=self._written())

    def memory(self) -> int:
        """Resident memory of the broker, in bytes."""
        return sum(process.memory_info().rss for process in self._tree())

    def _written(self) -> int:
        """Pages that were made dirty on a disk, in bytes, where the system counts them (Linux does).

        The kernel counts write calls, too, but some brokers use those for their sockets. A page that is forced to the
        disk and then written to again counts again, as it should: the disk writes it again.
        """
        if not hasattr(self._broker, "io_counters"):
            return 0
        return sum(process.io_counters().write_bytes for process in self._tree())

    def _tree(self) -> list[psutil.Process]:
        return [self._broker, *self._broker.children(recursive=True)]
