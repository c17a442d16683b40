"""What a load reports: per second, process and group while it runs; per group and process at its end."""

from dataclasses import dataclass, field

from heliograph.lab.load.histogram import Histogram

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
    """What came out of a load."""

    groups: dict[str, Totals]
    cpu_seconds: tuple[float, ...]  # of each process, in the measured time
    busy: tuple[float, ...]  # of each process: the part of a core that it used in the measured time
    waited: tuple[float, ...]  # of each process: the part of that time in which it wanted a core and got none
    seconds: float  # that were measured
    bottleneck: str | None  # why the figures are the generator's own; None: they are the target's
