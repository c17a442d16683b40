"""The broker: sessions come and go, wills are published in time, and messages reach all who want them."""

import pytest

from broker.clients import Scene
from broker.durable_clients import DAY, durable, subscriber
from heliograph.broker.core.limits import Limits
from heliograph.broker.core.queue_definition import QueueDefinition
from heliograph.broker.core.span import Published, message
from heliograph.broker.sessions.session import FOR_EVER
from heliograph.mqtt import Reason, Will


@pytest.fixture
def memory():
    return Scene()


def reader(scene, topic_filter="#", qos=0):
    client = scene.client("reader")
    client.subscribe(topic_filter, qos)
    return client


# Sessions


def test_a_session_is_there_again_unless_the_client_wants_a_clean_one(memory):
    broker = memory.broker
    first, present = broker.open_session("c", clean_start=False, expiry=60)
    assert not present
    broker.detach(first, publish_will=False)
    assert broker.open_session("c", clean_start=False, expiry=60) == (first, True)
    broker.detach(first, publish_will=False)
    second, present = broker.open_session("c", clean_start=True, expiry=60)
    assert second is not first
    assert not present


@pytest.mark.parametrize(("expiry", "seconds", "there"), [(0, 0, False), (60, 59, True), (60, 60, False),
                                                          (FOR_EVER, 100 * DAY, True)])  # fmt: skip
def test_a_session_outlives_its_connection_for_its_time(memory, expiry, seconds, there):
    session, _ = memory.broker.open_session("c", clean_start=True, expiry=expiry)
    memory.broker.detach(session, publish_will=False)
    memory.pass_time(seconds)
    assert ("c" in memory.broker.sessions) is there
    assert memory.broker.stats.sessions_expired == (1 if expiry and not there else 0)


def test_a_session_whose_time_is_over_is_not_present_though_nobody_has_seen_to_it(memory):
    session, _ = memory.broker.open_session("c", clean_start=True, expiry=60)
    memory.broker.detach(session, publish_will=False)
    memory.now += 61
    assert memory.broker.open_session("c", clean_start=False)[1] is False


def test_all_memory_of_a_session_comes_back_with_its_end(memory):
    before = memory.broker.memory.used
    client = memory.client("c", will=Will("a", b"x" * 100))
    client.subscribe("a/#", 1)
    assert memory.broker.memory.used > before
    client.lose()
    memory.run_slices()
    memory.broker.routes.forget_all()
    assert memory.broker.memory.used == before


# Wills


@pytest.mark.parametrize(("delay", "expiry", "after"), [(0, 60, 0), (5, 60, 5), (60, 5, 5), (5, 0, 0)])
def test_a_will_is_published_after_its_delay_and_not_after_the_session(memory, delay, expiry, after):
    watch = reader(memory)
    properties = {"session_expiry_interval": expiry} if expiry else {}
    client = memory.client("c", will=Will("will", b"gone", properties={"will_delay_interval": delay}), **properties)
    client.lose()
    if after:
        memory.pass_time(after - 1)
        assert watch.take() == []
        memory.pass_time(1)
    assert watch.payloads() == [b"gone"]


def test_whoever_is_back_in_time_has_no_will_published(memory):
    watch = reader(memory)
    will = Will("will", b"gone", properties={"will_delay_interval": 5})
    memory.client("c", will=will, session_expiry_interval=60).lose()
    memory.client("c", clean=False, session_expiry_interval=60)
    memory.pass_time(100)
    assert watch.take() == []


def test_a_will_has_its_properties_and_expires(memory):
    properties = {"message_expiry_interval": 10, "content_type": "text", "will_delay_interval": 0}
    memory.client("c", will=Will("will", b"gone", 1, True, properties)).lose()
    memory.pass_time(4)
    (got,) = reader(memory).messages()
    assert got.properties == {"message_expiry_interval": 6, "content_type": "text"}
    assert got.retain


def test_a_will_to_what_is_no_topic_any_more_is_left_out(scene):
    durable(scene, "c", will=Will("a/" * 20, b"gone"))
    scene.broker.limits = Limits(topic_levels=8)
    scene.broker.sessions["c"].outlet.finished = True
    scene.broker.connections["c"].lost()
    scene.turn_ends()
    assert scene.broker.stats.publishes_refused == 1
    assert scene.broker.sessions["c"].will is None


# Publishing


def test_what_becomes_of_a_message(memory):
    broker = memory.broker
    assert broker.publish(message(b"a", b"x", qos=1)) == Published(Reason.NO_MATCHING_SUBSCRIBERS, 1)
    reader(memory, "a", 1)
    assert broker.publish(message(b"a", b"x", qos=1)) == Published(Reason.SUCCESS, 1)


def test_a_queue_that_takes_a_message_is_enough(memory):
    broker = memory.broker
    queue = broker.queues.define(QueueDefinition("Q", max_depth=1))
    broker.bindings.bind("a", queue)
    assert broker.publish(message(b"a", b"x", qos=1)) == Published(Reason.SUCCESS, 1)
    assert broker.publish(message(b"a", b"x", qos=1)) == Published(Reason.SUCCESS, 0)  # it is full
    reader(memory, "a", 1)
    assert broker.publish(message(b"a", b"x", qos=1)) == Published(Reason.SUCCESS, 1)


def test_what_is_stored_is_told(scene):
    subscriber(scene)
    assert scene.broker.publish(message(b"a", b"x", qos=1)) == Published(Reason.SUCCESS, 1, 1)
    assert scene.broker.publish(message(b"a", b"x")) == Published(Reason.SUCCESS, 1, 0)


def test_what_cannot_be_retained_is_no_failure_if_somebody_got_it():
    scene = Scene(retained_messages=0)
    span = message(b"a", b"x", qos=1, retain=True)
    assert scene.broker.publish(span).reason is Reason.QUOTA_EXCEEDED
    reader(scene, "a", 1)
    assert scene.broker.publish(span).reason is Reason.SUCCESS
    assert scene.broker.retained.count == 0


def test_what_found_no_room_among_retained_messages_is_not_retained_after_a_restart(make):
    scene = make(retained_messages=0)
    subscriber(scene)
    scene.broker.publish(message(b"a", b"x", qos=1, retain=True))
    scene.turn_ends()
    scene.limits = {}
    scene.restart()
    assert scene.broker.retained.count == 0


def test_what_the_broker_says_itself(memory):
    watch = reader(memory)
    memory.broker.publish_message("a", b"x", retain=True)
    assert watch.payloads() == [b"x"]
    assert memory.broker.retained.count == 1


def test_a_wide_route_gives_to_those_who_are_still_there(scene, monkeypatch):
    monkeypatch.setattr("heliograph.broker.routing.routes._DURABLE_AT_ONCE", 2)
    clients = [subscriber(scene, f"c{n}") for n in range(5)]
    group_member = subscriber(scene, "sharer", "$share/g/a")
    queue = scene.broker.queues.define(QueueDefinition("Q"))
    scene.broker.bindings.bind("a", queue)
    route = scene.broker.routes.find(b"a", 32)
    assert route.wide
    steps = scene.broker.publish_in_parts(message(b"a", b"x", qos=1), None, route)
    next(steps)
    clients[4].unsubscribe("a")
    scene.broker.queues.delete("Q")
    group_member.unsubscribe("$share/g/a")
    for _ in steps:
        pass
    scene.turn_ends()
    assert [len(client.messages()) for client in clients] == [1, 1, 1, 1, 0]
    assert queue.depth == 0


# What waits


def test_backlogs_are_all_who_have_something_waiting(scene):
    subscriber(scene, "one").lose()
    member = subscriber(scene, "two", "$share/g/a")
    member.lose()
    scene.client("fleeting").subscribe("a")
    scene.client("p").publish("a", b"x", qos=1)
    found = {getattr(owner, "name", None) or owner.filter: places for owner, places in scene.broker.backlogs()}
    assert set(found) == {"a", "g"}
    assert [[place.count for place in places] for places in found.values()]
    assert scene.broker.waiting == 2


def test_limits_may_change_while_it_runs(memory):
    memory.broker.limits = Limits(subscriptions_per_client=1)
    client = memory.client("c")
    assert client.subscribe("a") == 0
    assert client.subscribe("b") == Reason.QUOTA_EXCEEDED


def test_the_log_is_looked_after_only_while_messages_may_move(scene, monkeypatch):
    spent = []
    monkeypatch.setattr(scene.store.upkeep, "work", spent.append)
    scene.broker.look_after_log(0.5)
    monkeypatch.setattr(scene.broker.queues, "loading", object())
    scene.broker.look_after_log(0.6)
    monkeypatch.setattr(scene.broker.queues, "loading", None)
    scene.store.halt()
    scene.broker.look_after_log(0.7)
    assert spent == [0.5]
