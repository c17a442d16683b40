"""`make faults`: kill the server hundreds of times under load, and check the whole history at the end.

With pipelines, Spark's processes are killed too; a round takes seconds, and the load has to be named. The folder of a
run in which a rule was broken is kept: the server's log is in it.
"""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from faults.brokers import Heliograph, Mosquitto
from faults.kill_run import Ending, KillRun, seed_from_environment
from faults.pipelines.kill_run import PipelineRun
from faults.pipelines.subjects import PIPELINES
from faults.queues.kill_run import QueueRun
from faults.rules import Violation

LOADS = {
    "topics": ("topics",),
    "queues": ("queues",),
    "both": ("topics", "queues"),
    **{name: (name,) for name in PIPELINES},
    "pipelines": tuple(PIPELINES),
}
"""What `--load` names, and the loads that it means, one after the other."""
WORST = 30
"""Broken rules that are printed; more of them say nothing new."""


class Run(Protocol):
    """A run of either kind."""

    def run(self, rounds: int, ending: Ending = ..., *, progress: Callable[[str], None] = ...) -> object: ...

    def violations(self) -> list[Violation]: ...


def main() -> int:
    parser = argparse.ArgumentParser(prog="faults", description=__doc__)
    parser.add_argument("--load", choices=LOADS, default="both", help="over MQTT, AMQP or each; or on Spark")
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--seed", type=int, default=seed_from_environment())
    parser.add_argument("--broker", choices=("heliograph", "mosquitto"), default="heliograph", help="of load on topics")
    parser.add_argument("--durability", choices=("disk", "memory"), default="disk", help="of heliograph")
    parser.add_argument("--ending", type=Ending, choices=list(Ending), default=Ending.KILL, help="of each round")
    parser.add_argument("--mosquitto-sub", action="store_true", help="with a mosquitto_sub among the subscribers")
    options = parser.parse_args()
    if options.ending is not Ending.KILL and PIPELINES.keys() & LOADS[options.load]:
        parser.error(f"--ending is for topics and queues, found it with --load {options.load}")
    return max([_try(load, options) for load in LOADS[options.load]])


def _try(load: str, options: argparse.Namespace) -> int:
    folder = Path(tempfile.mkdtemp(prefix="faults-"))
    run = _run(load, folder, options)
    print(f"{load}: seed {options.seed}, in {folder}", flush=True)
    figures = run.run(options.rounds, options.ending, progress=lambda line: print(line, flush=True))
    broken = run.violations()
    for one in broken[:WORST]:
        print(one)
    if not broken:  # else the log says what became of a message: `helio log dump`
        shutil.rmtree(folder)
    print(
        f"{load}: {figures}: {f'{len(broken)} broken rules' if broken else 'nothing lost, nothing wrong'}", flush=True
    )
    return 1 if broken else 0


def _run(load: str, folder: Path, options: argparse.Namespace) -> Run:
    if load in PIPELINES:
        return PipelineRun(folder, options.seed, PIPELINES[load])
    if load == "queues":
        return QueueRun(folder, options.seed, options.durability)
    broker = Mosquitto(folder) if options.broker == "mosquitto" else Heliograph(folder, options.durability)
    return KillRun(broker, options.seed, mosquitto_sub=options.mosquitto_sub)


if __name__ == "__main__":
    sys.exit(main())
