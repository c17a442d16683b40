"""From the flow of a scenario to the case of `lab.flows` that measures it.

A module of its own, because only those who measure flows need what it imports.
"""

from heliograph.lab.errors import InvalidScenario
from heliograph.lab.flows.cases import FlowCase, Storage, cases, in_groups
from heliograph.lab.scenarios.terms import FlowLoad

_STORAGE = {"": None, "sqlite": Storage.SQLITE, "postgresql": Storage.POSTGRESQL}


def flow_case(flow: FlowLoad, processors: int) -> FlowCase:
    """The case; one that shall fill the machine runs in as many execution groups as there are processors."""
    if flow.storage not in _STORAGE:
        raise InvalidScenario(f"storage is sqlite or postgresql, not {flow.storage!r}")
    storage = _STORAGE[flow.storage]
    for case in cases():
        if case.section == flow.section and (storage is None or case.storage is storage):
            return in_groups(case, processors) if flow.fill else case
    raise InvalidScenario(
        f"no message flow has section {flow.section}" + (f" and {flow.storage}" if flow.storage else "")
    )
