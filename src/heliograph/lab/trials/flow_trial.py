"""A trial of a message flow: one measurement from queue to queue, written to the same tables as that of a broker."""

import json
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

from heliograph.lab.errors import InvalidScenario, UnknownCase
from heliograph.lab.flows import postgresql
from heliograph.lab.flows.end_to_end import FlowProgress, Workers, case_site, how_many, steady
from heliograph.lab.flows.flow_cases import FlowCase, Storage, cases, in_groups
from heliograph.lab.flows.published_rows import PublishedRow
from heliograph.lab.load.meter import Interval
from heliograph.lab.machine import split_cores, work_folder
from heliograph.lab.probes.probe import Sample, watching
from heliograph.lab.raw.run_files import RunWriter
from heliograph.lab.raw.run_tables import new_run_id
from heliograph.lab.scenarios import FlowLoad
from heliograph.lab.trials.broker_trial import machine_instruments
from heliograph.lab.trials.conditions import CoreSplit, machine_now
from heliograph.lab.trials.trial import Experiment, Trial, TrialResult
from heliograph.lab.trials.verdict import Verdict

GROUP = "flow"
_STORAGE = {"": None, "sqlite": Storage.SQLITE, "postgresql": Storage.POSTGRESQL}
_TASTE = 100
"""Messages that go first, to see how long one takes."""


class FlowBench:
    """Runs trials of flows, in processes that are started once for all of them."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        folder = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="helio-lab-", dir=work_folder()))
        self.cores = self._stack.enter_context(split_cores())
        self.workers = Workers(Path(folder), self.cores)

    def close(self) -> None:
        """End the processes."""
        self.workers.close()
        self._stack.close()

    def progress(self, case: FlowCase, row: PublishedRow, seconds: float) -> Sequence[FlowProgress]:
        """The progress at each reading, from where it was steady."""
        try:
            with case_site(case, self.workers, self.cores) as site:
                taste = site.measure(row, _TASTE)  # tells how many messages take that long
                return steady(site.progress(row, how_many(case, row, 1e6 / taste.rate, seconds)))
        except BaseException:
            self.workers.close()  # whatever they do now; the next flow gets new ones
            raise


def run_flow_trial(trial: Trial, experiment: Experiment, bench: FlowBench) -> TrialResult:
    """Run it; a `Problem` if that was not possible, or if a message was lost, duplicated or wrong."""
    load = trial.scenario.flow(trial.variant, trial.overrides)
    case = flow_case(load, os.cpu_count() or 1)
    seconds = _seconds(trial)
    run = new_run_id(trial.scenario.name, trial.kind.name)
    machine = machine_now(CoreSplit())
    row = PublishedRow(load.section, trial.scenario.name, load.persistent, load.size, 0, 0, 0)
    with RunWriter(experiment.directory, run) as writer, watching(machine_instruments()) as watch:
        progress = bench.progress(case, row, seconds)
        ago = time.perf_counter() - progress[0].at
        watch.begin(time.monotonic() - ago)
        count, took = progress[-1].count - progress[0].count, progress[-1].at - progress[0].at
        for interval in _intervals(progress, load.size):
            writer.interval(interval, GROUP)
            experiment.on_interval(interval)
        writer.samples([*watch.samples, *_samples(progress)])
        verdict = Verdict(passed=True)
        writer.finish(
            experiment.manifest(
                trial,
                run,
                verdict,
                started=datetime.now(UTC) - timedelta(seconds=ago),
                seconds=took,
                plan=json.dumps(asdict(load)),
                setup={"flow": dict(case.files), "messages": progress[-1].count},
                machine=machine,
                connections=1,
            )
        )
    cpu = (progress[-1].cpu - progress[0].cpu) / took
    return TrialResult(trial, run, verdict, took, sent=count, received=count, lost=0, cpu_cores=cpu)


def _seconds(trial: Trial) -> float:
    given = trial.overrides.get("seconds")
    return float(given) if given is not None else trial.scenario.measure.at_scale(trial.scale).seconds


def flow_case(load: FlowLoad, processors: int) -> FlowCase:
    """The case of `lab.flows` that measures this flow.

    One that is to fill the machine runs in as many execution groups as there are processors.
    """
    if load.storage not in _STORAGE:
        raise InvalidScenario(f"storage is sqlite or postgresql, not {load.storage!r}")
    storage = _STORAGE[load.storage]
    for case in cases():
        if case.section == load.section and (storage is None or case.storage is storage):
            return in_groups(case, processors) if load.fill else case
    raise UnknownCase(f"no message flow has section {load.section}" + (f" and {load.storage}" if load.storage else ""))


def missing_database(load: FlowLoad) -> str:
    """Why the flow cannot be run here: it needs a database that is not installed; empty if it can."""
    needs_one = flow_case(load, 1).storage is Storage.POSTGRESQL
    return postgresql.MISSING if needs_one and not postgresql.is_installed() else ""


def _intervals(progress: Sequence[FlowProgress], size: int) -> Iterator[Interval]:
    """What came out in each second, as if messages had come out evenly between two readings."""
    first, last = progress[0], progress[-1]
    done, second = 0, 0
    while done < last.count - first.count:
        until = _count_at(progress, first.at + second + 1) - first.count
        count, done = until - done, until
        yield Interval(
            second,
            0,
            GROUP,
            sent=count,
            received=count,
            bytes_sent=count * size,
            bytes_received=count * size,
            connected=1,
        )
        second += 1


def _count_at(progress: Sequence[FlowProgress], moment: float) -> int:
    for before, after in pairwise(progress):
        if before.at <= moment < after.at:
            return before.count + round((after.count - before.count) * (moment - before.at) / (after.at - before.at))
    return progress[-1].count


def _samples(progress: Sequence[FlowProgress]) -> Iterator[Sample]:
    """CPU time of the flow, and of the server and whatever else belongs to the case."""
    for look in progress:
        at = look.at - progress[0].at
        yield Sample(at, "server", "flow", "cpu_seconds", look.flow_cpu)
        yield Sample(at, "server", "server", "cpu_seconds", look.cpu - look.flow_cpu)
