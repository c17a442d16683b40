"""Makes a load, a set-up or a flow from what is written in a scenario's file, with the values of its parameters."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from heliograph.lab.errors import InvalidScenario
from heliograph.lab.load.naming import expand
from heliograph.lab.load.plan import Group, Plan, group_from
from heliograph.lab.scenarios.parameters import Lookup, Value, evaluate, is_expression
from heliograph.lab.scenarios.scenario_terms import FlowLoad, Measure, QueueSetup, ScenarioSetup

CLIENTS_OF_A_PROCESS = 20_000
"""More are spread over several processes."""


def filled(written: Any, lookup: Lookup) -> Any:
    """The same with every expression worked out."""
    if isinstance(written, Mapping):
        return {name: filled(value, lookup) for name, value in written.items()}
    if isinstance(written, list | tuple):
        return [filled(value, lookup) for value in written]
    return evaluate(written, lookup) if is_expression(written) else written


def plan_of(
    written: tuple[Mapping[str, Any], ...], lookup: Lookup, measure: Measure, overrides: Mapping[str, Value]
) -> Plan:
    """The load of these groups."""
    groups = tuple(group for one in written for group in _groups(one, lookup))
    clients = sum(group.clients for group in groups)
    return Plan(
        groups,
        seconds=_number(overrides, "seconds", measure.seconds),
        warm_up=_number(overrides, "warm_up", measure.warm_up),
        processes=int(_number(overrides, "processes", math.ceil(clients / CLIENTS_OF_A_PROCESS))),
    )


def setup_of(written: Mapping[str, Any], lookup: Lookup) -> ScenarioSetup:
    """The set-up, with queues that are written once and exist in numbers as queues of their own."""
    values = filled(written, lookup)
    values["queues"] = tuple(queue for one in values.get("queues", ()) for queue in _queues(one))
    return ScenarioSetup(**values)


def flow_load(written: Value, lookup: Lookup) -> FlowLoad:
    """The flow that a section number stands for, with the messages that the parameters say."""
    section = str(filled(written, lookup))
    return FlowLoad(
        section,
        size=int(lookup("size")),
        persistent=bool(lookup("persistent")),
        storage=str(lookup("storage")),
        fill=bool(lookup("fill")),
    )


def _groups(written: Mapping[str, Any], lookup: Lookup) -> Iterator[Group]:
    """One group, or as many as `for_each` says: one for each number of something, which the others can use."""
    rest = dict(written)
    counter = rest.pop("for_each", None)
    if counter is None:
        yield _group(rest, lookup)
        return
    ((name, count),) = counter.items()
    for number in range(filled(count, lookup)):
        yield _group({**rest, "name": f"{rest['name']}-{number}"}, _with(lookup, name, number))


def _with(lookup: Lookup, name: str, number: int) -> Lookup:
    return lambda asked: number if asked == name else lookup(asked)


def _group(written: Mapping[str, Any], lookup: Lookup) -> Group:
    values = filled(written, lookup)
    values.setdefault("door", door(values.get("protocol", "mqtt311"), values.get("transport", "tcp")))
    clients = values.get("clients")
    if not isinstance(clients, int) or clients < 1:
        raise InvalidScenario(f"group {values['name']} has {clients} clients; expected a whole number from 1 on")
    rate = values.get("rate")
    if rate is not None and (not isinstance(rate, int | float) or rate <= 0):
        raise InvalidScenario(f"group {values['name']} has a rate of {rate}; expected messages a second, above 0")
    return group_from(values)


def door(protocol: str, transport: str) -> str:
    """The name of the address that clients of this kind come in by, unless a group names another."""
    return f"{'amqp' if protocol == 'amqp' else 'mqtt'}-{transport}"


def _queues(values: Mapping[str, Any]) -> Iterator[QueueSetup]:
    """`{partition}` is spelled as in the destinations of a group of as many clients."""
    count = values.get("count", 1)
    like = Group("queues", "publish", clients=count, destinations=count)
    for number in range(count):
        topics = tuple(expand(topic, like, number) for topic in values.get("topics", ()))
        yield QueueSetup(expand(values["name"], like, number), topics)


def _number(overrides: Mapping[str, Value], name: str, usual: float) -> float:
    try:
        number = float(overrides.get(name, usual))
    except ValueError:
        raise InvalidScenario(f"{name} is a number, not {overrides[name]!r}") from None
    if number < 0 or (number == 0 and name != "warm_up"):
        raise InvalidScenario(f"{name} is above 0, not {number:g}")
    return number
