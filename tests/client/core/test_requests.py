"""Temporary destinations, requests and replies."""

import pytest

from client.memory import Memory
from client.scenes import consumer, producer, send, session, take
from client.small_broker import Broker
from heliograph.amqp import Error
from heliograph.client import Message, TemporaryQueue, TemporaryTopic
from heliograph.client.core.settings import Acknowledge
from heliograph.client.errors import IllegalState, InvalidDestination, NoAnswer
from heliograph.client.pending import start


def answer_one(memory: Memory, core, *, by: str = "correlation_id"):
    """Take a request and send its body back with an exclamation mark."""
    request = take(memory, core)
    reply = Message(request.body + "!", correlation_id=getattr(request, by))
    owner = core.session
    memory.finish(send(producer(memory, owner, request.reply_to), reply))
    return request


@pytest.mark.parametrize("by", ["correlation_id", "message_id"])
def test_a_request_gets_its_reply(memory, by):
    server = consumer(memory, session(memory), "service")
    asking = start(session(memory).requests.request("service", "hello", None))
    memory.run()
    answer_one(memory, server, by=by)
    assert memory.finish(asking).body == "hello!"


def test_replies_find_their_requests_in_any_order(memory):
    server = consumer(memory, session(memory), "service")
    owner = session(memory)
    asking = {body: start(owner.requests.request("service", body, None)) for body in ("a", "b", "c")}
    memory.run()
    requests = [take(memory, server) for _ in asking]
    for request in reversed(requests):
        reply = Message(request.body.upper(), correlation_id=request.correlation_id)
        memory.finish(send(producer(memory, server.session, request.reply_to), reply))
    assert {body: memory.finish(reply).body for body, reply in asking.items()} == {"a": "A", "b": "B", "c": "C"}


def test_a_request_without_reply_ends_in_time(memory):
    asking = start(session(memory).requests.request("service", "hello", 5))
    memory.pass_time(4)
    assert not asking.done
    memory.pass_time(2)
    with pytest.raises(NoAnswer, match=r"service.* 5 seconds"):
        asking.result()


def test_a_late_reply_harms_nobody(memory):
    server = consumer(memory, session(memory), "service")
    owner = session(memory)
    start(owner.requests.request("service", "slow", 1))
    memory.pass_time(2)
    asking = start(owner.requests.request("service", "quick", 1))
    memory.run()
    answer_one(memory, server)
    answer_one(memory, server)
    assert memory.finish(asking).body == "quick!"


def test_a_request_to_nowhere_is_a_problem():
    memory = Memory()
    memory.brokers["here"] = Broker(capabilities=())
    memory.open()
    memory.broker.refuse["nowhere"] = Error("amqp:not-found", "no queue nowhere")
    with pytest.raises(InvalidDestination, match="no queue nowhere"):
        memory.do(session(memory).requests.request("nowhere", "hello", None))


def test_requests_of_a_session_share_a_queue_for_replies(memory):
    owner = session(memory)
    for _ in range(3):
        start(owner.requests.request("service", "hello", None))
    memory.run()
    assert sum(name.startswith("temporary-") for name in memory.broker.queues) == 1


def test_a_request_survives_a_lost_connection(memory):
    asking = start(session(memory).requests.request("service", "hello", None))
    memory.run()
    memory.broker.queues["service"].clear()
    memory.cut()
    memory.pass_time(1)
    answer_one(memory, consumer(memory, session(memory), "service"))
    assert memory.finish(asking).body == "hello!"


def test_a_transacted_session_makes_no_requests(memory):
    owner = session(memory, Acknowledge.TRANSACTED)
    with pytest.raises(IllegalState, match="transacted"):
        memory.do(owner.requests.request("service", "hello", None))


@pytest.mark.parametrize(
    ("kind", "capability"), [(TemporaryQueue, "temporary-queue"), (TemporaryTopic, "temporary-topic")]
)
def test_a_temporary_destination_is_named_by_the_server(memory, kind, capability):
    place = memory.do(memory.core.temporary(kind))
    assert place.name.startswith("temporary-")
    assert memory.broker.attached[-1].target.capabilities == (capability,)


def test_a_temporary_queue_is_asked_for_as_qpid_does(memory, monkeypatch):
    asked = []
    monkeypatch.setattr("client.small_broker.Peer._attach", lambda self, link: asked.append(link.target))
    start(memory.core.temporary(TemporaryQueue))
    memory.run()
    (target,) = asked
    assert (target.dynamic, target.expiry_policy) == (True, "link-detach")
    assert target.dynamic_node_properties["lifetime-policy"].descriptor == 0x2B


def test_a_temporary_queue_can_be_deleted_by_its_maker_alone(memory):
    place = memory.do(memory.core.temporary(TemporaryQueue))
    memory.finish(place.remover()())
    assert memory.broker.attached[-1].gone
    with pytest.raises(IllegalState, match="another client"):
        TemporaryQueue("not mine").remover()


def test_a_temporary_queue_has_a_new_name_after_a_loss_and_its_consumer_follows(memory):
    owner = session(memory)
    place = memory.do(memory.core.temporary(TemporaryQueue))
    core = consumer(memory, owner, place)
    before = place.name
    memory.cut()
    memory.pass_time(1)
    assert place.name != before
    memory.finish(send(producer(memory, owner, place), "m"))
    assert take(memory, core).body == "m"
