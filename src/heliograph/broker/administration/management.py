"""The node `$management`: queues looked at and changed by messages.

A request names its `operation` as an application property and has its arguments in a map as body. The answer goes to
the request's reply-to with its correlation id; its application property `status` is 200 when all went well, and its
body is what was asked for. Otherwise `status` says whose mistake it was, in the manner of HTTP, and the body is a map
with the text of the `error`. Times are in seconds.
"""

import dataclasses
from collections.abc import Callable, Generator, Mapping
from operator import attrgetter
from typing import Any

from heliograph import __version__
from heliograph.amqp.messages import Message, Value
from heliograph.broker.broker import Broker
from heliograph.broker.core.interfaces import Pipelines, QueueManagers
from heliograph.broker.core.queue_definition import QueueDefinition, QueueKind
from heliograph.broker.errors import InvalidRequest, NoSuchQueue, Refused
from heliograph.broker.queues import dead_letters
from heliograph.broker.queues.binding import Binding
from heliograph.broker.queues.refusal import NOT_ALLOWED, NOT_FOUND, PRECONDITION
from heliograph.errors import Problem
from heliograph.objects import object_to_values, read_object, shown_value

OK, MALFORMED, MISSING, CONFLICT, UNAVAILABLE = 200, 400, 404, 409, 503
_STATUS = {NOT_FOUND: MISSING, PRECONDITION: CONFLICT, NOT_ALLOWED: CONFLICT}
_CHANGES = {
    *("queue-define", "queue-alter", "queue-delete", "queue-purge", "queue-redrive"),
    *("subscription-define", "subscription-delete", "qm-alter"),
}

_PURGED_AT_ONCE = 500
_LONGEST_NAME = 255

Arguments = Mapping[str, Any]


def describe(broker: Broker, definition: QueueDefinition) -> dict[str, Any]:
    """All there is to say of a queue, an alias or a model; a queue with messages has figures too."""
    found = object_to_values(definition)
    if definition.kind is QueueKind.LOCAL:
        queue = broker.queues.find(definition.name)
        found["topics"] = [binding.filter for binding in broker.bindings.of(queue)]
        found |= figures_of_queue(broker, definition.name)
    return found


def figures_of_queue(broker: Broker, name: str) -> dict[str, Any]:
    """What is counted of a queue that has messages."""
    return dataclasses.asdict(broker.queues.find(name).statistics())


def is_meant(name: str, pattern: str) -> bool:
    """Whether a pattern means this name: the name itself, or what it begins with and then a star."""
    return name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern


def carry_out(broker: Broker, request: Message) -> Generator[bool | None, None, Message]:
    """Do what a message asks for, in short steps; the answer, whatever comes of it."""
    if is_change(request) and (trouble := broker.queues.trouble) is not None:
        return _answer(request, UNAVAILABLE, {"error": trouble.text})
    try:
        operation, arguments = _read(request)
        body = operation(broker, arguments)
        if isinstance(body, Generator):
            body = yield from body
    except Refused as refused:
        return _answer(request, _STATUS.get(refused.refusal.condition, CONFLICT), {"error": refused.refusal.text})
    except Problem as problem:
        return _answer(request, MALFORMED, {"error": str(problem)})
    return _answer(request, OK, body)


def is_change(request: Message) -> bool:
    """Whether a message asks for something that the log has to know of."""
    name = (request.application_properties or {}).get("operation")
    return isinstance(name, str) and name in _CHANGES


def _answer(request: Message, status: int, body: Any) -> Message:
    correlation = request.message_id if request.correlation_id is None else request.correlation_id
    return Message(
        to=request.reply_to,
        correlation_id=correlation,
        application_properties={"status": status},
        body=Value(body),
    )


def _read(request: Message) -> tuple[Callable[[Broker, Arguments], Any], Arguments]:
    name = (request.application_properties or {}).get("operation")
    if not isinstance(name, str) or name not in _OPERATIONS:
        known = ", ".join(_OPERATIONS)
        raise InvalidRequest(
            f"expected the application property operation to be one of {known}, found {shown_value(name)}"
        )
    operation, takes = _OPERATIONS[name]
    arguments = request.body.value if isinstance(request.body, Value) else request.body
    if arguments is None:
        arguments = {}
    if not isinstance(arguments, dict):
        raise InvalidRequest(f"{name}: expected a map of arguments as body, found {type(arguments).__name__}")
    for key, value in arguments.items():
        if name not in _WITH_ATTRIBUTES or key in takes:  # attributes of a queue are checked as such
            _check(name, key, value, takes)
    return operation, arguments


def _check(operation: str, key: Any, value: Any, known: Mapping[str, type]) -> None:
    if key not in known:
        raise InvalidRequest(
            f"{operation}: expected no argument but {', '.join(known) or 'none'}, found {shown_value(key)}"
        )
    kind = known[key]
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise InvalidRequest(f"{operation}: expected {key} to be of type {kind.__name__}, found {shown_value(value)}")


def _name(arguments: Arguments) -> str:
    name = arguments.get("name")
    if not isinstance(name, str) or not name:
        raise InvalidRequest(f"expected the argument name to be the name of a queue, found {shown_value(name)}")
    return str(name)


def _definition(broker: Broker, arguments: Arguments) -> QueueDefinition:
    """The queue that is meant, which has to be of the kind that is named, if one is."""
    found = broker.queues.definition(_name(arguments))
    kind = arguments.get("kind")
    if kind is not None and kind != found.kind:
        raise Refused(NOT_ALLOWED, f"queue {found.name} is of kind {found.kind}, not {kind}")
    return found


# Queues


def _list(broker: Broker, arguments: Arguments) -> Generator[bool | None, None, list[dict[str, Any]]]:
    """Queues by name; temporary ones, of which there may be many for a short time, only if they are asked for."""
    pattern, kind = arguments.get("pattern", "*"), arguments.get("kind")
    passing = bool(arguments.get("temporary", False))
    found = []
    for definition in broker.queues.definitions():
        yield None
        if (
            is_meant(definition.name, pattern)
            and kind in {None, definition.kind}
            and (passing or definition.kind is QueueKind.MODEL or not definition.temporary)
            and broker.queues.is_defined(definition.name)  # there may have been changes meanwhile
        ):
            found.append(describe(broker, definition))
    return found


def _show(broker: Broker, arguments: Arguments) -> dict[str, Any]:
    return describe(broker, broker.queues.definition(_name(arguments)))


def _define(broker: Broker, arguments: Arguments) -> dict[str, Any]:
    given = dict(arguments)
    replace, like = given.pop("replace", False), given.pop("like", "")
    if like:
        given = {**_likeness(broker, like, given.get("kind", QueueKind.LOCAL)), **given}
    wanted = read_object(QueueDefinition, given)
    if wanted.internal:
        raise Refused(NOT_ALLOWED, f'expected a name that does not begin with "$", found {wanted.name}')
    try:
        there = broker.queues.definition(wanted.name)
    except NoSuchQueue:
        broker.queues.define(wanted)
        return {"name": wanted.name, "replaced": False}
    if not replace:
        raise Refused(PRECONDITION, f"there is a queue {wanted.name} already")
    if there.kind is not wanted.kind:
        raise Refused(NOT_ALLOWED, f"queue {wanted.name} is of kind {there.kind}, not {wanted.kind}")
    changes = object_to_values(wanted)
    del changes["name"], changes["kind"]
    _change(broker, wanted.name, changes)
    return {"name": wanted.name, "replaced": True}


def _likeness(broker: Broker, name: str, kind: str) -> dict[str, Any]:
    """The attributes to begin with for a queue that is to be like another."""
    model = broker.queues.definition(name)
    if model.kind != kind:
        raise Refused(NOT_ALLOWED, f"queue {name} is of kind {model.kind}, not {kind}")
    return object_to_values(model)


def _alter(broker: Broker, arguments: Arguments) -> dict[str, Any]:
    definition = _definition(broker, arguments)
    changes = {key: value for key, value in arguments.items() if key not in {"name", "kind"}}
    _change(broker, definition.name, changes)
    return describe(broker, broker.queues.definition(definition.name))


def _change(broker: Broker, name: str, changes: dict[str, Any]) -> None:
    """Change attributes; checked as a whole before anything happens."""
    there = object_to_values(broker.queues.definition(name))
    wanted = read_object(QueueDefinition, {**there, **changes})
    broker.queues.alter(name, **{key: getattr(wanted, key) for key in changes})


def _delete(broker: Broker, arguments: Arguments) -> dict[str, Any]:
    definition = _definition(broker, arguments)
    purge = bool(arguments.get("purge", False))
    return {"name": definition.name, "purged": broker.queues.delete(definition.name, purge=purge)}


def _purge(broker: Broker, arguments: Arguments) -> Generator[bool | None, None, dict[str, Any]]:
    queue = broker.queues.find(_name(arguments))
    yield from queue.load_in_steps()
    left, purged = queue.depth, 0
    while left > 0 and (some := queue.purge(min(left, _PURGED_AT_ONCE))):  # not what comes meanwhile
        left -= some
        purged += some
        yield None
    return {"name": queue.name, "purged": purged}


def _redrive(broker: Broker, arguments: Arguments) -> Generator[bool | None, None, dict[str, Any]]:
    queue = broker.queues.find(_name(arguments))
    most = arguments.get("most", 0)
    if most < 0:
        raise InvalidRequest(f"expected the argument most to be 0 or more, found {most}")
    done = yield from dead_letters.redrive(broker.queues, queue, most, arguments.get("origin", ""))
    return {"name": queue.name, "moved": done.moved, "left": dict(done.left)}


# Subscriptions that an administrator has made: bindings with a name, which stay until somebody deletes them


def _listed(broker: Broker, pattern: str) -> Generator[None, None, list[dict[str, Any]]]:
    """Those that a pattern means, by name; in short steps, for there may be many."""
    found = []
    for binding in sorted(broker.bindings.named(), key=attrgetter("name")):
        if is_meant(binding.name, pattern):
            found.append(_described(binding))
        yield None
    return found


def _define_subscription(
    broker: Broker, name: str, topic: str, queue: str, selector: str, *, replace: bool
) -> dict[str, Any]:
    """From now on the messages of a topic filter go to a queue; Refused or a Problem says why not."""
    if not name or not topic or not queue:
        raise InvalidRequest("expected the name of a subscription, its topic and its queue, found none of one of them")
    if len(name) > _LONGEST_NAME or not name.isprintable():
        raise InvalidRequest(f"expected a name of up to {_LONGEST_NAME} printable characters, found {name[:60]!r}")
    target = broker.queues.find(queue)
    if target.definition.internal or target.definition.temporary:
        raise Refused(NOT_ALLOWED, f"queue {queue} belongs to a client")
    there = _find_subscription(broker, name)
    if there is not None and not replace:
        raise Refused(PRECONDITION, f"there is a subscription {name} already")
    for other in broker.bindings.of(target):
        if other.filter == topic and other is not there:
            raise Refused(PRECONDITION, f"queue {queue} gets the messages of {topic} already")
    if there is not None and (there.queue, there.filter) != (target, topic):
        broker.bindings.check(topic, selector)
        broker.bindings.unbind(there.filter, there.queue)
    broker.bindings.bind(topic, target, selector=selector, name=name)
    return {"name": name, "replaced": there is not None}


def _delete_subscription(broker: Broker, name: str) -> dict[str, Any]:
    """Its queue gets nothing more of it, and keeps what it has."""
    there = _find_subscription(broker, name)
    if there is None:
        raise Refused(NOT_FOUND, f"there is no subscription {name}")
    broker.bindings.unbind(there.filter, there.queue)
    return {"name": name}


def _find_subscription(broker: Broker, name: str) -> Binding | None:
    return next((binding for binding in broker.bindings.named() if binding.name == name), None)


def _described(binding: Binding) -> dict[str, Any]:
    selector = binding.selector.text if binding.selector else ""
    return {"name": binding.name, "topic": binding.filter, "queue": binding.queue.name, "selector": selector}


def _subscription_list(broker: Broker, arguments: Arguments) -> Generator[None, None, list[dict[str, Any]]]:
    return _listed(broker, arguments.get("pattern", "*"))


def _subscription_define(broker: Broker, arguments: Arguments) -> dict[str, Any]:
    name, topic, queue, selector = (arguments.get(key, "") for key in ("name", "topic", "queue", "selector"))
    return _define_subscription(broker, name, topic, queue, selector, replace=arguments.get("replace", False))


def _subscription_delete(broker: Broker, arguments: Arguments) -> dict[str, Any]:
    return _delete_subscription(broker, _name(arguments))


# Queue managers


def _managers(broker: Broker) -> QueueManagers:
    if broker.queue_managers is None:
        raise Refused(NOT_ALLOWED, "there is no server process here that could be asked about queue managers")
    return broker.queue_managers


def _qm_list(broker: Broker, _arguments: Arguments) -> list[dict[str, Any]]:
    return _managers(broker).list()


def _qm_show(broker: Broker, arguments: Arguments) -> dict[str, Any]:
    managers = _managers(broker)
    name = arguments.get("name")
    if name is None or name == managers.own()["name"]:
        own = {"version": __version__, "dead_letter_queue": broker.queues.dead_letter_queue}
        return {**managers.own(), **own}
    for one in managers.list():
        if one["name"] == name:
            return one
    raise Refused(NOT_FOUND, f"there is no queue manager {name}")


def _qm_alter(broker: Broker, arguments: Arguments) -> dict[str, Any]:
    if "dead_letter_queue" in arguments:
        broker.queues.send_dead_letters(arguments["dead_letter_queue"])
    return {"dead_letter_queue": broker.queues.dead_letter_queue}


def _qm_start(broker: Broker, arguments: Arguments) -> dict[str, Any]:
    _managers(broker).start_one(_name(arguments))
    return _qm_show(broker, arguments)


def _qm_stop(broker: Broker, arguments: Arguments) -> dict[str, Any]:
    _managers(broker).stop_one(_name(arguments))
    return _qm_show(broker, arguments)


# Pipelines


def _pipelines(broker: Broker) -> Pipelines:
    if broker.pipelines is None:
        raise Refused(NOT_ALLOWED, "there is no server process here that could be asked about pipelines")
    return broker.pipelines


def _pipeline_list(broker: Broker, _arguments: Arguments) -> list[dict[str, Any]]:
    return _pipelines(broker).list()


def _pipeline_start(broker: Broker, arguments: Arguments) -> dict[str, Any]:
    _pipelines(broker).start_one(_name(arguments))
    return {"name": arguments["name"]}


def _pipeline_stop(broker: Broker, arguments: Arguments) -> dict[str, Any]:
    _pipelines(broker).stop_one(_name(arguments))
    return {"name": arguments["name"]}


def _pipeline_remove(broker: Broker, arguments: Arguments) -> dict[str, Any]:
    return _pipelines(broker).remove_one(_name(arguments), purge=bool(arguments.get("purge", False)))


_WITH_ATTRIBUTES = {"queue-define", "queue-alter"}
"""These take the attributes of a queue beside their own arguments."""
# By name, with the arguments that each takes.
_OPERATIONS: dict[str, tuple[Callable[[Broker, Arguments], Any], Mapping[str, type]]] = {
    "queue-list": (_list, {"pattern": str, "kind": str, "temporary": bool}),
    "queue-show": (_show, {"name": str}),
    "queue-define": (_define, {"replace": bool, "like": str}),
    "queue-alter": (_alter, {"name": str, "kind": str}),
    "queue-delete": (_delete, {"name": str, "kind": str, "purge": bool}),
    "queue-purge": (_purge, {"name": str}),
    "queue-redrive": (_redrive, {"name": str, "most": int, "origin": str}),
    "subscription-list": (_subscription_list, {"pattern": str}),
    "subscription-define": (
        _subscription_define,
        {"name": str, "topic": str, "queue": str, "selector": str, "replace": bool},
    ),
    "subscription-delete": (_subscription_delete, {"name": str}),
    "qm-list": (_qm_list, {}),
    "qm-alter": (_qm_alter, {"dead_letter_queue": str}),
    "qm-show": (_qm_show, {"name": str}),
    "qm-start": (_qm_start, {"name": str}),
    "qm-stop": (_qm_stop, {"name": str}),
    "pipeline-list": (_pipeline_list, {}),
    "pipeline-start": (_pipeline_start, {"name": str}),
    "pipeline-stop": (_pipeline_stop, {"name": str}),
    "pipeline-remove": (_pipeline_remove, {"name": str, "purge": bool}),
}
