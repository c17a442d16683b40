"""What the system under test says of itself."""

from collections.abc import Iterable

from heliograph.lab.probes.probe import Value
from heliograph.lab.targets.statistics import Statistics


class StatisticsProbe:
    """Asks the server."""

    asks = True

    def __init__(self, statistics: Statistics) -> None:
        self._statistics = statistics

    def read(self) -> Iterable[Value]:
        """Its figures now."""
        return [Value(*figure) for figure in self._statistics.read()]

    def close(self) -> None:
        """Let the server go."""
        self._statistics.close()
