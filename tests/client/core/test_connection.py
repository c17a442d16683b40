"""Connections: made, refused, lost and made again."""

import pytest

from client.memory import Memory
from client.scenes import consumer, fill, producer, send, session, take, take_bodies
from client.small_broker import Broker, Peer
from heliograph.amqp import Error, Released
from heliograph.amqp.messages.message import Message as AmqpMessage
from heliograph.amqp.messages.message import Value, decode_message, encode_message
from heliograph.client import Queue
from heliograph.client.core.settings import Acknowledge
from heliograph.client.errors import (
    ConnectionLost,
    IllegalState,
    InvalidClientId,
    InvalidDestination,
    NoAnswer,
    SecurityError,
    Unsupported,
)
from heliograph.client.pending import start


def redirect(host: str, **more: object) -> Error:
    return Error("amqp:connection:redirect", "over there", {"network-host": host, "port": 5672, **more})


def test_the_first_server_that_lets_us_in_is_used():
    memory = Memory(["amqp://down", "amqp://here", "amqp://other"])
    memory.open()
    assert memory.dialled == ["down", "here"]


def test_when_no_server_is_there_each_has_its_reason():
    memory = Memory(["amqp://a", "amqp://b"])
    with pytest.raises(ConnectionLost, match=r"amqp://a:5672: cannot connect; amqp://b:5672: cannot connect"):
        memory.open()


def test_a_wrong_password_is_a_security_error():
    memory = Memory("amqp://ann:wrong@here")
    memory.broker.users = {"ann": "right"}
    with pytest.raises(SecurityError):
        memory.open()


def test_a_client_id_in_use_is_a_problem_of_its_own():
    memory = Memory(client_id="twice")
    memory.broker.close_with = Error("amqp:invalid-field", "twice is connected", {"invalid-field": "container-id"})
    memory.broker.properties = {"amqp:connection-establishment-failed": True}
    with pytest.raises(InvalidClientId, match="twice is connected"):
        memory.open()


def test_a_server_that_refuses_without_warning_is_noticed_too():
    memory = Memory()
    memory.broker.close_with = Error("amqp:resource-limit-exceeded", "too many connections")
    with pytest.raises(Exception, match="too many connections"):
        memory.open()


def test_a_server_that_says_nothing_is_not_waited_for_for_ever(monkeypatch):
    memory = Memory(timeout=5)
    monkeypatch.setattr("client.small_broker.Peer.receive", lambda self, data: None)
    opening = memory.core.open()
    memory.pass_time(6)
    with pytest.raises(NoAnswer, match="5 seconds"):
        opening.result()


def test_the_server_is_told_who_we_are_and_what_we_want():
    memory = Memory("amqp://here:1/?hostname=QM1", client_id="me")
    memory.open()
    opened = memory.broker.peers[0].open
    assert (opened.container_id, opened.hostname) == ("me", "QM1")
    assert opened.desired_capabilities == (
        "sole-connection-for-container",
        "DELAYED_DELIVERY",
        "ANONYMOUS-RELAY",
        "SHARED-SUBS",
    )


def test_a_redirection_is_followed_with_the_host_name_that_it_gives():
    memory = Memory()
    memory.broker.close_with = redirect("other", hostname="QM2")
    memory.brokers["other"] = Broker()
    memory.open()
    assert memory.dialled == ["here", "other"]
    assert memory.brokers["other"].peers[0].open.hostname == "QM2"


def test_redirections_in_a_circle_come_to_an_end():
    memory = Memory()
    memory.broker.close_with = redirect("here")
    with pytest.raises(ConnectionLost, match="redirected"):
        memory.open()


def test_a_lost_connection_is_made_again_and_the_application_told():
    told = []
    memory = Memory(on_interrupted=lambda problem: told.append(str(problem)), on_restored=told.append)
    memory.open()
    memory.cut()
    memory.pass_time(1)
    assert told == ["amqp://here:5672: cut", "amqp://here:5672"]


def test_another_server_of_the_list_takes_over():
    memory = Memory(["amqp://here", "amqp://other"])
    memory.brokers["other"] = Broker()
    memory.open()
    owner = session(memory)
    core = producer(memory, owner)
    del memory.brokers["here"]
    memory.cut()
    memory.pass_time(1)
    memory.finish(send(core, "m"))
    assert memory.brokers["other"].bodies("q") == ["m"]


def test_a_server_that_was_announced_takes_over():
    memory = Memory()
    memory.broker.properties = {"failover-server-list": [{"network-host": "standby", "port": 5672, "scheme": "amqp"}]}
    memory.brokers["standby"] = Broker()
    memory.open()
    del memory.brokers["here"]
    memory.cut()
    memory.pass_time(1)
    assert memory.brokers["standby"].peers


def test_pauses_between_rounds_grow():
    memory = Memory()
    memory.open()
    broker = memory.brokers.pop("here")
    memory.cut()
    memory.pass_time(1)
    soon = len(memory.dialled)
    memory.pass_time(1000)
    assert soon > 3
    assert len(memory.dialled) < 100
    memory.brokers["here"] = broker
    memory.pass_time(31)
    assert broker.peers


def test_messages_that_were_not_acknowledged_are_sent_again_in_order(memory):
    memory.broker.outcomes["q"] = None
    core = producer(memory, session(memory))
    sent = [send(core, number) for number in range(10)]
    memory.run()
    del memory.broker.outcomes["q"]
    memory.cut()
    waiting = send(core, 10)
    memory.pass_time(1)
    assert all(each.done for each in [*sent, waiting])
    assert memory.broker.bodies("q") == list(range(11))


def test_a_consumer_goes_on_after_a_loss(memory):
    fill(memory, "a", "b")
    core = consumer(memory, session(memory))
    arrival = None
    assert take(memory, core).body == "a"
    memory.cut()
    assert core.next() is None
    arrival = core.arrival(None)
    memory.pass_time(1)
    assert memory.finish(arrival)
    again = take(memory, core)
    assert (again.body, again.delivery_count) == ("b", 2)


def test_a_message_of_a_lost_connection_is_not_acknowledged_on_the_next(memory):
    fill(memory, "a")
    core = consumer(memory, session(memory, Acknowledge.INDIVIDUAL))
    stale = take(memory, core)
    memory.cut()
    memory.pass_time(1)
    stale.acknowledge()
    memory.run()
    assert memory.broker.settlements == []
    take(memory, core).acknowledge()
    memory.run()
    assert len(memory.broker.settlements) == 1


def test_receiving_without_waiting_finds_nothing_while_there_is_no_connection(memory):
    core = consumer(memory, session(memory))
    del memory.brokers["here"]
    memory.cut()
    assert memory.finish(core.arrival(0)) is False


def test_a_session_asked_for_during_a_loss_comes_when_the_connection_is_back(memory):
    memory.cut()
    coming = memory.core.session(Acknowledge.AUTO)
    assert not coming.done
    memory.pass_time(1)
    assert coming.done


def test_a_durable_subscription_is_taken_up_again():
    memory = Memory(client_id="me")
    memory.open()
    owner = session(memory)
    core = consumer(memory, owner, "topic://news", subscription="mine", durable=True)
    memory.cut()
    memory.pass_time(1)
    memory.finish(send(producer(memory, owner, "topic://news"), "m"))
    assert take_bodies(memory, core) == ["m"]


def test_what_is_not_there_any_more_after_a_loss_is_closed_with_the_reason(memory):
    owner = session(memory)
    core, other = consumer(memory, owner, "gone"), consumer(memory, owner, "kept")
    arrival = core.arrival(None)
    memory.broker.refuse["gone"] = Error("amqp:not-found", "no queue gone")
    memory.cut()
    memory.pass_time(1)
    with pytest.raises(InvalidDestination, match="no queue gone"):
        memory.finish(arrival)
    other.check()


def test_a_connection_lost_while_it_is_being_restored_is_tried_again(memory, monkeypatch):
    core = producer(memory, session(memory))
    memory.cut()
    attach, failures = core._links["q"].attach, iter([True, True])

    async def fail_twice():
        if next(failures, False):
            memory.cut()
        await attach()

    monkeypatch.setattr(core._links["q"], "attach", fail_twice)
    memory.pass_time(5)
    memory.finish(send(core, "m"))
    assert memory.broker.bodies("q") == ["m"]


def test_what_is_closed_while_the_connection_breaks_is_closed(memory):
    fill(memory, "m")
    owner = session(memory, Acknowledge.CLIENT)
    core, source = producer(memory, owner), consumer(memory, owner)
    memory.broker.outcomes["q"] = None
    send(core, "unanswered")
    memory.run()
    closing = [start(core.close()), start(source.close()), start(owner.close())]
    memory.cut()
    for each in closing:
        memory.finish(each)
    memory.pass_time(1)
    memory.do(owner.close())


def test_an_answer_that_comes_too_late_leaves_no_link_behind(monkeypatch):
    memory = Memory(timeout=5)
    memory.open()
    owner = session(memory)
    late = []
    attach = Peer._attach
    monkeypatch.setattr(Peer, "_attach", lambda self, link: late.append((self, link)))
    opening = start(owner.add(owner.consumer(Queue("q"))))
    memory.pass_time(6)
    with pytest.raises(NoAnswer):
        memory.finish(opening)
    attach(*late[0])
    memory.run()
    assert late[0][1].gone


def test_without_reconnection_everything_ends_with_the_connection():
    memory = Memory(reconnect=False)
    memory.open()
    owner = session(memory)
    memory.broker.outcomes["q"] = None
    sent = send(producer(memory, owner), "m")
    arrival = consumer(memory, owner, "other").arrival(None)
    memory.run()
    memory.cut()
    for pending in (sent, arrival, memory.core.session(Acknowledge.AUTO)):
        with pytest.raises(ConnectionLost, match="cut"):
            memory.finish(pending)


def test_reconnecting_ends_when_all_servers_say_that_they_never_will(memory):
    memory.broker.users = {}
    memory.cut()
    memory.pass_time(1)
    with pytest.raises(SecurityError):
        memory.core.check()


def test_a_request_that_makes_the_server_close_the_connection_is_not_repeated(memory, monkeypatch):
    def close(peer, link):
        peer.engine.close(Error("amqp:not-implemented", "no such thing"))

    owner = session(memory)
    monkeypatch.setattr("client.small_broker.Peer._attach", close)
    with pytest.raises(Unsupported, match="no such thing"):
        producer(memory, owner)
    assert len(memory.dialled) == 2


def test_a_silent_server_is_taken_for_dead():
    memory = Memory(idle_timeout=10)
    memory.open()
    memory.pass_time(25)
    assert len(memory.dialled) > 1


def test_closing_gives_back_what_was_fetched_and_finishes_what_was_sent(memory):
    fill(memory, "a", "b", queue="in")
    owner = session(memory)
    core, source = producer(memory, owner), consumer(memory, owner, "in")
    assert source.next().body == "a"
    sent = send(core, "m")
    memory.finish(memory.core.close())
    assert sent.done
    assert memory.broker.bodies("in") == ["b"]
    assert memory.broker.bodies("q") == ["m"]
    assert memory.broker.peers == []
    with pytest.raises(IllegalState, match="the connection is closed"):
        owner.check()


def test_closing_gives_back_what_is_on_its_way_and_that_is_no_failure(memory):
    consumer(memory, session(memory), "in")
    memory.broker.put("in", encode_message(AmqpMessage(Value("late"))))
    memory.broker.deliver()  # it leaves the server, which has not heard of the close
    memory.finish(memory.core.close())
    (again,) = map(decode_message, memory.broker.queues["in"])
    assert (again.body.value, again.delivery_count) == ("late", 0)
    assert memory.broker.settlements == [(1, Released())]


def test_closing_while_there_is_no_connection_ends_the_attempts(memory):
    del memory.brokers["here"]
    memory.cut()
    memory.run()
    memory.finish(memory.core.close())
    attempts = len(memory.dialled)
    memory.pass_time(100)
    assert len(memory.dialled) == attempts
