"""What was measured with what: systems under test, machines, generators, and the documents of published figures."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from heliograph.lab.report.cases import Case
from heliograph.lab.report.document import Section
from heliograph.lab.report.figures import octets
from heliograph.lab.report.results import Results, Run
from heliograph.lab.report.table import Column, Row, Table

_FACTS = (Column("fact", "Fact"), Column("value", "Value"))
_NAMES = {"cpu": "CPU", "cpus": "cores", "memory_mb": "memory", "memory_bytes": "memory"}
_DOCUMENTS = (Column("document", "Document"), Column("title", "Title"))


def systems(results: Results, cases: Sequence[Case]) -> Section:
    """The systems under test and the machines of their clients."""
    runs = [case.run for case in cases]
    return Section(
        "systems",
        "Systems under test and clients",
        tables=(
            Table(
                "systems",
                "Systems under test",
                _FACTS,
                _unique(map(_target, runs)),
                "No run names its target.",
                "system",
            ),
            Table(
                "machines", "Machines", _FACTS, _unique(map(_machine, runs)), "No run describes its machine.", "system"
            ),
            Table(
                "clients",
                "Load generators",
                _FACTS,
                _unique(map(_client, runs)),
                "No run describes its load.",
                "system",
            ),
            Table("documents", "Published figures", _DOCUMENTS, _documents(results, runs), "No run names a document."),
        ),
    )


def _documents(results: Results, runs: Sequence[Run]) -> tuple[Row, ...]:
    names = dict.fromkeys(run.document for run in runs if run.document)
    return tuple({"document": name, "title": results.known.document(name)} for name in names)


def _target(run: Run) -> list[Row]:
    facts = {"version": run.target_version, "rack units": run.rack_units}
    return _facts(run.target, {key: value for key, value in facts.items() if value})


def _machine(run: Run) -> list[Row]:
    """The machine without its load before the run: that differs each time and is told among the limitations."""
    told = {key: value for key, value in run.machine.items() if not key.startswith("load")}
    return _facts(str(run.machine.get("host") or run.machine.get("name") or "machine"), told)


def _client(run: Run) -> list[Row]:
    return _facts("generator", {**run.versions, "processes": run.plan.get("processes")})


def _facts(system: str, facts: Mapping[str, Any]) -> list[Row]:
    return [
        {"system": system, "fact": _NAMES.get(key, key.replace("_", " ")), "value": _value(key, value)}
        for key, value in facts.items()
        if value not in (None, "", {}, [])
    ]


def _unique(lists: Iterable[list[Row]]) -> tuple[Row, ...]:
    """Every fact once; a system that was different in some runs has a line for each value."""
    found: dict[tuple[str, ...], Row] = {}
    for rows in lists:
        for row in rows:
            found.setdefault(tuple(row.values()), row)
    return tuple(sorted(found.values(), key=lambda row: str(row["system"])))


def _value(key: str, value: Any) -> str:
    if key.endswith("_bytes") or (key == "memory" and isinstance(value, int | float)):
        return octets(value)
    if key.endswith("_mb"):
        return octets(value * (1 << 20))
    return value if isinstance(value, str) else json.dumps(value)
