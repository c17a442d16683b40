"""AMQP messages are published to topics."""

import pytest

from broker.clients import DurableScene, Scene
from broker.durable_clients import durable
from broker.queue_scenes import Consumer
from heliograph.amqp.errors import DecodeError
from heliograph.amqp.messages.message import Data, Message, Value, encode_message
from heliograph.broker.amqp import topics as publishing
from heliograph.broker.amqp.topics import publish_amqp
from heliograph.broker.core.queue_definition import QueueDefinition
from heliograph.broker.queues.consumer import ACCEPTED
from heliograph.broker.queues.refusal import FULL, NOT_ALLOWED
from heliograph.mqtt import Publish


@pytest.fixture(params=["in memory", "with a log"])
def scene(request, tmp_path):
    """A broker, of both kinds."""
    scene = DurableScene(tmp_path / "logs") if request.param == "with a log" else Scene()
    yield scene
    if isinstance(scene, DurableScene):
        scene.close()


@pytest.fixture
def logged(tmp_path):
    """A broker with a log."""
    scene = DurableScene(tmp_path / "logs")
    yield scene
    scene.close()


def queue(scene, name="Q", **attributes):
    return scene.broker.queues.define(QueueDefinition(name, **attributes))


def payloads(scene, queue):
    """What is in a queue, byte for byte; it is gone then."""
    scene.broker.turn.end()
    scene.turn_ends()
    consumer = Consumer()
    queue.add_consumer(consumer)
    queue.serve(consumer)
    queue.settle(consumer.entries, ACCEPTED)
    queue.remove_consumer(consumer)
    return [entry.payload for entry in consumer.entries]


def message(body=b"x", **fields):
    return encode_message(Message(body=Data(body) if isinstance(body, bytes) else Value(body), **fields))


RETAINED = {"message_annotations": {"x-opt-retain-message": True}}


class TestQueues:
    def test_messages_reach_queues_as_they_are(self, scene):
        one, two = queue(scene, "ONE"), queue(scene, "TWO")
        scene.broker.bindings.bind("a/#", one)
        scene.broker.bindings.bind("a/b", two)
        sent = [message(b"1", message_id="m", durable=True), message({"a": 1}, durable=True)]
        assert not publish_amqp(scene.broker, "a/b", sent).refused
        assert payloads(scene, one) == payloads(scene, two) == sent

    def test_selectors_choose_message_by_message(self, scene):
        red, heavy = queue(scene, "RED"), queue(scene, "HEAVY")
        scene.broker.bindings.bind("a", red, selector="colour = 'red'")
        scene.broker.bindings.bind("a", heavy, selector="weight > 10")
        sent = [
            message(b"1", application_properties={"colour": "red", "weight": 5}),
            message(b"2", application_properties={"colour": "blue", "weight": 50}),
            message(b"3", application_properties={"colour": "red", "weight": 500}),
        ]
        publish_amqp(scene.broker, "a", sent)
        assert payloads(scene, red) == [sent[0], sent[2]]
        assert payloads(scene, heavy) == [sent[1], sent[2]]

    def test_a_container_can_be_spared_its_own_messages(self, scene):
        one = queue(scene)
        scene.broker.bindings.bind("a", one, no_local="me")
        publish_amqp(scene.broker, "a", [message(b"mine")], "me")
        publish_amqp(scene.broker, "a", [message(b"yours")], "you")
        publish_amqp(scene.broker, "a", [message(b"nobody's")])
        scene.client().publish("a", b"of mqtt")
        assert len(payloads(scene, one)) == 3

    def test_nobody_there_is_no_failure(self, scene):
        put = publish_amqp(scene.broker, "nobody", [message()])
        assert (put.refused, put.stored) == ({}, False)

    def test_a_full_queue_refuses_what_it_has_no_room_for(self, scene):
        scene.broker.bindings.bind("a", queue(scene, max_depth=2))
        put = publish_amqp(scene.broker, "a", [message()] * 3)
        assert put.refused.keys() == {2}
        assert put.refused[2].condition == FULL

    def test_of_what_is_selected_the_right_one_is_refused(self, scene):
        scene.broker.bindings.bind("a", queue(scene, max_depth=1), selector="n > 1")
        sent = [message(application_properties={"n": n}) for n in (1, 2, 1, 2)]
        assert publish_amqp(scene.broker, "a", sent).refused.keys() == {3}

    def test_what_somebody_takes_is_not_refused(self, scene):
        scene.broker.bindings.bind("a", queue(scene, max_depth=1))
        subscriber = scene.client()
        subscriber.subscribe("a", 1)
        put = publish_amqp(scene.broker, "a", [message(b"1"), message(b"2")])
        assert put.refused == {}
        assert subscriber.payloads() == [b"1", b"2"]

    def test_persistent_messages_are_told_to_be_stored(self, logged):
        scene = logged
        scene.broker.bindings.bind("a", queue(scene))
        assert publish_amqp(scene.broker, "a", [message(durable=True)]).stored
        assert not publish_amqp(scene.broker, "a", [message()]).stored


class TestMqtt:
    def test_subscribers_get_a_publication(self, scene):
        subscriber = scene.client()
        subscriber.subscribe("a/+", 1)
        publish_amqp(scene.broker, "a/b", [message("text", durable=True, subject="s", reply_to="topic://r")])
        scene.turn_ends()
        (found,) = subscriber.messages()
        assert (found.topic, found.payload, found.qos) == ("a/b", b"text", 1)
        assert found.properties == {
            "payload_format_indicator": 1,
            "response_topic": "r",
            "user_property": [("amqp.subject", "s")],
        }

    def test_clients_of_mqtt_3_get_the_payload(self, scene):
        subscriber = scene.client(version=4)
        subscriber.subscribe("a")
        publish_amqp(scene.broker, "a", [message(b"x", subject="s")])
        assert subscriber.messages() == [Publish("a", b"x")]

    def test_nothing_is_converted_if_nobody_there_wants_it(self, scene, monkeypatch):
        one = queue(scene)
        scene.broker.bindings.bind("a", one)
        monkeypatch.setattr(publishing, "spans_of", None)
        publish_amqp(scene.broker, "a", [message(b"x" * 5000), message()])
        assert len(payloads(scene, one)) == 2

    def test_a_message_that_says_so_is_retained(self, scene):
        publish_amqp(scene.broker, "a", [message(b"kept", **RETAINED)])
        subscriber = scene.client()
        subscriber.subscribe("a")
        (found,) = subscriber.messages()
        assert (found.payload, found.retain) == (b"kept", True)

    def test_a_long_one_too(self, scene):
        publish_amqp(scene.broker, "a", [message(b"k" * 5000, **RETAINED)])
        assert scene.broker.retained.count == 1

    def test_a_durable_subscription_gets_what_came_while_it_was_away(self, logged):
        scene = logged
        subscriber = durable(scene, "s")
        subscriber.subscribe("a", 1)
        subscriber.lose()
        put = publish_amqp(scene.broker, "a", [message(b"1", durable=True), message(b"22", durable=True)])
        assert put.stored
        scene.turn_ends()
        scene.restart()
        assert durable(scene, "s").payloads() == [b"1", b"22"]

    def test_what_finds_no_room_is_refused(self):
        scene = Scene(max_messages=1)
        subscriber = scene.client("s", session_expiry_interval=100)
        subscriber.subscribe("a", 1)
        subscriber.lose()
        put = publish_amqp(scene.broker, "a", [message(b"%d" % n, durable=True) for n in range(3)])
        assert put.refused.keys() == {1, 2}

    def test_what_has_expired_is_not_published(self, scene):
        subscriber = scene.client()
        subscriber.subscribe("a")
        publish_amqp(scene.broker, "a", [message(b"old", absolute_expiry_time=1), message(b"new")])
        assert subscriber.payloads() == [b"new"]


class TestMistakes:
    @pytest.mark.parametrize("topic", ["", "a/#", "a/+", "a\0b"])
    def test_no_message_goes_to_what_is_no_topic(self, scene, topic):
        assert publish_amqp(scene.broker, topic, [message()]).refused[0].condition == "amqp:invalid-field"

    def test_the_servers_own_topics_are_not_for_clients(self, scene):
        assert publish_amqp(scene.broker, "$SYS/x", [message()]).refused[0].condition == NOT_ALLOWED

    def test_what_is_no_message_is_told_before_anybody_gets_something(self, scene):
        one = queue(scene)
        scene.broker.bindings.bind("a", one)
        scene.client().subscribe("a")
        with pytest.raises(DecodeError):
            publish_amqp(scene.broker, "a", [message(), b"\x00\x53\x75\x54\x05"])
        assert one.depth == 0


class TestUnitsOfWork:
    def commit(self, scene, work):
        answers = []
        work.commit(answers.append)
        scene.broker.turn.end()
        scene.turn_ends()
        assert answers == [None]

    def test_nobody_sees_anything_before_the_commit(self, scene):
        one = queue(scene)
        scene.broker.bindings.bind("a", one)
        subscriber = scene.client()
        subscriber.subscribe("a")
        work = scene.broker.queues.begin()
        put = publish_amqp(scene.broker, "a", [message(b"1"), message(b"2", durable=True)], work=work)
        assert (put.refused, put.stored) == ({}, False)
        assert payloads(scene, one) == []
        assert subscriber.payloads() == []
        self.commit(scene, work)
        assert len(payloads(scene, one)) == 2
        assert subscriber.payloads() == [b"1", b"2"]

    def test_nobody_ever_sees_what_is_rolled_back(self, scene):
        one = queue(scene)
        scene.broker.bindings.bind("a", one)
        work = scene.broker.queues.begin()
        publish_amqp(scene.broker, "a", [message()], work=work)
        work.roll_back()
        assert payloads(scene, one) == []

    def test_who_subscribes_before_the_commit_gets_it(self, scene):
        work = scene.broker.queues.begin()
        publish_amqp(scene.broker, "a", [message(b"x")], work=work)
        one = queue(scene)
        scene.broker.bindings.bind("a", one)
        self.commit(scene, work)
        assert len(payloads(scene, one)) == 1

    def test_too_much_is_refused(self, scene):
        work = scene.broker.queues.begin(limit=1)
        assert publish_amqp(scene.broker, "a", [message()] * 2, work=work).refused.keys() == {0, 1}

    def test_what_is_no_message_is_told_at_once(self, scene):
        work = scene.broker.queues.begin()
        with pytest.raises(DecodeError):
            publish_amqp(scene.broker, "a", [b"\x00\x53\x75\x54\x05"], work=work)

    @pytest.mark.parametrize("share", range(11))
    def test_all_of_it_survives_a_crash_or_nothing(self, logged, share):
        """Two publications for a durable subscription, queues that are bound, and one that is put into."""
        scene = logged
        bound, other = queue(scene, "BOUND"), queue(scene, "OTHER")
        scene.broker.bindings.bind("#", bound)
        subscriber = durable(scene, "s")
        subscriber.subscribe("#", 1)
        subscriber.lose()
        start = scene.store.ledger.end
        work = scene.broker.queues.begin()
        publish_amqp(scene.broker, "a", [message(b"1", durable=True)], work=work)
        other.put([message(b"2", durable=True)], work=work)
        publish_amqp(scene.broker, "b", [message(b"3", durable=True)], work=work)
        self.commit(scene, work)
        scene.restart(cut=start + (scene.store.ledger.end - start) * share // 10)
        found = durable(scene, "s").payloads()
        assert found in ([], [b"1", b"3"])
        queues = scene.broker.queues
        assert (queues.find("BOUND").depth, queues.find("OTHER").depth) == ((2, 1) if found else (0, 0))
        assert found or share < 10

    def test_a_subscriber_who_is_there_gets_offsets_that_are_right(self, logged):
        scene = logged
        subscriber = durable(scene, "s")
        subscriber.subscribe("a", 1)
        work = scene.broker.queues.begin()
        for number in range(3):
            publish_amqp(scene.broker, "a", [message(b"%d" % number * (number + 1), durable=True)], work=work)
        self.commit(scene, work)
        found = subscriber.messages()
        assert [one.payload for one in found] == [b"0", b"11", b"222"]
        subscriber.acknowledge(found[1])
        scene.restart()
        assert durable(scene, "s").payloads() == [b"0", b"222"]
