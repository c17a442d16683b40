"""What was measured with what: systems under test, machines, generators, and their configuration."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from heliograph.lab.report.cases import Case
from heliograph.lab.report.document import Section
from heliograph.lab.report.figures import octets
from heliograph.lab.report.results import Results, Run
from heliograph.lab.report.table import Column, Row, Table

_FACTS = (Column("system", "System"), Column("fact", "Fact"), Column("value", "Value"))
_DOCUMENTS = (Column("document", "Document"), Column("title", "Title"))
_GROUPS = (
    Column("name", "Name", detail="group"),
    Column("role", "Role"),
    Column("clients", "Clients", "count"),
    Column("protocol", "Protocol"),
    Column("transport", "Transport"),
    Column("qos", "QoS", "count"),
    Column("rate", "Messages/s", "rate"),
    Column("size", "Size"),
    Column("persistent", "Persistent"),
    Column("transaction", "Per commit", "count"),
)
_PARAMETERS = (Column("name", "Name"), Column("parameters", "Parameters"))


def systems(results: Results, cases: Sequence[Case]) -> Section:
    """The systems under test and the machines of their clients."""
    runs = [case.run for case in cases]
    return Section(
        "systems",
        "Systems under test and clients",
        tables=(
            Table("systems", "Systems under test", _FACTS, _unique(map(_target, runs)), "No run names its target."),
            Table("machines", "Machines", _FACTS, _unique(map(_machine, runs)), "No run describes its machine."),
            Table("clients", "Load generators", _FACTS, _unique(map(_client, runs)), "No run describes its load."),
            Table("documents", "Published figures", _DOCUMENTS, _documents(results, runs), "No run names a document."),
        ),
    )


def configuration(cases: Sequence[Case]) -> Section:
    """How targets were set up, and what load each scenario put on them."""
    runs = [case.run for case in cases]
    setups = _unique(_facts(run.target, _configured(run)) for run in runs)
    firsts: dict[str, Run] = {}
    for run in runs:
        firsts.setdefault(run.label, run)
    chosen = [{"name": label, "parameters": _inline(run.parameters)} for label, run in firsts.items() if run.parameters]
    groups = [row for run in firsts.values() for row in _groups(run)]
    return Section(
        "configuration",
        "Configuration",
        tables=(
            Table("setup", "Targets", _FACTS, setups, "The targets ran as they are delivered: nothing was set."),
            Table("parameters", "Parameters", _PARAMETERS, tuple(chosen), "The scenarios have no parameters."),
            Table("load", "Load", _GROUPS, tuple(groups), "No run describes its load.", most=60),
        ),
    )


def _documents(results: Results, runs: Sequence[Run]) -> tuple[Row, ...]:
    names = dict.fromkeys(run.document for run in runs if run.document)
    return tuple({"document": name, "title": results.known.document(name)} for name in names)


def _configured(run: Run) -> Mapping[str, Any]:
    """What a target was set to; of a message flow only the names of its files, which are part of the project."""
    if "flow" in run.setup:
        return {f"flow of {run.scenario}": ", ".join(run.setup["flow"])}
    found = run.setup.get("configuration", run.setup)
    return found if isinstance(found, Mapping) else {"configuration": found}


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
        {"system": system, "fact": key.replace("_", " "), "value": _value(key, value)}
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


def _inline(parameters: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{key} = {value if isinstance(value, str) else json.dumps(value)}" for key, value in parameters.items()
    )


def _groups(run: Run) -> Iterable[Row]:
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
