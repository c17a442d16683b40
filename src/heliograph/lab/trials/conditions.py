"""The conditions of a run: requirements of the system, division of cores, the machine and its load beforehand."""

import os
import platform
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import heliograph
from heliograph.lab.load.plan import Plan
from heliograph.lab.machine import Cores, describe
from heliograph.lab.scenarios import ScenarioSetup
from heliograph.lab.targets.requirements import Binding, Layout, Requirements, is_durable, listener_types_of


def requirements_of(plan: Plan, setup: ScenarioSetup) -> Requirements:
    """What a load with this set-up wants of a system."""
    queues = tuple(queue.name for queue in setup.queues)
    bindings = tuple(Binding(topic, queue.name) for queue in setup.queues for topic in queue.topics)
    return Requirements(
        listener_types_of(plan),
        is_durable(plan),
        Layout(setup.managers, queues, bindings),
        setup.max_messages,
        setup.max_message_size,
        setup.cpus,
    )


@dataclass(frozen=True)
class CoreSplit:
    """Cores of the system and of the generator; None where the kernel decides."""

    system: frozenset[int] | None = None
    generator: frozenset[int] | None = None

    @property
    def available(self) -> int:
        """How many cores the system may use."""
        return len(self.system) if self.system else len(_mine()) or os.cpu_count() or 1


def split_cores_for(processes: int) -> CoreSplit:
    """A core for each process of the generator and the rest for the system; no split where nothing would be left."""
    mine = _mine()
    if len(mine) <= processes:
        return CoreSplit()
    return CoreSplit(frozenset(mine[:-processes]), frozenset(mine[-processes:]))


def _mine() -> list[int]:
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


def machine_now(split: CoreSplit) -> dict[str, Any]:
    """The machine and how busy it was before the run."""
    about = describe(Cores())
    del about["broker_core"], about["generator_core"]
    return about | {
        "kernel": platform.release(),
        "load_before": os.getloadavg()[0],
        "system_cores": sorted(split.system or ()),
        "generator_cores": sorted(split.generator or ()),
    }


@cache
def versions() -> Mapping[str, str]:
    """Of what measures."""
    return {"python": platform.python_version(), "heliograph": heliograph.__version__, "commit": _commit()}


def _commit() -> str:
    """Of the checkout that this code is in, if it is in one."""
    try:
        found = subprocess.run(
            ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"],
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return ""
    return found.stdout.strip()
