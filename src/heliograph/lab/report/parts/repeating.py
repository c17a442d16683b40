"""The commands that repeat what was measured."""

import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from heliograph.errors import Problem
from heliograph.lab.report.document import Section
from heliograph.lab.report.report_cases import ReportCase
from heliograph.lab.report.results import RecordedRun, Results
from heliograph.lab.scenarios import Scenario, all_scenarios, load_scenario


def repeating(results: Results, cases: Sequence[ReportCase]) -> Section:
    """The commands of the experiments that the report shows, and the one that writes the report."""
    shown = {case.run.experiment for case in cases}
    experiments: dict[str, list[RecordedRun]] = {}
    for run in results.runs:
        if run.experiment in shown:
            experiments.setdefault(run.experiment, []).append(run)
    lines = dict.fromkeys(command(runs, results.directory) for runs in experiments.values())
    commits = sorted({str(run.versions["commit"]) for run in results.runs if run.versions.get("commit")})
    where = f" The runs were made with commit {', '.join(commits)}." if commits else ""
    return Section(
        "repeat",
        "How to repeat it",
        paragraphs=(f"These commands repeat the runs in their original order.{where}",),
        commands=(*lines, shlex.join(["helio", "lab", "report", str(results.directory)])),
    )


def command(runs: Sequence[RecordedRun], directory: Path) -> str:
    """The command that makes the runs of an experiment again."""
    first = runs[0]
    searched = any(run.purpose != "measure" for run in runs)
    words = ["helio", "lab", "search" if searched else "run", *_names(runs)]
    words += ["--scale", f"{first.scale:g}"]
    for target in dict.fromkeys(run.target for run in runs):
        words += ["--target", target]
    words += _variant(runs)
    for name, value in _set(first, searched=searched).items():
        words += ["--set", f"{name}={value}"]
    words += _seconds(runs)
    rounds = len({run.round for run in runs})
    words += ["--repeats", str(rounds)] if rounds > 1 else []
    words += ["--rack-units", f"{first.rack_units:g}"] if first.rack_units else []
    return shlex.join([*words, "--out", str(directory)])


def _names(runs: Sequence[RecordedRun]) -> list[str]:
    """The scenarios, or `--all` if only scenarios with other requirements are missing."""
    names = list(dict.fromkeys(run.scenario for run in runs))
    known = {scenario.name: scenario for scenario in all_scenarios()}
    needs = {need for name in names if name in known for need in known[name].needs}
    missing = [scenario for scenario in known.values() if scenario.name not in names]
    return ["--all"] if all(set(scenario.needs) - needs for scenario in missing) else names


def _variant(runs: Sequence[RecordedRun]) -> list[str]:
    """The variant, if it is not the usual one of its scenario."""
    other = {run.variant for run in runs for one in _known(run) if run.variant and run.variant != one.default}
    return ["--variant", *other] if len(other) == 1 else []


def _set(run: RecordedRun, *, searched: bool) -> dict[str, Any]:
    """The parameters that were set by hand: those that differ from what the scenario derives from the others."""
    found: dict[str, Any] = {}
    for scenario in _known(run):
        for name, value in run.parameters.items():
            if name not in scenario.parameters or (searched and name == scenario.search_parameter):
                continue
            if scenario.values(run.scale, run.variant, found)[name] != value:
                found[name] = value
    return found


def _seconds(runs: Sequence[RecordedRun]) -> list[str]:
    """The measured time, if it is not the scenario's own at this scale."""
    final = [run for run in runs if run.purpose in {"measure", "confirm"}]
    asked = {float(run.plan["seconds"]) for run in final if "seconds" in run.plan}
    usual = {one.measure.at_scale(run.scale).seconds for run in final for one in _known(run)}
    return ["--seconds", f"{asked.pop():g}"] if len(asked) == 1 and asked != usual else []


def _known(run: RecordedRun) -> Iterable[Scenario]:
    """The scenario, if this version has it with this variant."""
    try:
        scenario = load_scenario(run.scenario)
        scenario.variant(run.variant)
    except Problem:
        return []
    return [scenario]
