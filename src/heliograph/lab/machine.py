"""The machine that measures: what it is, how it is shared between broker and generator, and its limits."""

import os
import platform
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import heliograph


@dataclass(frozen=True)
class Cores:
    """Which core serves whom; None where the kernel decides."""

    broker: int | None = None
    generator: int | None = None


@contextmanager
def on_core(core: int | None) -> Iterator[None]:
    """Keep this process, and those that it starts meanwhile, to one core."""
    with on_cores_of(None if core is None else frozenset({core})):
        yield


@contextmanager
def on_cores_of(some: frozenset[int] | None) -> Iterator[None]:
    """Keep this thread, and what it starts meanwhile, to these cores."""
    if some is None:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, some)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextmanager
def on_cores(most: int) -> Iterator[None]:
    """Keep this process, and those that it starts meanwhile, to so many cores, if there are more."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(before)[:most])
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextmanager
def split_cores() -> Iterator[Cores]:
    """Keep generator and broker apart: pin this process to one core and name another one for the brokers."""
    mine = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    cores = Cores(broker=mine[0], generator=mine[1]) if len(mine) > 1 else Cores()
    with on_core(cores.generator):
        yield cores


def raise_file_limit() -> None:
    """Allow as many open sockets as the system lets us, here and in the brokers we start."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def describe(cores: Cores) -> dict[str, object]:
    """What a reader of the results must know about this machine."""
    return {
        "cpu": _cpu_model(),
        "cpus": os.cpu_count(),
        "memory_mb": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20,
        "system": platform.platform(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "heliograph": heliograph.__version__,
        "broker_core": cores.broker,
        "generator_core": cores.generator,
    }


def _cpu_model() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
