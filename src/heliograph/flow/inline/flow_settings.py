"""How a flow is run: what its file says beside nodes and connections."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from heliograph.flow.definition import FlowDefinition
from heliograph.flow.errors import InvalidFlow

DEFAULT_SERVER = "amqp://127.0.0.1:5672"
MOST_INSTANCES = 255
MOST_GROUPS = 64
MOST_IN_UNIT = 5000
LONGEST_INTERVAL = 60.0
USUAL_BATCH = 500
"""Messages in one unit of work, if they are there and the flow does not say how many."""


@dataclass(frozen=True, slots=True)
class FlowSettings:
    """What the flow says, checked."""

    server: str = DEFAULT_SERVER
    additional_instances: int = 0
    """Threads for each input, beside the first."""
    execution_groups: int = 1
    """Processes."""
    commit_count: int = USUAL_BATCH
    """Messages in one unit of work, at most."""
    commit_interval: float = 0.0
    """Seconds that a unit of work waits for `commit_count` messages; with 0 it takes what is there."""
    coordinated: bool = False
    """Whether messages and databases are committed together, in two phases."""
    data_sources: Mapping[str, str | None] = field(default_factory=dict)
    http_address: str = "127.0.0.1"
    http_port: int = 7080


def read_flow_settings(definition: FlowDefinition, server: str | None = None) -> FlowSettings:
    """The settings of a flow; `server` comes before what it says itself."""
    given = definition.settings
    where = f"flow {definition.name}"
    http = _mapping(given, "http", where)
    for name in http:
        if name not in {"address", "port"}:
            raise InvalidFlow(f"{where}: http has address and port, not {name}")
    return FlowSettings(
        server=server or str(given.get("server") or DEFAULT_SERVER),
        additional_instances=_number(given, "additional_instances", 0, 0, MOST_INSTANCES, where),
        execution_groups=_number(given, "execution_groups", 1, 1, MOST_GROUPS, where),
        commit_count=_number(given, "commit_count", USUAL_BATCH, 1, MOST_IN_UNIT, where),
        commit_interval=_seconds(given, where),
        coordinated=_boolean(given, "coordinated", where),
        data_sources={name: _url(name, url, where) for name, url in _mapping(given, "data_sources", where).items()},
        http_address=str(http.get("address", "127.0.0.1")),
        http_port=_number(http, "port", 7080, 0, 65535, where),
    )


def _number(given: Mapping[str, Any], name: str, default: int, least: int, most: int, where: str) -> int:
    value = given.get(name, default)
    if type(value) is not int or not least <= value <= most:
        raise InvalidFlow(f"{where}: {name} is a number from {least} to {most}, not {value!r}")
    return value


def _seconds(given: Mapping[str, Any], where: str) -> float:
    value = given.get("commit_interval", 0)
    if type(value) not in {int, float} or not 0 <= value <= LONGEST_INTERVAL:
        raise InvalidFlow(f"{where}: commit_interval is 0 to {LONGEST_INTERVAL:g} seconds, not {value!r}")
    return float(value)


def _boolean(given: Mapping[str, Any], name: str, where: str) -> bool:
    value = given.get(name, False)
    found = {"yes": True, "no": False}.get(value, value) if isinstance(value, str) else value
    if type(found) is not bool:
        raise InvalidFlow(f"{where}: {name} is yes or no, not {value!r}")
    return found


def _mapping(given: Mapping[str, Any], name: str, where: str) -> Mapping[str, Any]:
    value = given.get(name) or {}
    if not isinstance(value, Mapping):
        raise InvalidFlow(f"{where}: expected a mapping under {name}, found {value!r}")
    return value


def _url(name: str, url: Any, where: str) -> str | None:
    if url is not None and not isinstance(url, str):
        raise InvalidFlow(f"{where}: data source {name} is a URL, or empty for an embedded database; found {url!r}")
    return url
