"""Units of work."""

import pytest

from client.scenes import consumer, fill, producer, send, session, take, take_bodies
from heliograph.amqp import Coordinator, Error, Rejected
from heliograph.client.core.settings import Acknowledge
from heliograph.client.errors import IllegalState, InvalidDestination, TransactionInDoubt, TransactionRolledBack
from heliograph.client.pending import start


@pytest.fixture
def owner(memory):
    return session(memory, Acknowledge.TRANSACTED)


def test_messages_are_visible_when_they_are_committed(memory, owner):
    core = producer(memory, owner)
    memory.finish(send(core, "a"))
    assert memory.broker.bodies("q") == []
    memory.do(owner.commit())
    assert memory.broker.bodies("q") == ["a"]


def test_rolled_back_messages_are_never_visible(memory, owner):
    core = producer(memory, owner)
    memory.finish(send(core, "a"))
    memory.do(owner.roll_back())
    memory.finish(send(core, "b"))
    memory.do(owner.commit())
    assert memory.broker.bodies("q") == ["b"]


def test_received_messages_are_gone_when_they_are_committed(memory, owner):
    fill(memory, "a", "b")
    core = consumer(memory, owner)
    take_bodies(memory, core)
    memory.do(owner.commit())
    memory.do(owner.close())
    assert memory.broker.bodies("q") == []


def test_received_messages_come_again_in_order_after_a_roll_back(memory, owner):
    fill(memory, "a", "b", "c")
    core = consumer(memory, owner)
    take(memory, core)
    take(memory, core)
    memory.do(owner.roll_back())
    messages = [take(memory, core) for _ in range(3)]
    assert [(message.body, message.delivery_count) for message in messages] == [("a", 2), ("b", 2), ("c", 1)]


def test_messages_taken_just_before_a_roll_back_are_part_of_it(memory, owner):
    fill(memory, "a", "b", "c")
    core = consumer(memory, owner)
    core.next()
    core.next()
    memory.do(owner.roll_back())
    assert [take(memory, core).body for _ in range(3)] == ["a", "b", "c"]


def test_the_next_unit_begins_in_the_same_write_as_the_end_of_the_last(memory, owner):
    core = producer(memory, owner)
    send(core, "a")
    memory.run()
    writes = memory.writes
    memory.do(owner.commit())
    # One for discharge and declare together; one more may carry what their answers bring about.
    assert memory.writes - writes <= 2
    assert memory.broker.runs[-1] == 2


def test_one_unit_follows_the_other(memory, owner):
    core = producer(memory, owner)
    for number in range(5):
        send(core, number)
        memory.do(owner.commit())
    assert memory.broker.bodies("q") == list(range(5))


def test_a_commit_that_the_server_refuses_is_a_roll_back(memory, owner):
    fill(memory, "in", queue="in")
    core, source = producer(memory, owner), consumer(memory, owner, "in")
    send(core, "a")
    take(memory, source)
    memory.broker.refuse_commit = Error("amqp:transaction:rollback", "the disk is full")
    with pytest.raises(TransactionRolledBack, match="the disk is full"):
        memory.do(owner.commit())
    memory.broker.refuse_commit = None
    send(core, "b")
    memory.do(owner.commit())
    assert memory.broker.bodies("q") == ["b"]


def test_a_message_that_the_server_rejects_rolls_the_unit_back_at_commit(memory, owner):
    core = producer(memory, owner, to=None)
    send(core, "good", to="good")
    memory.broker.outcomes["full"] = Rejected(Error("amqp:resource-limit-exceeded", "the queue is full"))
    send(core, "bad", to="full")
    with pytest.raises(TransactionRolledBack, match="the queue is full"):
        memory.do(owner.commit())
    assert memory.broker.bodies("good") == []
    send(core, "next", to="good")
    memory.do(owner.commit())
    assert memory.broker.bodies("good") == ["next"]


def test_commit_waits_for_messages_on_their_way(memory, owner):
    memory.broker.credit = 3
    core = producer(memory, owner)
    for number in range(20):
        send(core, number)
    memory.do(owner.commit())
    assert memory.broker.bodies("q") == list(range(20))


def test_a_unit_that_lost_its_connection_is_rolled_back_at_the_next_commit(memory, owner):
    core = producer(memory, owner)
    memory.finish(send(core, "lost"))
    memory.cut()
    memory.pass_time(1)
    memory.finish(send(core, "lost, too"))
    with pytest.raises(TransactionRolledBack, match="cut"):
        memory.do(owner.commit())
    memory.finish(send(core, "kept"))
    memory.do(owner.commit())
    assert memory.broker.bodies("q") == ["kept"]


def test_a_lost_unit_can_be_rolled_back_without_a_word(memory, owner):
    core = producer(memory, owner)
    memory.finish(send(core, "lost"))
    memory.cut()
    memory.pass_time(1)
    memory.do(owner.roll_back())
    memory.finish(send(core, "kept"))
    memory.do(owner.commit())
    assert memory.broker.bodies("q") == ["kept"]


def test_messages_received_in_a_lost_unit_come_again(memory, owner):
    fill(memory, "a", "b")
    core = consumer(memory, owner)
    take(memory, core)
    memory.cut()
    memory.pass_time(1)
    assert take(memory, core).body == "a"
    with pytest.raises(TransactionRolledBack):
        memory.do(owner.commit())
    memory.run()
    assert sorted(take_bodies(memory, core)) == ["a", "b"]
    memory.do(owner.commit())


@pytest.mark.parametrize("end", ["commit", "roll_back"])
def test_a_connection_lost_while_messages_of_a_unit_are_on_their_way(memory, owner, end):
    memory.broker.outcomes["q"] = None
    core = producer(memory, owner)
    send(core, "unanswered")
    memory.run()
    ending = start(getattr(owner, end)())
    memory.run()
    memory.cut()
    if end == "commit":
        with pytest.raises(TransactionRolledBack, match="cut"):
            memory.finish(ending)
    else:
        memory.finish(ending)
    memory.pass_time(1)
    memory.broker.outcomes.clear()
    send(core, "next")
    memory.do(owner.commit())
    assert memory.broker.bodies("q") == ["next"]


def test_messages_that_wait_for_a_connection_outlast_an_attempt_that_fails(memory, owner, monkeypatch):
    core = producer(memory, owner)
    memory.cut()
    send(core, "a")
    attach, failures = owner.transaction.attach, iter([True])

    async def fail_once():
        if next(failures, False):
            memory.cut()
        await attach()

    monkeypatch.setattr(owner.transaction, "attach", fail_once)
    memory.pass_time(5)
    send(core, "b")
    memory.do(owner.commit())
    assert memory.broker.bodies("q") == ["a", "b"]


def test_a_commit_without_a_connection_waits_for_one_if_there_is_something_to_commit(memory, owner):
    core = producer(memory, owner)
    broker = memory.brokers.pop("here")
    memory.cut()
    send(core, "a")
    committing = start(owner.commit())
    memory.run()
    assert not committing.done
    memory.brokers["here"] = broker
    memory.pass_time(5)
    memory.finish(committing)
    assert memory.broker.bodies("q") == ["a"]


def sent_while_coming_back(memory, owner, body, turns):
    """A producer that has sent a message while the connection is lost and on its way back."""
    core = producer(memory, owner)
    memory.cut()
    send(core, body)
    for _ in range(turns):
        memory.turn()
    return core


@pytest.mark.parametrize("turns", range(15))
def test_a_commit_while_the_connection_comes_back_waits_for_its_messages(memory, owner, turns):
    core = sent_while_coming_back(memory, owner, "committed", turns)
    memory.do(owner.commit())
    assert memory.broker.bodies("q") == ["committed"]
    send(core, "rolled back")
    memory.do(owner.roll_back())
    assert memory.broker.bodies("q") == ["committed"]


@pytest.mark.parametrize("turns", range(15))
def test_what_is_rolled_back_while_the_connection_comes_back_is_never_sent(memory, owner, turns):
    core = sent_while_coming_back(memory, owner, "rolled back", turns)
    memory.do(owner.roll_back())
    send(core, "committed")
    memory.do(owner.commit())
    assert memory.broker.bodies("q") == ["committed"]


def test_what_is_rolled_back_without_a_connection_is_never_sent(memory, owner):
    core = producer(memory, owner)
    broker = memory.brokers.pop("here")
    memory.cut()
    send(core, "a")
    memory.do(owner.roll_back())
    send(core, "b")
    memory.brokers["here"] = broker
    memory.pass_time(5)
    memory.do(owner.commit())
    assert memory.broker.bodies("q") == ["b"]


def test_a_unit_without_work_does_not_mind_a_lost_connection(memory, owner):
    core = producer(memory, owner)
    memory.cut()
    memory.pass_time(1)
    memory.finish(send(core, "kept"))
    memory.do(owner.commit())
    assert memory.broker.bodies("q") == ["kept"]


def test_a_connection_lost_during_a_commit_leaves_it_in_doubt(memory, owner):
    memory.broker.answers = False
    send(producer(memory, owner), "a")
    commit = start(owner.commit())
    memory.run()
    memory.cut()
    with pytest.raises(TransactionInDoubt):
        memory.finish(commit)
    memory.broker.answers = True
    memory.pass_time(1)
    memory.do(owner.commit())


def test_only_a_transacted_session_commits(memory):
    owner = session(memory)
    with pytest.raises(IllegalState, match="not transacted"):
        memory.do(owner.commit())


def test_a_consumer_closed_within_a_unit_takes_part_in_its_end(memory, owner):
    fill(memory, "a")
    core = consumer(memory, owner)
    take(memory, core)
    memory.do(core.close())
    memory.do(owner.roll_back())
    memory.run()
    assert memory.broker.bodies("q") == ["a"]


def test_the_coordinator_is_asked_for_local_transactions(memory, owner):
    (link,) = memory.broker.attached
    assert link.target == Coordinator(("amqp:local-transactions",))


@pytest.fixture
def without_relay(memory):
    """A session with a server that wants a link for each destination: the first message has to wait for its link."""
    memory.broker.capabilities = ()
    memory.cut()
    memory.pass_time(1)
    return session(memory, Acknowledge.TRANSACTED)


def test_a_message_that_waits_for_its_first_link_is_committed_with_its_unit(memory, without_relay):
    core = producer(memory, without_relay, None)
    send(core, "a", "q")
    memory.do(without_relay.commit())
    assert memory.broker.bodies("q") == ["a"]


def test_a_message_that_waits_for_its_first_link_is_rolled_back_with_its_unit(memory, without_relay):
    core = producer(memory, without_relay, None)
    send(core, "a", "q")
    memory.do(without_relay.roll_back())
    send(core, "b", "q")
    memory.do(without_relay.commit())
    assert memory.broker.bodies("q") == ["b"]


def test_a_message_that_waits_for_its_first_link_is_lost_with_the_connection_of_its_unit(memory, without_relay):
    core = producer(memory, without_relay, None)
    send(core, "a", "q")
    memory.cut()
    with pytest.raises(TransactionRolledBack):
        memory.do(without_relay.commit())
    memory.pass_time(1)
    send(core, "b", "q")
    memory.do(without_relay.commit())
    assert memory.broker.bodies("q") == ["b"]


def test_a_unit_with_a_message_to_where_no_link_can_be_is_rolled_back(memory, without_relay):
    memory.broker.refuse["nowhere"] = Error("amqp:not-found", "no such queue")
    core = producer(memory, without_relay, None)
    send(core, "a", "q")
    refused = send(core, "b", "nowhere")
    with pytest.raises(TransactionRolledBack, match="no such queue"):
        memory.do(without_relay.commit())
    assert isinstance(refused.error, InvalidDestination)
    assert memory.broker.bodies("q") == []
