"""Producers."""

import pytest

from client.memory import Memory
from client.scenes import producer, send, session
from client.small_broker import Broker
from heliograph.amqp import Error, Modified, Rejected, Released
from heliograph.amqp.messages.message import decode_message
from heliograph.amqp.messages.message_peek import peek
from heliograph.client import Message
from heliograph.client.core.producer import WINDOW
from heliograph.client.errors import (
    IllegalState,
    InvalidDestination,
    MessageRefused,
    MessageTooLarge,
    ResourceLimit,
    SecurityError,
    Unsupported,
)
from heliograph.client.pending import start
from heliograph.errors import Problem


def test_a_send_is_done_when_the_server_has_accepted(memory):
    memory.broker.outcomes["q"] = None
    core = producer(memory, session(memory))
    sent = send(core, "hello")
    memory.run()
    assert not sent.done
    del memory.broker.outcomes["q"]
    memory.finish(send(core, "again"))


@pytest.mark.parametrize(
    ("outcome", "kind"),
    [
        (Rejected(Error("amqp:resource-limit-exceeded", "the queue is full")), ResourceLimit),
        (Rejected(Error("amqp:link:message-size-exceeded", "too large")), MessageTooLarge),
        (Rejected(None), MessageRefused),
        (Released(), MessageRefused),
        (Modified(delivery_failed=True), MessageRefused),
    ],
)
def test_what_the_server_does_not_accept_is_a_problem_of_its_kind(memory, outcome, kind):
    memory.broker.outcomes["q"] = outcome
    sent = send(producer(memory, session(memory)), "hello")
    with pytest.raises(kind, match="q"):
        memory.finish(sent)


@pytest.mark.parametrize(
    ("condition", "kind"),
    [("amqp:not-found", InvalidDestination), ("amqp:unauthorized-access", SecurityError)],
)
def test_a_refused_producer_is_a_problem_with_the_servers_text(memory, condition, kind):
    memory.broker.refuse["q"] = Error(condition, "because of this")
    with pytest.raises(kind, match="because of this") as caught:
        producer(memory, session(memory))
    assert caught.value.condition == condition


def test_messages_of_one_turn_leave_as_one_run(memory):
    core = producer(memory, session(memory))
    before = memory.writes
    sent = [send(core, number) for number in range(50)]
    memory.run()
    assert all(each.done for each in sent)
    assert memory.broker.runs == [50]
    assert memory.writes == before + 1


def test_more_messages_than_credit_wait_and_keep_their_order(memory):
    memory.broker.credit = 7
    core = producer(memory, session(memory))
    for number in range(50):
        send(core, str(number))
    memory.run()
    assert memory.broker.bodies("q") == [str(number) for number in range(50)]
    assert max(memory.broker.runs) == 7


def test_presettled_messages_need_no_answer(memory):
    core = producer(memory, session(memory), presettled=True)
    assert memory.broker.attached[-1].snd_settle_mode == 1
    sent = send(core, "gone")
    memory.core.flush()
    assert sent.done


def test_headers_are_set_by_sending(memory):
    core = producer(memory, session(memory), persistent=False, priority=7, ttl=60)
    message = Message("m")
    memory.finish(send(core, message))
    payload = memory.broker.queues["q"][0]
    seen, found = peek(payload), decode_message(payload)
    assert (seen.durable, seen.priority, seen.ttl) == (False, 7, 60_000)
    assert found.absolute_expiry_time == found.creation_time + 60_000
    assert found.message_id == message.message_id
    assert found.message_id.startswith("ID:")
    assert message.destination == core.destination


def test_messages_are_persistent_unless_asked_otherwise(memory):
    core = producer(memory, session(memory))
    memory.finish(send(core, "one"))
    memory.finish(send(core, "two", persistent=False))
    assert [bool(peek(payload).durable) for payload in memory.broker.queues["q"]] == [True, False]


def test_a_message_may_leave_persistence_and_priority_to_the_queue(memory):
    core = producer(memory, session(memory), persistent=None, priority=None)
    for options in ({}, {"priority": 4}, {"priority": 5}, {"persistent": True}, {"ttl": 9}):
        memory.finish(send(core, "m", **options))
    seen = [peek(payload) for payload in memory.broker.queues["q"]]
    assert [(one.durable, one.priority) for one in seen] == [
        (None, None),
        (None, 4),
        (None, 5),
        (True, None),
        (None, None),
    ]


def test_a_delay_travels_as_the_time_of_delivery(memory):
    core = producer(memory, session(memory))
    message = Message("later")
    memory.finish(send(core, message, delay=5))
    assert peek(memory.broker.queues["q"][0]).deliver_at == round(message.delivery_time * 1000)
    assert message.delivery_time == pytest.approx(message.timestamp + 5)


def test_a_delay_that_the_server_would_ignore_is_refused():
    memory = Memory()
    memory.brokers["here"] = Broker(capabilities=("ANONYMOUS-RELAY",))
    memory.open()
    core = producer(memory, session(memory))
    with pytest.raises(Unsupported, match="delayed delivery"):
        send(core, "later", delay=5)


@pytest.mark.parametrize("options", [{"priority": 10}, {"ttl": 0}, {"delay": -1}, {"colour": "red"}])
def test_options_that_make_no_sense_are_refused(memory, options):
    core = producer(memory, session(memory))
    with pytest.raises(Problem):
        send(core, "m", **options)


def test_a_producer_without_destination_sends_anywhere_over_one_link(memory):
    core = producer(memory, session(memory), to=None)
    for name in ("a", "b", "topic://c"):
        memory.finish(send(core, name, to=name))
    assert (memory.broker.bodies("a"), memory.broker.bodies("b")) == (["a"], ["b"])
    assert memory.broker.bodies("c") == ["topic://c"]
    assert [link.target.address for link in memory.broker.attached] == [None]


def test_where_the_server_does_not_route_there_is_a_link_for_each_destination():
    memory = Memory()
    memory.brokers["here"] = Broker(capabilities=())
    memory.open()
    core = producer(memory, session(memory), to=None)
    for name in ("a", "b", "a"):
        memory.finish(send(core, name, to=name))
    assert memory.broker.bodies("a") == ["a", "a"]
    assert [link.target.address for link in memory.broker.attached] == ["a", "b"]


def test_links_for_single_destinations_do_not_pile_up():
    memory = Memory()
    memory.brokers["here"] = Broker(capabilities=())
    memory.open()
    core = producer(memory, session(memory), to=None)
    for number in range(100):
        memory.finish(send(core, "m", to=f"queue-{number}"))
    assert sum(not link.gone for link in memory.broker.attached) <= 25


def test_a_destination_is_given_once():
    memory = Memory()
    memory.open()
    core = producer(memory, session(memory))
    with pytest.raises(IllegalState, match="Queue"):
        send(core, "m", to="elsewhere")
    anonymous = producer(memory, session(memory), to=None)
    with pytest.raises(InvalidDestination):
        send(anonymous, "m")


def test_there_is_a_limit_to_what_is_on_the_way(memory):
    memory.broker.outcomes["q"] = None
    memory.broker.credit = 2 * WINDOW
    core = producer(memory, session(memory))
    for _ in range(WINDOW):
        send(core, "m")
    memory.run()
    assert not core.room().done
    memory.cut()
    del memory.broker.outcomes["q"]
    memory.pass_time(1)
    assert core.room().done


def test_closing_waits_for_messages_on_the_way(memory):
    core = producer(memory, session(memory))
    sent = [send(core, "m") for _ in range(300)]
    memory.do(core.close())
    assert all(each.done and each.error is None for each in sent)
    with pytest.raises(IllegalState, match="closed"):
        memory.finish(send(core, "late"))


def test_a_link_that_the_server_ends_fails_what_is_on_the_way_and_all_that_follows(memory):
    memory.broker.outcomes["q"] = None
    core = producer(memory, session(memory))
    sent = send(core, "m")
    memory.run()
    memory.broker.attached[-1].detach(error=Error("amqp:resource-deleted", "the queue was deleted"))
    with pytest.raises(InvalidDestination, match="was deleted"):
        memory.finish(sent)
    with pytest.raises(InvalidDestination, match="was deleted"):
        memory.finish(send(core, "m"))


def test_prefixes_that_a_server_wants_are_added_to_names():
    memory = Memory()
    memory.broker.properties = {"queue-prefix": "jms.queue.", "topic-prefix": "jms.topic."}
    memory.open()
    owner = session(memory)
    memory.finish(send(producer(memory, owner, "q"), "m"))
    memory.finish(send(producer(memory, owner, "topic://t"), "m"))
    assert set(memory.broker.queues) == {"jms.queue.q", "jms.topic.t"}
    assert memory.core.name_of("jms.topic.t") == "t"


@pytest.mark.parametrize("what", ["connection", "session", "producer"])
def test_closing_waits_for_messages_that_wait_for_their_first_link(what):
    memory = Memory()
    memory.broker.capabilities = ()
    memory.open()
    owner = session(memory)
    core = producer(memory, owner, None)
    sent = send(core, "a", "q")
    closing = {"connection": memory.core, "session": owner, "producer": core}[what].close()
    memory.finish(closing if what == "connection" else start(closing))
    assert sent.done
    assert memory.broker.bodies("q") == ["a"]
