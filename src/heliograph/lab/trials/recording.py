"""What a load reports while it runs: written down, kept for the verdict, and shown to whoever looks on."""

import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from heliograph.lab.load.histogram import Histogram
from heliograph.lab.load.meter import Interval
from heliograph.lab.load.plan import Plan
from heliograph.lab.probes.watch import Watch
from heliograph.lab.raw.writer import RunWriter


class Recording:
    """Of one run."""

    def __init__(self, plan: Plan, writer: RunWriter, watch: Watch, look_on: Callable[[Interval], None]) -> None:
        self._roles = {group.name: group.role for group in plan.groups}
        self._writer = writer
        self._watch = watch
        self._look_on = look_on
        self.intervals: list[Interval] = []
        """Of the measured time, without their latencies."""
        self.latencies: dict[str, Histogram] = {}
        """Of the measured time by kind, over all groups."""
        self.began: datetime | None = None
        """When the measured time began."""
        self._seconds = plan.seconds

    def interval(self, interval: Interval) -> None:
        """Another second of a group."""
        if self.began is None and interval.second >= 0:
            ago = interval.second + 1.0  # it is told when the second is over
            self.began = datetime.now(UTC) - timedelta(seconds=ago)
            self._watch.begin(time.monotonic() - ago)
        self._writer.interval(interval, self._roles[interval.group])
        if 0 <= interval.second < self._seconds:
            self.intervals.append(replace(interval, latencies={}))
            for kind, histogram in interval.latencies.items():
                known = self.latencies.get(kind)
                self.latencies[kind] = histogram if known is None else known + histogram
        self._look_on(interval)

    def total(self, column: str, groups: Iterable[str]) -> int:
        """Of the measured time, over these groups."""
        wanted = set(groups)
        return sum(getattr(one, column) for one in self.intervals if one.group in wanted)
