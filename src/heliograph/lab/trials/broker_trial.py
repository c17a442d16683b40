"""A trial of a broker: start it, put the load on it, sample it, judge it, and write what was measured."""

import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta

from heliograph.lab.load import run_load
from heliograph.lab.load.histogram import Histogram
from heliograph.lab.load.meter import Interval, LoadOutcome
from heliograph.lab.load.plan import Plan
from heliograph.lab.machine import on_cores_of
from heliograph.lab.probes.machine_probe import EnergyProbe, MachineProbe, readable_zones
from heliograph.lab.probes.probe import Probe, Sample, Value, Watch, watching
from heliograph.lab.probes.process_probe import ProcessProbe, descendants
from heliograph.lab.raw.run_files import RunWriter
from heliograph.lab.raw.run_tables import new_run_id
from heliograph.lab.scenarios import Scenario
from heliograph.lab.targets.system_under_test import RunningSystem, SystemKind
from heliograph.lab.targets.target import Statistics
from heliograph.lab.trials.conditions import machine_now, requirements_of, split_cores_for
from heliograph.lab.trials.trial import Experiment, Trial, TrialResult
from heliograph.lab.trials.verdict import judge, observations_of


class StatisticsProbe:
    """Reads the statistics of the system under test."""

    asks = True

    def __init__(self, statistics: Statistics) -> None:
        self._statistics = statistics

    def read(self) -> Iterable[Value]:
        """Its figures now."""
        return [Value(*figure) for figure in self._statistics.read()]

    def close(self) -> None:
        """Close the connection to the server."""
        self._statistics.close()


def instruments(system: RunningSystem) -> list[Probe]:
    """The probes that are available on this machine."""
    probes = machine_instruments()
    if sys.platform == "linux":
        probes.append(ProcessProbe("generator", lambda: _generator(system)))
        if system.pids():
            probes.append(ProcessProbe("server", system.pids))
    if system.statistics is not None:
        probes.append(StatisticsProbe(system.statistics))
    return probes


def machine_instruments() -> list[Probe]:
    """Probes of the machine and of the power that it draws."""
    zones = readable_zones()
    return [MachineProbe(), *([EnergyProbe(zones)] if zones else [])]


def _generator(system: RunningSystem) -> list[int]:
    """This process and its workers, without the processes that it has started to measure them."""
    measured = set(system.pids())
    return [pid for pid in (os.getpid(), *descendants(os.getpid())) if pid not in measured]


class Recording:
    """Of one run."""

    def __init__(self, plan: Plan, writer: RunWriter, watch: Watch, on_interval: Callable[[Interval], None]) -> None:
        self._roles = {group.name: group.role for group in plan.groups}
        self._writer = writer
        self._watch = watch
        self._look_on = on_interval
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
            ago = interval.second + 1.0  # an interval is reported when its second is over
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


def run_broker_trial(trial: Trial, experiment: Experiment) -> TrialResult:
    """Run it; a `Problem` if that was not possible."""
    plan = with_supported_protocol(trial.scenario.plan(trial.scale, trial.variant, trial.overrides), trial.kind)
    setup = trial.scenario.setup(trial.scale, trial.variant, trial.overrides)
    split = split_cores_for(plan.processes)
    machine = machine_now(split)
    run = new_run_id(trial.scenario.name, trial.kind.name)
    with (
        trial.kind.running(requirements_of(plan, setup), split.system) as system,
        RunWriter(experiment.directory, run) as writer,
    ):
        started = datetime.now(UTC)
        with watching(instruments(system)) as watch:
            recording = Recording(plan, writer, watch, experiment.on_interval)
            control = experiment.make_control()
            with on_cores_of(split.generator):
                outcome = run_load(
                    with_credentials(plan, system), system.addresses, on_interval=recording.interval, control=control
                )
        samples = [*watch.samples, *_waiting(outcome), *_known_at_the_end(outcome, trial.scenario)]
        facts = observations_of(plan, recording.intervals, outcome, samples, len(system.cores or ()) or split.available)
        rule = trial.scenario.passing
        verdict = judge(replace(rule, held=rule.held and not control.changed), facts, outcome.bottleneck)
        writer.samples(samples)
        for turn in control.turns:
            writer.event(watch.since(turn.at), "operator", turn.kind, turn.text)
        if outcome.bottleneck:
            writer.event(outcome.seconds, "generator", "bottleneck", outcome.bottleneck)
        for name, totals in outcome.groups.items():
            if totals.first_error:
                writer.event(outcome.seconds, name, "error", totals.first_error)
        writer.finish(
            experiment.manifest(
                trial,
                run,
                verdict,
                started=recording.began or started,
                seconds=outcome.seconds,
                plan=plan.to_json(),
                setup={"wanted": asdict(setup), "configuration": dict(system.configuration)},
                machine=machine,
                connections=sum(group.clients for group in plan.groups),
                note="the rate was changed during the run" if control.changed else "",
            )
        )
    return TrialResult(
        trial,
        run,
        verdict,
        outcome.seconds,
        sent=recording.total("sent", [group.name for group in plan.groups if group.sends]),
        received=recording.total("received", [group.name for group in plan.groups if group.role != "respond"]),
        lost=facts.lost,
        latencies=recording.latencies,
        cpu_cores=cores_used(samples, outcome.seconds),
    )


def _waiting(outcome: LoadOutcome) -> list[Sample]:
    """How long the generator's processes waited for a core: shows how much a busy machine distorts the figures."""
    return [
        Sample(outcome.seconds, "generator", f"process {number}", "waited_percent", 100 * share)
        for number, share in enumerate(outcome.waited)
    ]


def _known_at_the_end(outcome: LoadOutcome, scenario: Scenario) -> list[Sample]:
    """Of each group, what no second's counters have: deliveries that never came, and, where that is the score, the time
    until all were connected.
    """
    found = []
    for name, totals in outcome.groups.items():
        found.append(Sample(outcome.seconds, "load", name, "lost", float(totals.lost)))
        if scenario.score.value == "connect_seconds" and totals.connect_seconds is not None:
            found.append(Sample(outcome.seconds, "load", name, "connect_seconds", totals.connect_seconds))
    return found


def with_supported_protocol(plan: Plan, kind: SystemKind) -> Plan:
    """The plan in a version of MQTT that the system has: 3.1 and 3.1.1 do not differ under load."""
    if "mqtt31" in kind.capabilities:
        return plan
    groups = [replace(group, protocol="mqtt311") if group.protocol == "mqtt31" else group for group in plan.groups]
    return replace(plan, groups=tuple(groups))


def with_credentials(plan: Plan, system: RunningSystem) -> Plan:
    """The plan with the name and password that the system wants of clients that have none of their own."""
    if not system.user:
        return plan
    return replace(
        plan,
        groups=tuple(
            group if group.user else replace(group, user=system.user, password=system.password) for group in plan.groups
        ),
    )


def cores_used(samples: Sequence[Sample], seconds: float) -> float | None:
    """What the system used in the measured time, of all its processes together."""
    used = 0.0
    names = {one.name for one in samples if one.source == "server" and one.metric == "cpu_seconds"}
    for name in names:
        mine = [one for one in samples if one.name == name and one.source == "server" and one.metric == "cpu_seconds"]
        inside = [one for one in mine if -0.5 <= one.at <= seconds + 0.5]
        if len(inside) > 1:
            used += (inside[-1].value - inside[0].value) / (inside[-1].at - inside[0].at)
    return used if names else None
