"""The probes for a run."""

import os
import sys
from collections.abc import Iterable

from heliograph.lab.probes.energy import EnergyProbe, readable_zones
from heliograph.lab.probes.machine_use import MachineProbe
from heliograph.lab.probes.probe import Probe, Value
from heliograph.lab.probes.process_tree import descendants
from heliograph.lab.probes.processes import ProcessProbe
from heliograph.lab.targets.statistics import Statistics
from heliograph.lab.targets.system import System


class StatisticsProbe:
    """Asks the system under test what it says of itself."""

    asks = True

    def __init__(self, statistics: Statistics) -> None:
        self._statistics = statistics

    def read(self) -> Iterable[Value]:
        """Its figures now."""
        return [Value(*figure) for figure in self._statistics.read()]

    def close(self) -> None:
        """Let the server go."""
        self._statistics.close()


def instruments(system: System) -> list[Probe]:
    """Whatever can be watched here."""
    probes = machine_instruments()
    if sys.platform == "linux":
        probes.append(ProcessProbe("generator", lambda: _generator(system)))
        if system.pids():
            probes.append(ProcessProbe("server", system.pids))
    if system.statistics is not None:
        probes.append(StatisticsProbe(system.statistics))
    return probes


def machine_instruments() -> list[Probe]:
    """What shows the machine and the power that it draws."""
    zones = readable_zones()
    return [MachineProbe(), *([EnergyProbe(zones)] if zones else [])]


def _generator(system: System) -> list[int]:
    """This process and its workers, without what it has started to be measured."""
    measured = set(system.pids())
    return [pid for pid in (os.getpid(), *descendants(os.getpid())) if pid not in measured]
