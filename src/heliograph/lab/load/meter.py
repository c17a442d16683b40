"""What one group does in one process, counted while it happens and handed out once a second."""

from heliograph.lab.load.histogram import Recorder
from heliograph.lab.load.interval import Interval


class Meter:
    """Counters that anybody may add to, and a recorder for each kind of latency."""

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
        """Where latencies of this kind (one of interval.KINDS) go."""
        if kind not in self.recorders:
            self.recorders[kind] = Recorder()
        return self.recorders[kind]

    def failed(self, why: str) -> None:
        """Something went wrong that has no counter of its own."""
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
