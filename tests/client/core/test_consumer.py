"""Consumers and browsers."""

import time

import pytest

from client.memory import Memory
from client.scenes import consumer, fill, producer, send, session, take, take_bodies
from heliograph.amqp import Accepted, Error, Modified, Released
from heliograph.client.core.settings import Acknowledge
from heliograph.client.errors import IllegalState, InvalidDestination, InvalidSelector, NoAnswer, Unsupported


def test_messages_come_in_order(memory):
    fill(memory, "a", "b", "c")
    assert take_bodies(memory, consumer(memory, session(memory))) == ["a", "b", "c"]


def test_credit_is_asked_for_again_when_half_is_used(memory):
    fill(memory, *range(20))
    core = consumer(memory, session(memory), prefetch=10)
    assert len(core.inbox.ready) == 10
    for _ in range(4):
        take(memory, core)
    assert len(core.inbox.ready) == 6
    take(memory, core)
    assert len(core.inbox.ready) == 10


def test_acknowledgements_go_out_as_ranges(memory):
    fill(memory, *range(100))
    core = consumer(memory, session(memory))
    while core.next() is not None:
        pass
    memory.core.touch(core)
    memory.run()
    assert memory.broker.settlements == [(100, Accepted())]


def test_waiting_ends_with_the_first_message(memory):
    core = consumer(memory, session(memory))
    arrival = core.arrival(None)
    memory.run()
    assert not arrival.done
    fill(memory, "m")
    assert memory.finish(arrival)
    assert core.next().body == "m"


def test_when_time_is_up_the_server_is_asked_once_more(memory):
    core = consumer(memory, session(memory))
    arrival = core.arrival(5)
    memory.pass_time(4)
    assert (memory.broker.drains, arrival.done) == (0, False)
    memory.pass_time(2)
    assert memory.broker.drains == 1
    assert memory.finish(arrival) is False


def test_a_message_that_the_drain_brings_is_received(memory):
    owner = session(memory)
    core = consumer(memory, owner, prefetch=0)
    fill(memory, "there")
    assert not core.inbox.ready
    assert memory.finish(core.arrival(0)) is True
    assert take(memory, core).body == "there"


def test_after_a_drain_there_is_credit_again(memory):
    core = consumer(memory, session(memory))
    assert memory.finish(core.arrival(0)) is False
    fill(memory, "m")
    assert take_bodies(memory, core) == ["m"]


def test_without_prefetch_each_message_is_asked_for(memory):
    fill(memory, "a", "b")
    core = consumer(memory, session(memory), prefetch=0)
    assert memory.finish(core.arrival(None)) is True
    assert take(memory, core).body == "a"
    assert memory.broker.bodies("q") == ["b"]


def test_a_server_that_does_not_answer_a_drain_closes_the_consumer(monkeypatch):
    memory = Memory(timeout=5.0)
    memory.open()
    core = consumer(memory, session(memory))
    monkeypatch.setattr(type(memory.broker.attached[-1]), "drained", lambda self: None)
    arrival = core.arrival(0)
    memory.pass_time(memory.core.settings.timeout + 1)
    with pytest.raises(NoAnswer, match="5 seconds"):
        arrival.result()
    with pytest.raises(NoAnswer):
        core.check()


def test_expired_messages_are_not_shown(memory):
    owner = session(memory)
    core = producer(memory, owner)
    memory.finish(send(core, "short", ttl=0.001))
    memory.finish(send(core, "long"))
    time.sleep(0.005)
    assert take_bodies(memory, consumer(memory, owner)) == ["long"]
    assert (1, Modified(delivery_failed=True, undeliverable_here=True)) in memory.broker.settlements


def test_what_is_no_message_is_not_shown_and_does_not_come_again(memory, caplog):
    memory.broker.put("q", b"\x00\x53\x75\xa0\x05cut")
    fill(memory, "a message")
    assert take_bodies(memory, consumer(memory, session(memory))) == ["a message"]
    assert (1, Modified(delivery_failed=True, undeliverable_here=True)) in memory.broker.settlements
    assert "no message" in caplog.text


def test_what_was_fetched_and_not_seen_goes_back_when_the_consumer_is_closed(memory):
    fill(memory, "a", "b", "c")
    core = consumer(memory, session(memory))
    assert take(memory, core).body == "a"
    memory.do(core.close())
    assert memory.broker.bodies("q") == ["b", "c"]
    assert memory.broker.settlements[-1] == (2, Released())


def test_waiting_at_a_consumer_that_is_closed_meanwhile_ends(memory):
    core = consumer(memory, session(memory))
    arrival = core.arrival(None)
    memory.do(core.close())
    with pytest.raises(IllegalState, match="closed"):
        memory.finish(arrival)


def test_a_consumer_that_the_server_ends_says_why(memory):
    core = consumer(memory, session(memory))
    arrival = core.arrival(None)
    memory.run()
    memory.broker.attached[-1].detach(error=Error("amqp:resource-deleted", "the queue was deleted"))
    memory.run()
    with pytest.raises(InvalidDestination, match="was deleted"):
        arrival.result()


def test_a_session_that_the_server_ends_ends_everything_in_it(memory):
    owner = session(memory)
    core = consumer(memory, owner)
    drain = core.arrival(0)
    memory.broker.attached[-1].session.end(Error("amqp:internal-error", "crashed"))
    memory.run()
    with pytest.raises(Exception, match="crashed"):
        drain.result()
    with pytest.raises(Exception, match="crashed"):
        owner.check()


def test_a_browser_sees_copies_and_then_the_end(memory):
    fill(memory, "a", "b")
    core = consumer(memory, session(memory), browse=True)
    link = memory.broker.attached[-1]
    assert (link.source.distribution_mode, link.snd_settle_mode) == ("copy", 1)
    assert take_bodies(memory, core) == ["a", "b"]
    assert memory.finish(core.arrival(0)) is False
    assert memory.broker.bodies("q") == ["a", "b"]


def test_a_selector_goes_to_the_server(memory):
    consumer(memory, session(memory), selector="colour = 'red'", no_local=True)
    filters = memory.broker.attached[-1].source.filter
    assert filters["jms-selector"].descriptor == 0x0000468C00000004
    assert filters["jms-selector"].value == "colour = 'red'"
    assert filters["no-local"].descriptor == 0x0000468C00000003


@pytest.mark.parametrize(
    ("options", "kind"), [({"selector": "a = 1"}, InvalidSelector), ({"no_local": True}, Unsupported)]
)
def test_a_server_that_ignores_a_filter_is_not_used_with_one(memory, options, kind):
    memory.broker.accept_filters = False
    with pytest.raises(kind):
        consumer(memory, session(memory), **options)
    memory.run()
    assert memory.broker.attached[-1].gone


def test_a_queue_that_is_not_there_is_a_problem(memory):
    memory.broker.refuse["q"] = Error("amqp:not-found", "no queue q")
    with pytest.raises(InvalidDestination, match="no queue q"):
        consumer(memory, session(memory))


def test_in_mode_none_messages_come_settled(memory):
    fill(memory, "a")
    core = consumer(memory, session(memory, Acknowledge.NONE))
    assert take_bodies(memory, core) == ["a"]
    assert memory.broker.attached[-1].snd_settle_mode == 1
    assert memory.broker.settlements == []
