"""The management node as clients meet it: where answers go, and when."""

import pytest

from broker.queues.scenes import Scene
from heliograph.amqp import ProtocolError
from heliograph.amqp.message import Message, Value, decode_message, encode_message
from heliograph.broker.links.addresses import Kind, read_address
from heliograph.broker.links.management_node import ManagementNode


@pytest.fixture
def durable(tmp_path):
    scene = Scene(tmp_path)
    yield scene
    scene.close()


def request(operation, reply_to="answers", **arguments):
    properties = {"operation": operation}
    return encode_message(Message(Value(arguments), application_properties=properties, reply_to=reply_to))


def answers(queue):
    return [decode_message(entry.payload) for entry in queue.browse()]


def test_its_address_is_known_with_and_without_the_prefix_of_queues():
    assert read_address("$management").kind is Kind.MANAGEMENT
    assert read_address("queue://$management", ["queue"]).kind is Kind.MANAGEMENT


def test_each_request_of_a_run_is_answered_in_order():
    scene = Scene()
    queue = scene.queue("answers")
    put = ManagementNode(scene.broker).put(
        [request("queue-show", name="answers"), request("queue-show", name="nobody")]
    )
    assert not put.refused
    assert [answer.application_properties["status"] for answer in answers(queue)] == [200, 404]


def test_the_answer_to_a_change_comes_when_it_is_safe(durable):
    queue = durable.queue("answers")
    durable.turn()
    ManagementNode(durable.broker).put([request("queue-define", "queue://answers", name="new")])
    assert not answers(queue)
    durable.turn()
    assert [answer.body.value["name"] for answer in answers(queue)] == ["new"]
    durable.crash()
    assert durable.queues.find("new")


@pytest.mark.parametrize("reply_to", [None, "", "topic://news", "$management", "nobody"])
def test_a_request_that_cannot_be_answered_is_refused_and_nothing_is_done(reply_to):
    scene = Scene()
    put = ManagementNode(scene.broker).put([request("queue-define", reply_to, name="new")])
    assert list(put.refused) == [0]
    assert "new" not in [definition.name for definition in scene.queues.definitions()]


def test_it_takes_no_part_in_units_of_work():
    scene = Scene()
    scene.queue("answers")
    put = ManagementNode(scene.broker).put([request("queue-list")], work=scene.queues.begin())
    assert put.refused[0].condition == "amqp:not-allowed"


def test_a_run_with_something_that_is_no_message_is_not_begun():
    scene = Scene()
    queue = scene.queue("answers")
    with pytest.raises(ProtocolError):
        ManagementNode(scene.broker).put([request("queue-list"), b"nonsense"])
    assert not answers(queue)


def test_whoever_asked_may_be_gone_when_the_answer_comes(durable):
    durable.queue("answers")
    ManagementNode(durable.broker).put([request("queue-define", name="new")])
    durable.queues.delete("answers")
    durable.turn()
    assert durable.queues.find("new")
