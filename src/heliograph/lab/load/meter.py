"""What a load reports: counters and latencies of one group in one process each second, and totals at the end."""

from dataclasses import dataclass, field

from heliograph.lab.load.histogram import Histogram, Recorder

KINDS = ("message", "service", "acknowledge", "round_trip", "connect", "subscribe", "commit", "lateness")


@dataclass(frozen=True)
class Interval:
    """One second of one group in one process; second 0 is the first measured one, warm-up is negative.

    `lost` counts gaps when they are seen; what comes after all is then counted as reordered. Only totals are exact.
    """

    second: int
    process: int
    group: str
    sent: int = 0
    received: int = 0
    acknowledged: int = 0
    bytes_sent: int = 0
    bytes_received: int = 0
    lost: int = 0
    duplicates: int = 0
    reordered: int = 0
    errors: int = 0
    connected: int = 0  # clients that are connected at the end of the second
    latencies: dict[str, Histogram] = field(default_factory=dict)  # by kind


@dataclass(frozen=True)
class Totals:
    """A group in the whole run, warm-up and drain included; after the drain these are exact."""

    sent: int = 0
    received: int = 0  # deliveries, duplicates included
    expected: int = 0  # deliveries that should have been made
    lost: int = 0
    duplicates: int = 0
    reordered: int = 0
    acknowledged: int = 0
    unsent: int = 0  # messages that were due and that broker or generator could not take in time
    errors: int = 0
    first_error: str = ""
    connect_seconds: float | None = None  # until all clients were connected and ready; None if they never were at once
    latencies: dict[str, Histogram] = field(default_factory=dict)  # of the measured seconds


@dataclass(frozen=True)
class LoadOutcome:
    """The outcome of a load."""

    groups: dict[str, Totals]
    cpu_seconds: tuple[float, ...]  # of each process, in the measured time
    busy: tuple[float, ...]  # of each process: the part of a core that it used in the measured time
    waited: tuple[float, ...]  # of each process: the part of that time in which it wanted a core and got none
    seconds: float  # that were measured
    bottleneck: str | None  # why the figures are the generator's own; None: they are the target's


class GroupMeter:
    """Counters of a group, which clients increment directly, and a recorder for each kind of latency."""

    __slots__ = (
        "acknowledged",
        "bytes_received",
        "bytes_sent",
        "connected",
        "duplicates",
        "errors",
        "first_error",
        "group",
        "lost",
        "process",
        "received",
        "recorders",
        "reordered",
        "sent",
    )

    def __init__(self, process: int, group: str) -> None:
        self.process = process
        self.group = group
        self.connected = 0
        self.first_error = ""
        self.recorders: dict[str, Recorder] = {}
        self._reset()

    def _reset(self) -> None:
        self.sent = self.received = self.acknowledged = self.bytes_sent = self.bytes_received = 0
        self.lost = self.duplicates = self.reordered = self.errors = 0

    def recorder(self, kind: str) -> Recorder:
        """The recorder for latencies of this kind."""
        if kind not in self.recorders:
            self.recorders[kind] = Recorder()
        return self.recorders[kind]

    def failed(self, why: str) -> None:
        """Count an error that has no counter of its own; the first one is kept as text."""
        self.errors += 1
        self.first_error = self.first_error or why

    def take(self, second: int) -> Interval:
        """What was counted since the last call, as this second's."""
        taken = ((kind, recorder.take()) for kind, recorder in self.recorders.items())
        interval = Interval(
            second,
            self.process,
            self.group,
            self.sent,
            self.received,
            self.acknowledged,
            self.bytes_sent,
            self.bytes_received,
            self.lost,
            self.duplicates,
            self.reordered,
            self.errors,
            self.connected,
            {kind: histogram for kind, histogram in taken if histogram is not None},
        )
        self._reset()
        return interval
