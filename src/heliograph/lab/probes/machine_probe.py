"""Probes of the whole machine: cores, memory, disks, network, context switches, and power (RAPL) where readable."""

import os
import re
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import psutil

from heliograph.lab.probes.probe import Value

POWERCAP = Path("/sys/class/powercap")

_PARTITION = re.compile(r"(?:[shv]d[a-z]+\d+|nvme\d+n\d+p\d+|mmcblk\d+p\d+|loop\d+|ram\d+|zram\d+)")
_IDLE = ("idle", "iowait", "steal")
_COUNTED_TWICE = ("guest", "guest_nice")
"""By Linux, in `user` and `nice`."""


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
        """Nothing to close."""


class MachineProbe:
    """Samples the whole machine, with all its processes."""

    asks = False

    def __init__(self) -> None:
        self._cores: list[tuple[float, float]] = []
        self._disks: dict[str, float] = {}
        self._looked = self._passed = 0.0

    def read(self) -> Iterable[Value]:
        """Cores and disks are busy in per cent of the time since the last look; bytes and switches are counters."""
        now = time.monotonic()
        self._passed, self._looked = now - self._looked, now
        yield from self._core_use()
        memory = psutil.virtual_memory()
        yield Value("machine", "memory", "available_bytes", memory.available)
        yield Value("machine", "memory", "used_bytes", memory.total - memory.available)
        yield Value("machine", "cpu", "context_switches", psutil.cpu_stats().ctx_switches)
        for name, disk in (psutil.disk_io_counters(perdisk=True) or {}).items():
            if not _PARTITION.fullmatch(name) and disk.read_bytes + disk.write_bytes:
                yield Value("disk", name, "read_bytes", disk.read_bytes)
                yield Value("disk", name, "written_bytes", disk.write_bytes)
                yield from self._disk_use(name, getattr(disk, "busy_time", 0))
        for name, card in psutil.net_io_counters(pernic=True).items():
            yield Value("network", name, "received_bytes", card.bytes_recv)
            yield Value("network", name, "sent_bytes", card.bytes_sent)
            yield Value("network", name, "received_packets", card.packets_recv)
            yield Value("network", name, "sent_packets", card.packets_sent)

    def _core_use(self) -> Iterator[Value]:
        cores = []
        for core in psutil.cpu_times(percpu=True):
            everything = sum(core) - sum(getattr(core, name, 0.0) for name in _COUNTED_TWICE)
            cores.append((everything, everything - sum(getattr(core, name, 0.0) for name in _IDLE)))
        differences = [
            (all_now - all_then, busy_now - busy_then)
            for (all_now, busy_now), (all_then, busy_then) in zip(cores, self._cores, strict=False)
        ]
        self._cores = cores
        for number, (everything, busy) in enumerate(differences):
            if everything > 0:
                yield Value("core", str(number), "busy_percent", _percent(busy, everything))
        if (total := sum(everything for everything, _ in differences)) > 0:
            yield Value("machine", "cpu", "busy_percent", _percent(sum(busy for _, busy in differences), total))
        yield Value("machine", "cpu", "cpu_seconds", sum(busy for _, busy in cores))

    def _disk_use(self, name: str, busy: float) -> Iterator[Value]:
        """Linux counts the milliseconds in which a disk had something to do."""
        if name in self._disks:
            yield Value("disk", name, "busy_percent", min(100.0, (busy - self._disks[name]) / 10 / self._passed))
        self._disks[name] = busy

    def close(self) -> None:
        """Nothing to close."""


def _percent(busy: float, everything: float) -> float:
    """Bounded, because Linux may correct its idle time, and the share would be above 100 or below 0."""
    return min(100.0, max(0.0, 100 * busy / everything))
