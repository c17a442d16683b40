"""The budget of memory: who gets how much of it, what those are told who get nothing, and that all of it comes back."""

import gc

import pytest

from broker.clients import Scene
from heliograph.broker.core.memory import Budget, Hold
from heliograph.mqtt import Disconnect, Publish, Reason, Will, encode

MEGABYTE = 1 << 20
DAY = 86_400
LARGE = bytes(100_000)


def small(make=Scene):
    """A scene with little memory."""
    return make(memory=2 * MEGABYTE)


# Who gets how much


def test_nobody_gets_more_than_what_is_free():
    budget = Budget(1000)
    first, second = budget.account("client", "a"), budget.account("client", "b")
    assert not first.charge(501)
    assert first.charge(500)
    assert not first.charge(1)
    assert second.charge(250)
    assert not second.charge(1)
    assert (budget.used, budget.refusals) == (750, 3)


def test_the_last_of_it_is_for_those_who_are_there():
    budget = Budget(800)
    assert budget.takes_newcomers(700)
    assert not budget.takes_newcomers(701)
    budget.account("client", "a").add(700)
    assert not budget.takes_newcomers(1)
    assert budget.account("client", "known").charge(50)


def test_a_hold_goes_with_its_object():
    budget = Budget(1000)
    hold = budget.account("client", "a").hold(300)
    assert budget.used == 300
    assert hold.set(400)
    assert budget.used == 400
    del hold
    assert budget.used == 0


def test_a_hold_can_be_too_large():
    account = Budget(1000).account("client", "a")
    hold = Hold(account)
    assert not hold.set(501)
    assert account.used == 501


def test_the_largest_owners_are_known():
    budget = Budget(1_000_000)
    accounts = {name: budget.account("client", name) for name in "abcd"}
    for size, name in enumerate("cabd", 1):
        accounts[name].add(100_000 * size)
    accounts["d"].refund(350_000)
    assert [owner.name for owner in budget.largest(3)] == ["b", "a", "c"]
    accounts["b"].refund(300_000)
    assert [owner.name for owner in budget.largest(9)] == ["a", "c", "d"]


def test_another_limit_counts_from_now_on():
    budget = Budget(1000)
    account = budget.account("client", "a")
    assert account.charge(400)
    budget.set_limit(500)
    assert not account.charge(1)
    budget.set_limit(0)
    assert account.charge(MEGABYTE)


# What those are told who get nothing


def test_retained_messages_are_refused_whatever_makes_them_large():
    client = small().client("c")
    large = [("x" * 50_000, "y" * 50_000)]
    reasons = [client.publish(f"t/{n}", b"1", 1, retain=True, user_property=large).reason for n in range(30)]
    taken = reasons.count(Reason.NO_MATCHING_SUBSCRIBERS)
    assert 5 < taken < 20
    assert reasons[taken:] == [Reason.QUOTA_EXCEEDED] * (30 - taken)


def test_what_could_not_be_retained_is_not_retained_after_a_restart(make):
    scene = small(make)
    client = scene.client("c")
    topics = [f"t/{n}" for n in range(30)]
    kept = [t for t in topics if client.publish(t, LARGE, 1, retain=True).reason != Reason.QUOTA_EXCEEDED]
    assert len(kept) < 20
    scene.restart()
    reader = scene.client("reader")
    reader.subscribe("#")
    assert {message.topic for message in reader.messages()} == set(kept)


def test_long_filters_are_refused():
    client = small().client("c")
    reasons = [client.subscribe(f"{n}/".ljust(60_000, "x")) for n in range(30)]
    assert 5 < reasons.count(Reason.SUCCESS) < 15
    assert reasons[-1] == Reason.QUOTA_EXCEEDED


def test_a_packet_in_parts_is_refused():
    scene = small()
    client = scene.client("c")
    client.send_bytes(encode(Publish("t", bytes(3 * MEGABYTE)), 5)[: MEGABYTE // 2])
    assert not client.ended
    client.send_bytes(bytes(MEGABYTE))
    (told,) = client.take()
    assert isinstance(told, Disconnect)
    assert told.reason == Reason.QUOTA_EXCEEDED


def test_a_new_client_is_refused_when_hardly_anything_is_left():
    scene = small()
    clients = [scene.client(f"c{n}", will=Will("w", LARGE[:60_000])) for n in range(50)]
    admitted = [client for client in clients if client.connack.reason == Reason.SUCCESS]
    assert 20 < len(admitted) < 40
    assert clients[-1].connack.reason == Reason.QUOTA_EXCEEDED
    admitted[0].disconnect()
    assert scene.client("another").connack.reason == Reason.SUCCESS


def test_a_client_that_does_not_acknowledge_gets_no_more():
    scene = small()
    client, publisher = scene.client("c"), scene.client("p")
    client.subscribe("t", 1)
    for _ in range(30):
        publisher.publish("t", LARGE, 1)
    received = client.messages()
    assert 5 < len(received) < 15
    client.acknowledge(*received)
    publisher.publish("t", b"again", 1)
    assert client.payloads()[-1] == b"again"


def test_topic_aliases_are_refused():
    client = Scene(memory=MEGABYTE).client("c")
    for alias in range(1, 17):
        client.send(Publish(f"{alias}/".ljust(60_000, "x"), b"", properties={"topic_alias": alias}))
    (told,) = client.take()
    assert told.reason == Reason.QUOTA_EXCEEDED


def test_an_alias_that_stands_for_another_topic_costs_no_more():
    client = Scene().client("c")
    client.publish("first", topic_alias=1)
    used = client.broker.memory.used
    for n in range(100):
        client.publish(f"another/{n}", topic_alias=1)
    client.publish("again", topic_alias=1)
    client.broker.routes.forget_all()
    assert client.broker.memory.used <= used


# All of it comes back


def everything(scene):
    """Clients that make the broker keep all kinds of things, and go."""
    gone = scene.client("gone", clean=False, session_expiry_interval=DAY)
    gone.subscribe("t/#", 1)
    gone.lose()
    slow = scene.client("slow", topic_alias_maximum=5, will=Will("w", LARGE[:60_000]))
    slow.subscribe("t/#", 2)
    slow.subscribe("$share/g/t/#", 1)
    slow.connection.pause()
    publisher = scene.client("p", version=5)
    for n in range(20):
        for qos in (0, 1, 2):
            publisher.publish(f"t/{n}", LARGE[:1000], qos)
        publisher.publish(f"t/{n}", b"kept", retain=True, topic_alias=n % 5 + 1)
    slow.connection.resume()
    publisher.send_bytes(encode(Publish("part", LARGE), 5)[:-1])
    yield
    for n in range(20):
        publisher = scene.client("p")
        publisher.publish(f"t/{n}", b"", retain=True)
    back = scene.client("gone", clean=False, session_expiry_interval=DAY)
    back.acknowledge(*back.messages())
    for client in (publisher, slow, back):
        client.lose()
    scene.pass_time(2 * DAY)
    scene.broker.turn.dirty.clear()  # nobody writes here


@pytest.mark.parametrize("durable", [False, True])
def test_all_of_it_comes_back(make, durable):
    scene = make() if durable else Scene()
    memory = scene.broker.memory
    before = memory.used
    gc.disable()  # nothing may have to wait for it
    try:
        story = everything(scene)
        next(story)
        assert memory.used > 100_000
        assert next(story, None) is None
        scene.broker.routes.forget_all()
        assert memory.used == before
    finally:
        gc.enable()
