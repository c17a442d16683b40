"""How to repeat what was measured: the commands, word by word."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from heliograph.lab.report.cases import Case
from heliograph.lab.report.document import Section
from heliograph.lab.report.figures import plain
from heliograph.lab.report.results import Results, Run


def repeating(results: Results, cases: Sequence[Case]) -> Section:
    """One command for each experiment that the report shows, and the one that writes the report."""
    shown = dict.fromkeys(case.run.experiment for case in cases)
    lines = [command([run for run in results.runs if run.experiment == one], results.directory) for one in shown]
    commits = sorted({str(run.versions["commit"]) for run in results.runs if run.versions.get("commit")})
    where = f" The runs were made with commit {', '.join(commits)}." if commits else ""
    return Section(
        "repeat",
        "How to repeat it",
        paragraphs=(f"These commands make the same runs again, in the order in which they were made.{where}",),
        commands=(*dict.fromkeys(lines), shlex.join(["helio", "lab", "report", str(results.directory)])),
    )


def command(runs: Sequence[Run], directory: Path) -> str:
    """The command that makes the runs of an experiment again."""
    first = runs[0]
    searched = any(run.purpose != "measure" for run in runs)
    words = ["helio", "lab", "search" if searched else "run", *dict.fromkeys(run.scenario for run in runs)]
    words += ["--scale", f"{first.scale:g}"]
    variants = dict.fromkeys(run.variant for run in runs if run.variant)
    if len(variants) == 1:
        words += ["--variant", *variants]
    for target in dict.fromkeys(run.target for run in runs):
        words += ["--target", target]
    rounds = len({run.round for run in runs})
    if rounds > 1 and not searched:
        words += ["--repeats", str(rounds)]
    if len({run.seconds for run in runs}) == 1:
        words += ["--seconds", plain(first.seconds)]
    return shlex.join([*words, "--out", str(directory)])
