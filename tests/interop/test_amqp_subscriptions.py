"""Subscriptions of AMQP clients that nobody here wrote, with the names and capabilities that Qpid JMS gives them."""

import pytest

from interop.amqp_letters import UNSUBSCRIBE, Letter, Refused, Terminus
from interop.amqp_peers import Connect, PeerConnection, nothing, take

TOPIC = ("topic",)
SHARED = ("topic", "shared")
GLOBAL = ("topic", "shared", "global")


@pytest.fixture
def topic(topic: str) -> str:
    """A topic name that no other test uses, for subscriptions too."""
    return topic.partition("--")[2]


def publish(connection: PeerConnection, topic: str, *bodies: object, **more: object) -> None:
    sender = connection.sender(Terminus(topic, TOPIC))
    assert set(sender.send_all([Letter(body, durable=True, **more) for body in bodies])) == {"accepted"}
    sender.close()


def test_a_subscription_gets_what_is_published_from_then_on(connect_peer: Connect, topic: str) -> None:
    connection, publisher = connect_peer(), connect_peer()
    publish(publisher, topic, "before")
    receivers = [connection.receiver(Terminus(topic, TOPIC)), connection.receiver(f"topic://{topic}")]
    publish(publisher, topic, "after")
    assert [take(receiver).body for receiver in receivers] == ["after", "after"]
    assert all(nothing(receiver) for receiver in receivers)


def test_wildcards_and_selectors(connection: PeerConnection, topic: str) -> None:
    some = connection.receiver(Terminus(f"{topic}/+/x", TOPIC, selector="n > 1"))
    every = connection.receiver(Terminus(f"{topic}/#", TOPIC))
    for number, name in enumerate(("a/x", "b/x", "b/y")):
        publish(connection, f"{topic}/{name}", name, properties={"n": number + 1})
    assert take(some).body == "b/x"
    assert nothing(some)
    assert [take(every).body for _ in range(3)] == ["a/x", "b/x", "b/y"]


def test_no_local(connect_peer: Connect, topic: str) -> None:
    connection, other = connect_peer(container="me"), connect_peer(container="somebody")
    receiver = connection.receiver(Terminus(topic, TOPIC, no_local=True))
    assert receiver.filters == ["no-local"]
    publish(connection, topic, "mine")
    publish(other, topic, "theirs")
    assert take(receiver).body == "theirs"
    assert nothing(receiver)


def test_a_durable_subscription_waits_for_its_client(connect_peer: Connect, topic: str) -> None:
    publisher = connect_peer()
    wanted = Terminus(topic, TOPIC, lasting=True, copy=True)
    first = connect_peer(container=f"c-{topic}")
    first.receiver(wanted, name="sub").detach()
    publish(publisher, topic, "while detached")
    first.close()
    publish(publisher, topic, "while away")
    second = connect_peer(container=f"c-{topic}")
    receiver = second.receiver(wanted, name="sub")
    assert [take(receiver).body for _ in range(2)] == ["while detached", "while away"]
    publish(publisher, topic, "while there")
    assert take(receiver).body == "while there"


def test_a_durable_subscription_is_in_use_once(connect_peer: Connect, topic: str) -> None:
    wanted = Terminus(topic, TOPIC, lasting=True)
    connection = connect_peer(container=f"c-{topic}")
    connection.receiver(wanted, name="sub")
    other = connect_peer(container=f"c-{topic}")
    with pytest.raises(Refused) as caught:
        other.receiver(wanted, name="sub")
    assert caught.value.condition == "amqp:resource-locked"


def test_closing_ends_a_durable_subscription(connect_peer: Connect, topic: str) -> None:
    wanted = Terminus(topic, TOPIC, lasting=True)
    connection = connect_peer(container=f"c-{topic}")
    connection.receiver(wanted, name="sub").close()
    publish(connection, topic, "lost")
    assert nothing(connection.receiver(wanted, name="sub"))


@pytest.mark.parametrize(("capabilities", "name"), [(TOPIC, "sub"), (SHARED, "sub"), (GLOBAL, "{}|global")])
def test_unsubscribing_as_qpid_jms_does(
    connect_peer: Connect, topic: str, capabilities: tuple[str, ...], name: str
) -> None:
    connection = connect_peer(container=f"c-{topic}")
    name = name.format(topic)
    wanted = Terminus(topic, capabilities, lasting=True, copy=True)
    connection.receiver(wanted, name=name).detach()
    publish(connection, topic, "forgotten")
    farewell = connection.session().receiver(UNSUBSCRIBE, name=name, credit=0)
    assert farewell.address == topic
    assert set(capabilities) <= set(farewell.capabilities)
    farewell.close()
    assert nothing(connection.receiver(wanted, name=name))


def test_unsubscribing_from_what_is_not_there_or_in_use(connect_peer: Connect, topic: str) -> None:
    connection = connect_peer(container=f"c-{topic}")
    with pytest.raises(Refused) as caught:
        connection.receiver(UNSUBSCRIBE, name="nothing")
    assert caught.value.condition == "amqp:not-found"
    receiver = connection.receiver(Terminus(topic, TOPIC, lasting=True), name="sub")
    other = connect_peer(container=f"c-{topic}")
    with pytest.raises(Refused) as caught:
        other.receiver(UNSUBSCRIBE, name="sub")
    assert caught.value.condition == "amqp:resource-locked"
    publish(connection, topic, "still there")
    assert take(receiver).body == "still there"


def test_a_link_that_is_attached_again_is_taken_from_where_it_was(connect_peer: Connect, topic: str) -> None:
    connection = connect_peer(container=f"c-{topic}")
    wanted = Terminus(topic, TOPIC, lasting=True)
    connection.receiver(wanted, name="sub")
    receiver = connection.session().receiver(wanted, name="sub")
    publish(connection, topic, "here")
    assert take(receiver).body == "here"


def test_another_selector_makes_a_new_subscription(connect_peer: Connect, topic: str) -> None:
    connection = connect_peer(container=f"c-{topic}")
    connection.receiver(Terminus(topic, TOPIC, lasting=True), name="sub").detach()
    publish(connection, topic, "old")
    receiver = connection.receiver(Terminus(topic, TOPIC, lasting=True, selector="n = 1"), name="sub")
    publish(connection, topic, "no", properties={"n": 2})
    publish(connection, topic, "yes", properties={"n": 1})
    assert take(receiver).body == "yes"


@pytest.mark.parametrize(
    ("capabilities", "lasting", "names"),
    [
        (SHARED, False, ["sub|volatile1", "sub|volatile2"]),
        (SHARED, True, ["sub", "sub|2"]),
        (GLOBAL, False, ["{0}|global-volatile1", "{0}|global-volatile2"]),
        (GLOBAL, True, ["{0}|global", "{0}|global2"]),
    ],
    ids=["volatile", "durable", "global volatile", "global durable"],
)
def test_two_links_share_a_subscription(
    connect_peer: Connect, topic: str, capabilities: tuple[str, ...], lasting: bool, names: list[str]
) -> None:
    connection = connect_peer(container=f"c-{topic}")
    wanted = Terminus(topic, capabilities, lasting=lasting)
    receivers = [connection.receiver(wanted, name=name.format(topic), credit=1) for name in names]
    publish(connection, topic, 1, 2)
    assert sorted(take(receiver).body for receiver in receivers) == [1, 2]
    assert all(nothing(receiver) for receiver in receivers)


def test_a_global_subscription_is_shared_by_clients(connect_peer: Connect, topic: str) -> None:
    wanted = Terminus(topic, GLOBAL)
    receivers = [
        connect_peer(container=f"{n}-{topic}").receiver(wanted, name=f"{topic}|global-volatile1", credit=1)
        for n in range(2)
    ]
    publish(connect_peer(), topic, 1, 2)
    assert sorted(take(receiver).body for receiver in receivers) == [1, 2]


def test_shared_subscriptions_of_different_clients_are_different(connect_peer: Connect, topic: str) -> None:
    wanted = Terminus(topic, SHARED)
    receivers = [connect_peer(container=f"{n}-{topic}").receiver(wanted, name="sub|volatile1") for n in range(2)]
    publish(connect_peer(), topic, "both")
    assert [take(receiver).body for receiver in receivers] == ["both", "both"]


def test_a_shared_durable_subscription_outlives_its_links(connect_peer: Connect, topic: str) -> None:
    wanted = Terminus(topic, SHARED, lasting=True)
    connection = connect_peer(container=f"c-{topic}")
    for name in ("sub", "sub|2"):
        connection.receiver(wanted, name=name).detach()
    publish(connection, topic, "kept")
    assert take(connection.receiver(wanted, name="sub")).body == "kept"


def test_a_shared_volatile_subscription_goes_with_its_last_link(connect_peer: Connect, topic: str) -> None:
    wanted = Terminus(topic, SHARED)
    connection = connect_peer(container=f"c-{topic}")
    first, second = (connection.receiver(wanted, name=f"sub|volatile{n}") for n in (1, 2))
    first.detach()
    publish(connection, topic, "kept")
    assert take(second).body == "kept"
    second.detach()
    publish(connection, topic, "lost")
    assert nothing(connection.receiver(wanted, name="sub|volatile3"))


def test_a_shared_subscription_with_another_selector_is_refused_while_in_use(connect_peer: Connect, topic: str) -> None:
    connection = connect_peer(container=f"c-{topic}")
    connection.receiver(Terminus(topic, SHARED), name="sub|volatile1")
    with pytest.raises(Refused) as caught:
        connection.receiver(Terminus(topic, SHARED, selector="a = 1"), name="sub|volatile2")
    assert caught.value.condition == "amqp:resource-locked"
