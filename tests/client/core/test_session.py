"""Ways to acknowledge, and recover."""

import pytest

from client.scenes import consumer, fill, session, take, take_bodies
from heliograph.amqp import Accepted, Modified
from heliograph.client.core.settings import Acknowledge
from heliograph.client.errors import IllegalState


def test_auto_acknowledges_what_was_received_and_nothing_else(memory):
    fill(memory, "a", "b")
    take(memory, consumer(memory, session(memory)))
    assert memory.broker.settlements == [(1, Accepted())]


def test_a_client_acknowledges_all_that_its_session_has_received(memory):
    fill(memory, "a", "b", "c")
    core = consumer(memory, session(memory, Acknowledge.CLIENT))
    take(memory, core)
    second = take(memory, core)
    assert memory.broker.settlements == []
    second.acknowledge()
    memory.run()
    assert memory.broker.settlements == [(2, Accepted())]


def test_individual_acknowledgement_is_for_one_message(memory):
    fill(memory, "a", "b")
    owner = session(memory, Acknowledge.INDIVIDUAL)
    core = consumer(memory, owner)
    take(memory, core)
    take(memory, core).acknowledge()
    memory.run()
    assert memory.broker.settlements == [(1, Accepted())]
    memory.do(owner.close())
    assert memory.broker.bodies("q") == ["a"]


def test_acknowledging_twice_does_nothing_more(memory):
    fill(memory, "a")
    message = take(memory, consumer(memory, session(memory, Acknowledge.INDIVIDUAL)))
    message.acknowledge()
    message.acknowledge()
    memory.run()
    assert memory.broker.settlements == [(1, Accepted())]


def test_what_was_not_acknowledged_counts_as_failed_when_the_session_closes(memory):
    fill(memory, "a", "b")
    owner = session(memory, Acknowledge.CLIENT)
    take(memory, consumer(memory, owner))
    memory.do(owner.close())
    again = consumer(memory, session(memory))
    first, second = take(memory, again), take(memory, again)
    assert (first.body, first.delivery_count) == ("a", 2)
    assert (second.body, second.delivery_count) == ("b", 1)


def test_recover_gives_out_again_what_was_not_acknowledged_before_the_rest(memory):
    fill(memory, "a", "b", "c")
    owner = session(memory, Acknowledge.CLIENT)
    core = consumer(memory, owner)
    take(memory, core).acknowledge()
    take(memory, core)
    memory.do(owner.recover())
    again = take(memory, core)
    assert (again.body, again.redelivered, again.delivery_count) == ("b", True, 2)
    assert take(memory, core).body == "c"
    memory.do(owner.recover())
    assert [take(memory, core).delivery_count for _ in range(2)] == [3, 2]
    assert memory.broker.settlements == [(1, Accepted())]


def test_what_recover_gave_out_can_be_acknowledged(memory):
    fill(memory, "a", "b")
    owner = session(memory, Acknowledge.CLIENT)
    core = consumer(memory, owner)
    take_bodies(memory, core)
    memory.do(owner.recover())
    take(memory, core)
    take(memory, core).acknowledge()
    memory.run()
    assert memory.broker.settlements == [(2, Accepted())]


def test_a_transacted_session_is_not_recovered(memory):
    owner = session(memory, Acknowledge.TRANSACTED)
    with pytest.raises(IllegalState, match="rolled back"):
        memory.do(owner.recover())


def test_messages_of_a_closed_consumer_can_still_be_acknowledged(memory):
    fill(memory, "a", "b")
    core = consumer(memory, session(memory, Acknowledge.CLIENT))
    message = take(memory, core)
    memory.do(core.close())
    link = memory.broker.attached[-1]
    assert not link.gone
    message.acknowledge()
    memory.run()
    assert link.gone
    assert memory.broker.bodies("q") == ["b"]


def test_a_message_that_a_listener_failed_with_comes_again(memory):
    fill(memory, "a")
    core = consumer(memory, session(memory))
    message, through = core.next_for_listener()
    through(False)
    memory.core.touch(core)
    memory.run()
    assert memory.broker.settlements == [(1, Modified(delivery_failed=True))]
    assert take(memory, core).delivery_count == 2
    assert message.delivery_count == 1


def test_a_message_is_not_acknowledged_while_its_listener_is_at_work(memory):
    fill(memory, "a")
    core = consumer(memory, session(memory))
    _, through = core.next_for_listener()
    memory.core.touch(core)
    memory.run()
    assert memory.broker.settlements == []
    through(True)
    memory.core.touch(core)
    memory.run()
    assert memory.broker.settlements == [(1, Accepted())]
