"""The management node as clients meet it: where answers go, and when."""

import pytest

from broker.amqp.amqp_clients import AmqpScene
from broker.queue_scenes import Scene
from heliograph.amqp import Accepted, ProtocolError, Source
from heliograph.amqp.messages.message import Message, Value, decode_message, encode_message
from heliograph.broker.amqp.addresses import AddressKind, read_address
from heliograph.broker.amqp.management_node import ManagementNode


@pytest.fixture
def durable(tmp_path):
    scene = Scene(tmp_path)
    yield scene
    scene.close()


def node(scene, is_askers=lambda queue: False):
    return ManagementNode(scene.broker, is_askers)


def request(operation, reply_to="answers", **arguments):
    properties = {"operation": operation}
    return encode_message(Message(Value(arguments), application_properties=properties, reply_to=reply_to))


def answers(queue):
    return [decode_message(entry.payload) for entry in queue.browse()]


def test_its_address_is_known_with_and_without_the_prefix_of_queues():
    assert read_address("$management").kind is AddressKind.MANAGEMENT
    assert read_address("queue://$management", ["queue"]).kind is AddressKind.MANAGEMENT


def test_each_request_of_a_run_is_answered_in_order():
    scene = Scene()
    queue = scene.queue("answers")
    put = node(scene).put([request("queue-show", name="answers"), request("queue-show", name="nobody")])
    assert not put.refused
    assert [answer.application_properties["status"] for answer in answers(queue)] == [200, 404]


def test_the_answer_to_a_change_comes_when_it_is_safe(durable):
    queue = durable.queue("answers")
    durable.turn()
    node(durable).put([request("queue-define", "queue://answers", name="new")])
    assert not answers(queue)
    durable.turn()
    assert [answer.body.value["name"] for answer in answers(queue)] == ["new"]
    durable.crash()
    assert durable.queues.find("new")


@pytest.mark.parametrize("reply_to", [None, "", "topic://news", "$management", "nobody", 5, "SYSTEM.DEAD.LETTER.QUEUE"])
def test_a_request_that_cannot_be_answered_is_refused_and_nothing_is_done(reply_to):
    scene = Scene()
    put = node(scene).put([request("queue-define", reply_to, name="new")])
    assert list(put.refused) == [0]
    assert "new" not in [definition.name for definition in scene.queues.definitions()]


def test_it_takes_no_part_in_units_of_work():
    scene = Scene()
    scene.queue("answers")
    put = node(scene).put([request("queue-list")], work=scene.queues.begin())
    assert put.refused[0].condition == "amqp:not-allowed"


def test_a_run_with_something_that_is_no_message_is_not_begun():
    scene = Scene()
    queue = scene.queue("answers")
    with pytest.raises(ProtocolError):
        node(scene).put([request("queue-list"), b"nonsense"])
    assert not answers(queue)


def test_whoever_asked_may_be_gone_when_the_answer_comes(durable):
    durable.queue("answers")
    node(durable).put([request("queue-define", name="new")])
    durable.queues.delete("answers")
    durable.turn()
    assert durable.queues.find("new")


def test_an_answer_goes_to_no_temporary_queue_but_the_askers_own():
    scene = Scene()
    mine, theirs = (scene.queues.create_dynamic("SYSTEM.DEFAULT.MODEL.QUEUE", object()) for _ in range(2))
    put = node(scene, lambda queue: queue is mine).put(
        [request("queue-list", theirs.name), request("queue-list", mine.name)]
    )
    assert list(put.refused) == [0]
    assert put.refused[0].condition == "amqp:not-allowed"
    assert (len(answers(mine)), theirs.depth) == (1, 0)


def test_an_answer_goes_to_nobodys_subscription():
    scene = Scene()
    queue = scene.queue("$subscription/somebody")
    put = node(scene).put([request("queue-list", queue.name)])
    assert put.refused[0].condition == "amqp:not-found"
    assert not queue.depth


@pytest.mark.parametrize("attributes", [{"put_enabled": False}, {"max_depth": 1}])
def test_nothing_is_done_if_there_is_no_room_for_the_answer(attributes):
    scene = Scene()
    queue = scene.queue("answers", **attributes)
    queue.put([request("anything")])
    put = node(scene).put([request("queue-define", name="new")])
    assert put.refused[0].condition == "amqp:precondition-failed"
    assert "new" not in [definition.name for definition in scene.queues.definitions()]


def test_an_answer_goes_to_the_dead_letter_queue_of_the_configuration_as_little_as_to_the_servers_own():
    scene = Scene()
    scene.queues.open_dead_letter_queue("GRAVES")
    assert node(scene).put([request("queue-list", "GRAVES")]).refused[0].condition == "amqp:not-allowed"


@pytest.mark.parametrize("field", ["message_id", "correlation_id"])
def test_a_request_whose_identifier_is_none_is_refused(field):
    scene = Scene()
    scene.queue("answers")
    properties = {"operation": "queue-list"}
    asked = encode_message(
        Message(Value(None), application_properties=properties, reply_to="answers", **{field: ["a", "list"]})
    )
    assert node(scene).put([asked]).refused[0].condition == "amqp:invalid-field"


def test_a_client_has_answers_in_a_temporary_queue_of_its_own_and_in_no_other(tmp_path):
    scene = AmqpScene(tmp_path)
    scene.host.is_managed = True
    one, other = scene.amqp("one"), scene.amqp("other")
    mine = one.receiver(Source(None, dynamic=True))
    theirs = other.receiver(Source(None, dynamic=True))
    asking = one.sender("$management")
    (taken, refused) = one.send(
        asking, request("queue-list", mine.source.address), request("queue-list", theirs.source.address)
    )
    assert isinstance(taken, Accepted)
    assert refused.error.condition == "amqp:not-allowed"
    assert len(one.messages(mine)) == 1
    assert not other.messages(theirs)
    scene.close()
