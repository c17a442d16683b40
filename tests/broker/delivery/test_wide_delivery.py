"""Messages for very many subscriptions: to all of them, once and in order, while others are served."""

from broker.clients import Scene
from heliograph.broker.routing.routes import WIDE
from heliograph.mqtt import Publish, Subscribe, Subscription

MANY = WIDE + 500


def crowd(scene, number=MANY):
    """Clients with a thousand overlapping subscriptions each, so many in all."""
    clients = []
    while number > 0:
        client = scene.client(f"c{len(clients)}")
        some = min(number, 1000)
        filters = ["/".join("t+"[index >> bit & 1] for bit in range(10)) for index in range(some)]
        client.send(Subscribe(1, tuple(Subscription(one, 0) for one in filters)))
        client.take()
        clients.append(client)
        number -= some
    return clients


TOPIC = "/".join("t" * 10)


def test_all_get_all_messages_in_order():
    scene = Scene(subscriptions_per_client=1000)
    clients = crowd(scene)
    publisher = scene.client("publisher")
    publisher.publish(TOPIC, b"1")
    publisher.publish(TOPIC, b"2", qos=1)
    publisher.publish(TOPIC, b"3")
    assert scene.run_slices() > 20
    got = [client.payloads() for client in clients]
    assert sum(map(len, got)) == 3 * MANY
    for payloads in got:
        assert payloads == sorted(payloads)


def test_others_are_served_and_the_publisher_is_not_read_from_meanwhile():
    scene = Scene(subscriptions_per_client=1000)
    crowd(scene)
    other = scene.client("other")
    other.subscribe("news")
    publisher = scene.client("publisher")
    happened = []
    publisher.outlet.__class__ = type(
        "Watched",
        (type(publisher.outlet),),
        {
            "__slots__": (),
            "stop_reading": lambda _: happened.append("stop"),
            "go_on_reading": lambda _: happened.append("go on"),
        },
    )
    scene.broker.defects.serving = publisher.outlet
    publisher.publish(TOPIC, b"wide")
    scene.broker.defects.serving = None
    assert happened == ["stop"]
    other.publish("news", b"now")
    assert other.payloads() == [b"now"]
    scene.run_slices()
    assert happened == ["stop", "go on"]


def test_who_unsubscribes_or_goes_meanwhile_gets_no_more():
    scene = Scene(subscriptions_per_client=1000)
    clients = crowd(scene)
    scene.client("publisher").send(Publish(TOPIC, b"x"))
    clients[-1].take()
    before = [len(client.messages()) for client in clients[:-1]]
    clients[-1].lose()
    scene.run_slices()
    assert clients[-1].messages() == []
    assert sum(before) + sum(len(client.messages()) for client in clients[:-1]) == MANY - 500
