"""The power that processors draw by their own account (RAPL), where this process may read it."""

import os
import time
from collections.abc import Iterable
from pathlib import Path

from heliograph.lab.probes.probe import Value

POWERCAP = Path("/sys/class/powercap")


def readable_zones(folder: Path = POWERCAP) -> list[Path]:
    """Whole packages only, as their parts are counted in them."""
    zones = sorted(folder.glob("intel-rapl:[0-9]")) + sorted(folder.glob("intel-rapl:[0-9][0-9]"))
    return [zone for zone in zones if os.access(zone / "energy_uj", os.R_OK)]


class EnergyProbe:
    """Reads the packages' counters of microjoules, which start again at their end."""

    asks = False

    def __init__(self, zones: list[Path]) -> None:
        self._zones = {zone: int((zone / "max_energy_range_uj").read_text()) for zone in zones}
        self._before: dict[Path, tuple[float, int]] = {}

    def read(self) -> Iterable[Value]:
        """Watts of each package since the last look."""
        for zone, most in self._zones.items():
            now, energy = time.perf_counter(), int((zone / "energy_uj").read_text())
            if zone in self._before:
                then, before = self._before[zone]
                used = energy - before if energy >= before else energy + most - before
                yield Value("power", zone.name, "watts", used / 1e6 / (now - then))
            self._before[zone] = now, energy

    def close(self) -> None:
        """There is nothing to let go of."""
