"""Requests to the management node, and what it answers."""

import math
from typing import Any

import pytest

from broker.queue_scenes import Consumer, Scene, message
from heliograph.amqp.codec.values import ULong
from heliograph.amqp.messages.message import Data, Message, Value, decode_message, encode_message
from heliograph.broker.administration.management import carry_out
from heliograph.broker.broker import Broker
from heliograph.broker.core.queue_definition import DEAD_LETTER_QUEUE, TEMPORARY_MODEL, QueueDefinition
from heliograph.broker.errors import Refused
from heliograph.broker.queues.consumer import rejected
from heliograph.broker.queues.refusal import NOT_FOUND
from heliograph.broker.storage.store import Store


def handle(broker: Broker, request: Message) -> Message:
    """Do all that a request asks for; the answer."""
    steps = carry_out(broker, request)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            answer: Message = end.value
            return answer


def asked(queue_scene: Scene, operation: str, **arguments: Any) -> tuple[int, Any]:
    """Status and body of the answer, as a client finds them in the bytes."""
    request = Message(Value(arguments), application_properties={"operation": operation}, reply_to="r", message_id=1)
    answer = decode_message(encode_message(handle(queue_scene.broker, decode_message(encode_message(request)))))
    assert isinstance(answer.body, Value)
    assert answer.application_properties is not None
    return answer.application_properties["status"], answer.body.value


def done(queue_scene: Scene, operation: str, **arguments: Any) -> Any:
    status, body = asked(queue_scene, operation, **arguments)
    assert status == 200, body
    return body


# -- requests and answers ---------------------------------------------------------------------------------------------


def test_the_answer_goes_to_reply_to_with_the_correlation_id_or_else_the_message_id(queue_scene: Scene) -> None:
    request = Message(application_properties={"operation": "queue-list"}, reply_to="here", message_id="m")
    answer = handle(queue_scene.broker, request)
    assert (answer.to, answer.correlation_id) == ("here", "m")
    request.correlation_id = "c"
    assert handle(queue_scene.broker, request).correlation_id == "c"


@pytest.mark.parametrize(
    ("operation", "body", "text"),
    [
        (None, Value({}), "expected the application property operation to be one of queue-list,"),
        ("fly", Value({}), 'found "fly"'),
        ([], Value({}), "found an array"),
        ("queue-list", Value([1]), "expected a map of arguments as body"),
        ("queue-list", Data(b"x"), "expected a map of arguments as body"),
        ("queue-list", Value({"x": 1}), 'found "x"'),
        ("queue-list", Value({"pattern": 1}), "pattern to be of type str"),
        ("queue-show", Value({"name": ""}), "expected the argument name"),
        ("queue-delete", Value({}), "expected the argument name"),
        ("queue-define", Value({1: 2}), "1: unknown key; expected one of name, kind"),
        ("queue-define", Value({"name": "A", "like": [1]}), "like to be of type str"),
        ("queue-define", Value({"name": "A", "replace": "no"}), "replace to be of type bool"),
        ("queue-define", Value({"name": ["A"]}), "name: expected a string"),
        ("queue-alter", Value({"name": DEAD_LETTER_QUEUE, "kind": {}}), "kind to be of type str"),
        ("queue-show", Value({"x" * 100_000: 1}), "..."),
        (
            "queue-define",
            Value({"name": "A", "max_ttl": math.nan}),
            "max_ttl: expected a number from 0 to 999999999, found nan",
        ),
        ("queue-define", Value({"name": "A", "max_ttl": math.inf}), "found inf"),
        ("queue-define", Value({"name": "A", "max_ttl": -math.inf}), "found -inf"),
        ("queue-define", Value({"name": "A", "max_ttl": 1e308}), "found 1e+308"),
        ("queue-define", Value({"name": "A", "max_ttl": 1e300}), "max_ttl: expected a number from 0"),
        ("queue-define", Value({"name": "A", "max_ttl": -1}), "max_ttl: expected a number from 0"),
        ("queue-alter", Value({"name": DEAD_LETTER_QUEUE, "max_ttl": math.nan}), "found nan"),
        ("queue-define", Value({"name": "A", "max_depth": True}), "expected an integer"),
        ("queue-define", Value({"name": "A", "max_depth": ULong(2**64 - 1)}), "max_depth: expected an integer from 1"),
        ("queue-redrive", Value({"name": DEAD_LETTER_QUEUE, "most": True}), "most to be of type int"),
        ("queue-redrive", Value({"name": DEAD_LETTER_QUEUE, "most": -1}), "most to be 0 or more"),
    ],
)
def test_a_request_that_makes_no_sense_is_told_so(queue_scene: Scene, operation: Any, body: Any, text: str) -> None:
    answer = handle(queue_scene.broker, Message(body, application_properties={"operation": operation}))
    assert answer.application_properties == {"status": 400}
    assert isinstance(answer.body, Value)
    assert text in answer.body.value["error"]


# -- queues -----------------------------------------------------------------------------------------------------------


def test_a_queue_is_defined_with_attributes_and_times_in_seconds(queue_scene: Scene) -> None:
    assert done(queue_scene, "queue-define", name="a", max_depth=7, max_ttl=1.5, order="fifo", exclusive=True) == {
        "name": "a",
        "replaced": False,
    }
    assert queue_scene.broker.queues.definition("a") == QueueDefinition(
        "a", max_depth=7, max_ttl=1.5, order="fifo", exclusive=True
    )


def test_a_name_that_is_taken_is_a_conflict_unless_the_queue_is_to_be_replaced(queue_scene: Scene) -> None:
    done(queue_scene, "queue-define", name="a", max_depth=7, description="old")
    queue_scene.broker.queues.find("a").put([message("x")])
    assert asked(queue_scene, "queue-define", name="a") == (409, {"error": "there is a queue a already"})
    assert done(queue_scene, "queue-define", name="a", replace=True, max_depth=8)["replaced"]
    shown = done(queue_scene, "queue-show", name="a")
    assert (shown["max_depth"], shown["description"], shown["depth"]) == (8, "", 1)


def test_a_queue_can_be_like_another_of_its_kind(queue_scene: Scene) -> None:
    done(queue_scene, "queue-define", name="a", max_depth=7, default_priority=3)
    done(queue_scene, "queue-define", name="b", like="a", max_depth=8)
    assert queue_scene.broker.queues.definition("b") == QueueDefinition("b", max_depth=8, default_priority=3)
    assert asked(queue_scene, "queue-define", name="c", like="nobody")[0] == 404
    assert asked(queue_scene, "queue-define", name="c", kind="model", like="a")[0] == 409


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"name": "a b"}, "expected a queue name"),
        ({"max_depth": 1}, "name: expected a string, found none"),
        ({"name": "a", "max_depth": 0}, "max_depth: expected an integer from 1"),
        ({"name": "a", "max_depth": "7"}, 'max_depth: expected an integer from 1 to 999999999, found "7"'),
        ({"name": "a", "put_enabled": 1}, "put_enabled: expected true or false, found 1"),
        ({"name": "a", "kind": "remote"}, 'kind: expected one of "local", "alias", "model", found "remote"'),
        ({"name": "a", "kind": "alias"}, "target: expected the name of a queue, which an alias needs, found none"),
        ({"name": "a", "colour": "red"}, "colour: unknown key; expected one of name, kind"),
    ],
)
def test_what_cannot_be_a_queue_is_refused(queue_scene: Scene, arguments: dict[str, Any], error: str) -> None:
    status, body = asked(queue_scene, "queue-define", **arguments)
    assert status == 400
    assert error in body["error"]


def test_names_of_the_servers_own_queues_cannot_be_taken(queue_scene: Scene) -> None:
    assert asked(queue_scene, "queue-define", name="$mine")[0] == 409


def test_alter_changes_what_is_given_and_leaves_the_rest(queue_scene: Scene) -> None:
    done(queue_scene, "queue-define", name="a", max_depth=7, default_priority=3)
    assert done(queue_scene, "queue-alter", name="a", max_depth=8, max_ttl=2)["max_ttl"] == 2
    assert queue_scene.broker.queues.definition("a") == QueueDefinition("a", max_depth=8, default_priority=3, max_ttl=2)


def test_alter_that_makes_no_sense_changes_nothing(queue_scene: Scene) -> None:
    done(queue_scene, "queue-define", name="a")
    assert asked(queue_scene, "queue-alter", name="a", max_depth=8, default_priority=11)[0] == 400
    assert queue_scene.broker.queues.definition("a") == QueueDefinition("a")
    assert asked(queue_scene, "queue-alter", name="a", kind="model", max_depth=8)[0] == 409
    assert asked(queue_scene, "queue-alter", name="b", max_depth=8)[0] == 404


def test_list_tells_of_queues_by_name_and_kind(queue_scene: Scene) -> None:
    for name in ("a.1", "a.2", "b"):
        done(queue_scene, "queue-define", name=name)
    done(queue_scene, "queue-define", name="a.3", kind="alias", target="b")
    assert [one["name"] for one in done(queue_scene, "queue-list", pattern="a.*")] == ["a.1", "a.2", "a.3"]
    assert [one["name"] for one in done(queue_scene, "queue-list", pattern="a.*", kind="alias")] == ["a.3"]
    assert [one["name"] for one in done(queue_scene, "queue-list", pattern="b")] == ["b"]
    assert DEAD_LETTER_QUEUE in [one["name"] for one in done(queue_scene, "queue-list")]


def test_a_queue_is_shown_with_its_figures_and_an_alias_without(queue_scene: Scene) -> None:
    done(queue_scene, "queue-define", name="a")
    done(queue_scene, "queue-define", name="b", kind="alias", target="a")
    queue_scene.broker.queues.find("a").put([message("x"), message("y")])
    shown = done(queue_scene, "queue-show", name="a")
    assert {key: shown[key] for key in ("depth", "in_flight", "consumers", "put", "got", "expired")} == {
        "depth": 2,
        "in_flight": 0,
        "consumers": 0,
        "put": 2,
        "got": 0,
        "expired": 0,
    }
    assert "depth" not in done(queue_scene, "queue-show", name="b")
    assert asked(queue_scene, "queue-show", name="c") == (404, {"error": "there is no queue c"})


def test_a_queue_with_messages_is_deleted_only_with_purge(queue_scene: Scene) -> None:
    done(queue_scene, "queue-define", name="a")
    queue_scene.broker.queues.find("a").put([message("x")])
    assert asked(queue_scene, "queue-delete", name="a") == (409, {"error": "queue a has 1 messages"})
    assert asked(queue_scene, "queue-delete", name="a", kind="alias")[0] == 409
    assert done(queue_scene, "queue-delete", name="a", purge=True) == {"name": "a", "purged": 1}
    assert asked(queue_scene, "queue-show", name="a")[0] == 404


def test_purge_forgets_the_messages_of_a_queue_or_of_the_one_behind_an_alias(queue_scene: Scene) -> None:
    done(queue_scene, "queue-define", name="a")
    done(queue_scene, "queue-define", name="b", kind="alias", target="a")
    queue_scene.broker.queues.find("a").put([message("x"), message("y")])
    assert done(queue_scene, "queue-purge", name="b") == {"name": "a", "purged": 2}
    assert done(queue_scene, "queue-show", name="a")["depth"] == 0


def test_redrive_sends_dead_letters_back(queue_scene: Scene) -> None:
    done(queue_scene, "queue-define", name="a")
    queue, consumer = queue_scene.broker.queues.find("a"), Consumer()
    queue.add_consumer(consumer)
    queue.put([message("x"), message("y")])
    queue_scene.broker.turn.end()
    queue.settle(consumer.forget(), rejected("no use"), consumer=consumer)
    queue.remove_consumer(consumer)
    queue_scene.broker.turn.end()
    assert done(queue_scene, "queue-show", name=DEAD_LETTER_QUEUE)["depth"] == 2
    assert done(queue_scene, "queue-redrive", name=DEAD_LETTER_QUEUE, most=1) == {
        "name": DEAD_LETTER_QUEUE,
        "moved": 1,
        "left": {},
    }
    assert done(queue_scene, "queue-redrive", name=DEAD_LETTER_QUEUE, origin="other")["moved"] == 0
    assert done(queue_scene, "queue-redrive", name=DEAD_LETTER_QUEUE, origin="a")["moved"] == 1
    assert done(queue_scene, "queue-show", name="a")["depth"] == 2


def test_what_cannot_be_sent_back_is_told_with_the_reason(queue_scene: Scene) -> None:
    queue_scene.broker.queues.find(DEAD_LETTER_QUEUE).put([message("x")])
    assert done(queue_scene, "queue-redrive", name=DEAD_LETTER_QUEUE) == {
        "name": DEAD_LETTER_QUEUE,
        "moved": 0,
        "left": {"it does not say where it came from": 1},
    }


# -- queue managers ---------------------------------------------------------------------------------------------------


class Managers:
    """A server with one more queue manager."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []

    def own(self) -> dict[str, Any]:
        return {"name": "main", "state": "running", "queues": 2, "depth": 0}

    def list(self) -> list[dict[str, Any]]:
        return [self.own(), {"name": "QM1", "state": "stopped"}]

    def start_one(self, name: str) -> None:
        self._check(name)
        self.calls.append(("start", name))

    def stop_one(self, name: str) -> None:
        self._check(name)
        self.calls.append(("stop", name))

    def _check(self, name: str) -> None:
        if name != "QM1":
            raise Refused(NOT_FOUND, f"there is no queue manager {name}")


def test_queue_managers_are_listed_shown_started_and_stopped(queue_scene: Scene) -> None:
    managers = queue_scene.broker.queue_managers = Managers()
    assert [one["name"] for one in done(queue_scene, "qm-list")] == ["main", "QM1"]
    assert done(queue_scene, "qm-show")["dead_letter_queue"] == DEAD_LETTER_QUEUE
    assert done(queue_scene, "qm-show", name="main")["name"] == "main"
    assert done(queue_scene, "qm-show", name="QM1") == {"name": "QM1", "state": "stopped"}
    done(queue_scene, "qm-start", name="QM1")
    done(queue_scene, "qm-stop", name="QM1")
    assert managers.calls == [("start", "QM1"), ("stop", "QM1")]
    assert asked(queue_scene, "qm-start", name="QM2") == (404, {"error": "there is no queue manager QM2"})
    assert asked(queue_scene, "qm-show", name="QM2")[0] == 404


def test_a_broker_without_a_process_has_no_queue_managers(queue_scene: Scene) -> None:
    assert asked(queue_scene, "qm-list")[0] == 409


def test_the_dead_letter_queue_is_chosen_by_name(queue_scene: Scene) -> None:
    queue_scene.queue("DEAD")
    queue_scene.queues.create_dynamic(TEMPORARY_MODEL, object(), "CLIENTS")
    (temporary,) = [one.name for one in queue_scene.queues.definitions() if one.name.startswith("CLIENTS.")]
    assert done(queue_scene, "qm-alter", dead_letter_queue="DEAD") == {"dead_letter_queue": "DEAD"}
    assert queue_scene.queues.dead_letter_queue == "DEAD"
    assert asked(queue_scene, "qm-alter", dead_letter_queue="NOWHERE")[0] == 404
    assert asked(queue_scene, "qm-alter", dead_letter_queue=temporary)[0] == 409
    assert done(queue_scene, "qm-alter") == {"dead_letter_queue": "DEAD"}
    assert done(queue_scene, "qm-alter", dead_letter_queue="") == {"dead_letter_queue": DEAD_LETTER_QUEUE}


# -- subscriptions of an administrator ---------------------------------------------------------------------------------


def test_a_subscription_is_defined_listed_and_deleted(queue_scene: Scene) -> None:
    queue = queue_scene.queue()
    selector = "colour = 'red'"
    assert done(queue_scene, "subscription-define", name="S", topic="a/#", queue="Q", selector=selector) == {
        "name": "S",
        "replaced": False,
    }
    done(queue_scene, "subscription-define", name="T", topic="b", queue="Q")
    told = {"name": "S", "topic": "a/#", "queue": "Q", "selector": selector}
    assert done(queue_scene, "subscription-list") == [told, {"name": "T", "topic": "b", "queue": "Q", "selector": ""}]
    assert done(queue_scene, "subscription-list", pattern="S*") == [told]
    queue_scene.broker.publish_message("b", b"x")
    assert done(queue_scene, "subscription-delete", name="T") == {"name": "T"}
    queue_scene.broker.publish_message("b", b"y")
    assert queue.depth == 1
    assert asked(queue_scene, "subscription-delete", name="T") == (404, {"error": "there is no subscription T"})


def test_a_subscription_may_be_replaced(queue_scene: Scene) -> None:
    one, two = queue_scene.queue("ONE"), queue_scene.queue("TWO")
    done(queue_scene, "subscription-define", name="S", topic="a", queue="ONE")
    again = {"name": "S", "topic": "a", "queue": "TWO"}
    assert asked(queue_scene, "subscription-define", **again)[0] == 409
    assert done(queue_scene, "subscription-define", **again, replace=True) == {"name": "S", "replaced": True}
    queue_scene.broker.publish_message("a", b"x")
    assert (one.depth, two.depth) == (0, 1)
    done(queue_scene, "subscription-define", **again, selector="colour = 'red'", replace=True)
    queue_scene.broker.publish_message("a", b"x")
    assert two.depth == 1


def test_a_replacement_that_makes_no_sense_leaves_what_there_is(queue_scene: Scene) -> None:
    queue = queue_scene.queue()
    done(queue_scene, "subscription-define", name="S", topic="a", queue="Q")
    for topic, selector in (("a/#/b", ""), ("b", "colour =")):
        status, _ = asked(
            queue_scene, "subscription-define", name="S", topic=topic, queue="Q", selector=selector, replace=True
        )
        assert status == 400
    queue_scene.broker.publish_message("a", b"x")
    assert queue.depth == 1


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"name": ""}, 400),
        ({"topic": ""}, 400),
        ({"queue": ""}, 400),
        ({"name": "x" * 256}, 400),
        ({"name": "a\nb"}, 400),
        ({"topic": "a/#/b"}, 400),
        ({"selector": "a ="}, 400),
        ({"queue": "NOWHERE"}, 404),
        ({"topic": "taken"}, 409),
    ],
)
def test_what_cannot_be_a_subscription_is_refused(queue_scene: Scene, changes: dict[str, str], status: int) -> None:
    queue = queue_scene.queue()
    queue_scene.broker.bindings.bind("taken", queue)
    wanted = {"name": "S", "topic": "a", "queue": "Q", **changes}
    assert asked(queue_scene, "subscription-define", **wanted)[0] == status
    assert queue_scene.broker.bindings.named() == []


def test_the_queue_of_a_client_is_not_for_an_administrators_subscription(queue_scene: Scene) -> None:
    queue = queue_scene.queues.create_dynamic(TEMPORARY_MODEL, object())
    assert asked(queue_scene, "subscription-define", name="S", topic="a", queue=queue.name) == (
        409,
        {"error": f"queue {queue.name} belongs to a client"},
    )


# -- pipelines ---------------------------------------------------------------------------------------------------------


class Pipelines:
    """A server with one pipeline."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def list(self) -> list[dict[str, Any]]:
        return [{"name": "P"}]

    def start_one(self, name: str) -> None:
        self.calls.append(("start", name))

    def stop_one(self, name: str) -> None:
        self.calls.append(("stop", name))

    def remove_one(self, name: str, *, purge: bool) -> dict[str, Any]:
        self.calls.append(("remove", name, purge))
        return {"left": ["files"]}


def test_pipelines_are_listed_started_stopped_and_removed(queue_scene: Scene) -> None:
    pipelines = queue_scene.broker.pipelines = Pipelines()
    assert done(queue_scene, "pipeline-list") == [{"name": "P"}]
    assert done(queue_scene, "pipeline-start", name="P") == {"name": "P"}
    assert done(queue_scene, "pipeline-stop", name="P") == {"name": "P"}
    assert done(queue_scene, "pipeline-remove", name="P") == {"left": ["files"]}
    done(queue_scene, "pipeline-remove", name="P", purge=True)
    assert pipelines.calls == [("start", "P"), ("stop", "P"), ("remove", "P", False), ("remove", "P", True)]


def test_a_broker_without_a_process_has_no_pipelines(queue_scene: Scene) -> None:
    assert asked(queue_scene, "pipeline-list")[0] == 409


# -- while the disk is in trouble --------------------------------------------------------------------------------------


def test_what_the_log_has_to_know_waits_for_the_disk(durable: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    durable.queue()
    monkeypatch.setattr(Store, "trouble", "no space left")
    assert asked(durable, "queue-define", name="R") == (
        503,
        {"error": "messages cannot be stored at present: no space left"},
    )
    assert asked(durable, "queue-show", name="Q")[0] == 200
