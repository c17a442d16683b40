"""The broker's figures as retained messages."""

from broker.clients import Scene
from heliograph import __version__
from heliograph.broker.administration.sys_topics import SysTopics


def figures(scene):
    client = scene.client("watcher")
    client.subscribe("$SYS/#")
    found = {m.topic.removeprefix("$SYS/broker/"): m.payload.decode() for m in client.messages()}
    client.lose()
    return found


def test_figures_are_retained_for_those_who_come_later():
    scene = Scene()
    sys_topics = SysTopics(scene.broker)
    receiver = scene.client("r")
    receiver.subscribe("a")
    scene.client("p").publish("a", b"x")
    scene.pass_time(10)
    sys_topics.publish()
    found = figures(scene)
    assert found["version"] == f"heliograph version {__version__}"
    assert found["uptime"] == "10 seconds"
    assert found["clients/connected"] == "2"
    assert found["messages/received"] == "1"
    assert found["messages/sent"] == "1"
    assert found["subscriptions/count"] == "1"


def test_only_what_changed_is_published_again():
    scene = Scene()
    sys_topics = SysTopics(scene.broker)
    sys_topics.publish()
    sys_topics.publish()  # its own first messages are among the figures
    client = scene.client("w")
    client.subscribe("$SYS/broker/+", retain_handling=2)
    scene.pass_time(5)
    sys_topics.publish()
    assert [(m.topic, m.payload) for m in client.messages()] == [("$SYS/broker/uptime", b"5 seconds")]


def test_clients_that_are_away_are_counted_apart():
    scene = Scene()
    scene.client("away", session_expiry_interval=100).lose()
    scene.client("here")
    SysTopics(scene.broker).publish()
    found = figures(scene)
    names = ("total", "connected", "disconnected", "maximum")
    assert [found[f"clients/{name}"] for name in names] == ["2", "1", "1", "1"]


def test_waiting_messages_are_stored_messages():
    scene = Scene()
    client = scene.client("away", session_expiry_interval=100)
    client.subscribe("a", 1)
    client.subscribe("$share/g/a", 1)
    client.lose()
    scene.client("p").publish("a", b"x", 1)
    SysTopics(scene.broker).publish()
    found = figures(scene)
    assert int(found["messages/stored"]) - int(found["retained messages/count"]) == 2
    assert found["shared_subscriptions/count"] == "1"


def test_loads_are_averages_per_minute():
    scene = Scene()
    sys_topics = SysTopics(scene.broker)
    publisher = scene.client("p", 4)
    for _ in range(30):
        for _ in range(10):
            publisher.publish("a")
        scene.pass_time(10)
        sys_topics.publish()
    found = figures(scene)
    assert 55 < float(found["load/messages/received/1min"]) <= 60
    assert 0 < float(found["load/messages/received/15min"]) < float(found["load/messages/received/5min"]) < 60


def test_nothing_of_it_reaches_a_subscription_to_everything():
    scene = Scene()
    client = scene.client("w")
    client.subscribe("#")
    SysTopics(scene.broker).publish()
    assert client.take() == []
