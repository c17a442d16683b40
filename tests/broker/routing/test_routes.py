"""Routes: who gets the messages of a topic, remembered as long as it is true."""

import pytest

from broker.clients import Scene
from heliograph.broker.routing.routes import RouteTable
from heliograph.mqtt import ProtocolError, Reason


@pytest.fixture
def scene():
    return Scene()


def test_topics_with_the_same_receivers_share_a_route(scene):
    scene.client("c").subscribe("a/#")
    routes = scene.broker.routes
    assert routes.find(b"a/b", 9) is routes.find(b"a/c", 9)
    assert routes.find(b"a/b", 9) is not routes.find(b"b", 9)


def test_topics_go_on_sharing_a_route_when_somebody_subscribes_to_another_topic(scene):
    scene.client("c").subscribe("a/#")
    routes = scene.broker.routes
    before = routes.find(b"a/b", 9)
    device = scene.client("device")
    device.subscribe("a/commands")
    assert routes.find(b"a/c", 9) is before
    own = routes.find(b"a/commands", 9)
    assert len(own.subscriptions) == 2
    device.unsubscribe("a/commands")
    assert routes.find(b"a/commands", 9) is before


def test_a_change_of_subscriptions_changes_routes(scene):
    client = scene.client("c")
    routes = scene.broker.routes
    assert not routes.find(b"a/b", 9).subscriptions
    for topic_filter in ("a/b", "a/+", "#"):
        generation = routes.generation
        client.subscribe(topic_filter)
        assert routes.generation > generation
        assert [s.filter for s in routes.find(b"a/b", 9).subscriptions] == [topic_filter]
        client.unsubscribe(topic_filter)
        assert not routes.find(b"a/b", 9).subscriptions


@pytest.mark.parametrize(
    ("topic", "reason"),
    [
        (b"a/+", Reason.TOPIC_NAME_INVALID),
        (b"#", Reason.TOPIC_NAME_INVALID),
        (b"", Reason.TOPIC_NAME_INVALID),
        (b"a/b/c/d", Reason.TOPIC_NAME_INVALID),
        (b"\xff", Reason.MALFORMED_PACKET),
        (b"a\0", Reason.MALFORMED_PACKET),
    ],
)
def test_a_name_that_is_no_topic_has_no_route(scene, topic, reason):
    for _ in range(2):
        with pytest.raises(ProtocolError) as error:
            scene.broker.routes.find(topic, 3)
        assert error.value.reason == reason


def test_a_publisher_that_never_repeats_a_topic_does_not_fill_the_memory(scene, monkeypatch):
    monkeypatch.setattr(RouteTable, "CACHE_SIZE", 10)
    receiver, publisher = scene.client("r", 4), scene.client("p", 4)
    receiver.subscribe("#")
    for index in range(35):
        publisher.publish(f"t/{index}")
    assert len(scene.broker.routes.cache) <= 10
    assert len(receiver.messages()) == 35


@pytest.mark.parametrize("odd", [{"no_local": True}, {"identifier": 5}], ids=["no-local", "subscription identifier"])
def test_packets_are_forwarded_byte_for_byte_only_if_that_will_do_for_all(scene, odd):
    plain, special = scene.client("plain"), scene.client("special")
    plain.subscribe("a")
    assert scene.broker.routes.find(b"a", 9).straight5
    special.subscribe("a", **odd)
    assert scene.broker.routes.find(b"a", 9).straight5 is None
    special.unsubscribe("a")
    assert scene.broker.routes.find(b"a", 9).straight5


def test_a_client_that_is_away_does_not_keep_others_from_getting_packets_as_they_are(scene):
    scene.client("plain", 4).subscribe("a")
    other = scene.client("other", 5, session_expiry_interval=100)
    other.subscribe("a")
    assert scene.broker.routes.find(b"a", 9).straight3 is None
    other.lose()
    scene.broker.routes.forget_all()
    assert len(scene.broker.routes.find(b"a", 9).straight3) == 1
    scene.client("other", 5, clean=False)
    assert scene.broker.routes.find(b"a", 9).straight3 is None


def test_a_device_that_comes_back_does_not_change_the_routes_of_others(scene):
    scene.client("one", session_expiry_interval=100).subscribe("devices/one")
    two = scene.client("two", session_expiry_interval=100)
    two.subscribe("devices/two")
    two.subscribe("$share/g/shared")
    routes = scene.broker.routes
    own, shared, other = (routes.find(topic, 9) for topic in (b"devices/two", b"shared", b"devices/one"))
    two.lose()
    scene.client("two", clean=False)
    assert routes.find(b"devices/one", 9) is other
    assert routes.find(b"devices/two", 9) is not own
    assert routes.find(b"shared", 9) is not shared


def test_a_client_with_very_many_subscriptions_changes_all_routes(scene):
    scene.client("one").subscribe("devices/one")
    two = scene.client("two", session_expiry_interval=100)
    for number in range(21):
        two.subscribe(f"devices/two/{number}")
    other = scene.broker.routes.find(b"devices/one", 9)
    two.lose()
    scene.client("two", clean=False)
    assert scene.broker.routes.find(b"devices/one", 9) is not other
