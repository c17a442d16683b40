"""What was measured with what: systems under test, machines, generators, and how all of them were configured."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from heliograph.lab.report.document import Section
from heliograph.lab.report.report_cases import ReportCase
from heliograph.lab.report.results import RecordedRun, Results
from heliograph.lab.report.table import Column, Table, TableRow, columns, octets

_FACTS = (Column("fact", "Fact"), Column("value", "Value"))
_NAMES = {"cpu": "CPU", "cpus": "cores", "memory_mb": "memory", "memory_bytes": "memory"}
_DOCUMENTS = (Column("document", "Document"), Column("title", "Title"))

_SETTINGS = (Column("file", "File or setting", detail="scenarios"), Column("content", "Content", "lines"))
_PARAMETERS = (Column("name", "Name"), Column("parameters", "Parameters"))
_GROUPS = (
    Column("name", "Name", detail="group"),
    Column("role", "Role"),
    Column("clients", "Clients", "count"),
    *columns("text", protocol="Protocol", transport="Transport"),
    Column("qos", "QoS", "count"),
    Column("rate", "Messages/s", "rate"),
    *columns("text", size="Size", persistent="Persistent"),
    Column("transaction", "Per commit", "count"),
)
_NOTE = "Ports, and folders that were made for a run, differ each time: they are left out."
_PORT = re.compile(r"(port *[=:]? *|listener +|127\.0\.0\.1:)\d{4,5}\b")
_FOLDER = re.compile(r"(?<![\w.:/])/(?:[^\s\"'/]+/)+")
_MOST_LINES = 24
_MOST_GROUPS = 60


def systems(results: Results, cases: Sequence[ReportCase]) -> Section:
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


def _documents(results: Results, runs: Sequence[RecordedRun]) -> tuple[TableRow, ...]:
    names = dict.fromkeys(run.document for run in runs if run.document)
    return tuple({"document": name, "title": results.known.document(name)} for name in names)


def _target(run: RecordedRun) -> list[TableRow]:
    facts = {"version": run.target_version, "rack units": run.rack_units}
    return _facts(run.target, {key: value for key, value in facts.items() if value})


def _machine(run: RecordedRun) -> list[TableRow]:
    """The machine without its load before the run: that differs each time and is in the section on limitations."""
    told = {key: value for key, value in run.machine.items() if not key.startswith("load")}
    return _facts(str(run.machine.get("host") or run.machine.get("name") or "machine"), told)


def _client(run: RecordedRun) -> list[TableRow]:
    return _facts("generator", {**run.versions, "processes": run.plan.get("processes")})


def _facts(system: str, facts: Mapping[str, Any]) -> list[TableRow]:
    return [
        {"system": system, "fact": _NAMES.get(key, key.replace("_", " ")), "value": _value(key, value)}
        for key, value in facts.items()
        if value not in (None, "", {}, [])
    ]


def _unique(lists: Iterable[list[TableRow]]) -> tuple[TableRow, ...]:
    """Every fact once; a system that was different in some runs has a line for each value."""
    found: dict[tuple[str, ...], TableRow] = {}
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


def configuration(cases: Sequence[ReportCase]) -> Section:
    """The settings of targets, and the parameters and clients of each scenario."""
    firsts: dict[str, RecordedRun] = {}
    for case in cases:
        firsts.setdefault(case.run.label, case.run)
    chosen = [{"name": label, "parameters": _inline(run.parameters)} for label, run in firsts.items() if run.parameters]
    groups = [row for run in firsts.values() for row in _groups(run)]
    as_delivered = "The targets ran with their default configuration."
    settings = _settings([case.run for case in cases])
    return Section(
        "configuration",
        "Configuration",
        tables=(
            Table("settings", "Targets", _SETTINGS, settings, as_delivered, "target", _NOTE),
            Table("parameters", "Parameters", _PARAMETERS, tuple(chosen), "The scenarios have no parameters."),
            Table("load", "Load", _GROUPS, tuple(groups), "No run describes its load.", most=_MOST_GROUPS),
        ),
    )


def _settings(runs: Sequence[RecordedRun]) -> tuple[TableRow, ...]:
    """Every file once, with the scenarios that it was for."""
    found: dict[tuple[str, str, str], dict[str, None]] = {}
    for run in runs:
        for name, content in _configured(run).items():
            key = run.target, str(name), general(content if isinstance(content, str) else json.dumps(content))
            found.setdefault(key, {})[run.scenario] = None
    return tuple(
        {"target": target, "file": name, "scenarios": ", ".join(scenarios), "content": content}
        for (target, name, content), scenarios in sorted(found.items(), key=lambda pair: pair[0][0])
    )


def _configured(run: RecordedRun) -> Mapping[str, Any]:
    """The settings of a target; of a message flow only the names of its files, which are part of the project."""
    if "flow" in run.setup:
        return {"flow": ", ".join(run.setup["flow"])}
    found = run.setup.get("configuration", run.setup)
    return found if isinstance(found, Mapping) else {"configuration": found}


def general(content: str) -> str:
    """A configuration without values that differ from run to run, and without lines of no interest."""
    told = _FOLDER.sub(".../", _PORT.sub(r"\1PORT", content))
    lines = [line.rstrip() for line in told.splitlines() if line.strip()]
    more = [f"... and {len(lines) - _MOST_LINES} more lines"] if len(lines) > _MOST_LINES else []
    return "\n".join(lines[:_MOST_LINES] + more)


def _inline(parameters: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{key} = {value if isinstance(value, str) else json.dumps(value)}"
        for key, value in parameters.items()
        if value not in {"", None}
    )


def _groups(run: RecordedRun) -> Iterable[TableRow]:
    for group in run.groups:
        payload = group.get("payload") or {}
        sends = group.get("role") in {"publish", "both", "request"}
        yield {
            "name": run.label,
            "group": group.get("name"),
            "size": ", ".join(map(octets, payload.get("sizes", ()))) if sends and isinstance(payload, Mapping) else "",
            "rate": group.get("rate") if sends else None,
            **{key: group.get(key) for key in ("role", "clients", "protocol", "transport", "qos")},
            "persistent": group.get("persistent") or None,
            "transaction": group.get("transaction") or None,
        }
