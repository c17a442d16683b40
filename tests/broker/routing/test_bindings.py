"""Publications find their way into queues."""

import pytest

from broker.clients import DurableScene, Scene
from broker.durable_clients import durable
from broker.queue_scenes import Consumer
from heliograph.amqp.messages.message import Data, Value, decode_message
from heliograph.broker.core.queue_definition import QueueDefinition
from heliograph.broker.errors import SelectorError
from heliograph.broker.queues.consumer import ACCEPTED
from heliograph.errors import Problem
from heliograph.mqtt import PubAck, Publish, PubRec, PubRel, Reason, Will


@pytest.fixture
def memory():
    """A broker that keeps everything in memory."""
    return Scene()


@pytest.fixture
def queue_scene(tmp_path):
    """A broker with a log."""
    queue_scene = DurableScene(tmp_path / "logs")
    yield queue_scene
    queue_scene.close()


def queue(queue_scene, name="Q", **attributes):
    return queue_scene.broker.queues.define(QueueDefinition(name, **attributes))


def got(queue_scene, queue):
    """Get all messages of a queue for good."""
    queue_scene.broker.turn.end()
    queue_scene.turn_ends()
    consumer = Consumer()
    queue.add_consumer(consumer)
    queue.serve(consumer)
    found = [decode_message(entry.payload) for entry in consumer.entries]
    queue.settle(consumer.entries, ACCEPTED)
    queue.remove_consumer(consumer)
    queue_scene.turn_ends()
    return found


def bodies(queue_scene, queue):
    return [message.body.content for message in got(queue_scene, queue)]


class TestRules:
    def test_publications_to_a_filter_go_to_its_queue(self, memory):
        orders = queue(memory)
        memory.broker.bindings.bind("orders/#", orders)
        publisher = memory.client()
        publisher.publish("orders/1", b"one")
        publisher.publish("other", b"no")
        (message,) = got(memory, orders)
        assert (message.body, message.to, message.durable) == (Data(b"one"), "topic://orders/1", False)

    def test_subscribers_get_them_as_before(self, memory):
        memory.broker.bindings.bind("a", queue(memory))
        subscriber = memory.client()
        subscriber.subscribe("#")
        memory.client(version=4).publish("a", b"x")
        assert subscriber.payloads() == [b"x"]

    def test_runs_stay_in_order(self, memory):
        one = queue(memory)
        memory.broker.bindings.bind("a", one)
        publisher = memory.client(version=4)
        publisher.send(*[Publish("a", b"%d" % number) for number in range(10, 60)])
        assert bodies(memory, one) == [b"%d" % number for number in range(10, 60)]

    def test_several_queues_get_a_message_each(self, memory):
        one, two = queue(memory, "ONE"), queue(memory, "TWO")
        memory.broker.bindings.bind("a/+", one)
        memory.broker.bindings.bind("a/#", two)
        memory.client().publish("a/b", b"x")
        assert bodies(memory, one) == bodies(memory, two) == [b"x"]

    def test_a_queue_gets_a_message_once_however_many_filters_match(self, memory):
        one = queue(memory)
        memory.broker.bindings.bind("a/+", one)
        memory.broker.bindings.bind("a/#", one)
        memory.client().publish("a/b", b"x")
        assert bodies(memory, one) == [b"x"]

    def test_a_binding_can_be_taken_away(self, memory):
        one = queue(memory)
        memory.broker.bindings.bind("a", one)
        assert memory.broker.bindings.unbind("a", one)
        assert not memory.broker.bindings.unbind("a", one)
        memory.client().publish("a", b"x")
        assert bodies(memory, one) == []

    def test_a_queue_that_is_deleted_is_bound_to_nothing(self, memory):
        memory.broker.bindings.bind("a", queue(memory))
        memory.broker.queues.delete("Q")
        answer = memory.client().publish("a", b"x", qos=1)
        assert answer.reason is Reason.NO_MATCHING_SUBSCRIBERS

    def test_declared_filters_replace_those_that_were(self, memory):
        one = queue(memory)
        memory.broker.bindings.bind("old", one)
        memory.broker.bindings.bind("both", one)
        memory.broker.bindings.declare(one, ["both", "new"])
        publisher = memory.client()
        for topic in ("old", "both", "new"):
            publisher.publish(topic, topic.encode())
        assert bodies(memory, one) == [b"both", b"new"]

    @pytest.mark.parametrize("bad", ["", "a/#/b", "$share/g/a", "/".join("x" * 300)])
    def test_filters_that_make_no_sense_are_refused(self, memory, bad):
        with pytest.raises(Problem):
            memory.broker.bindings.bind(bad, queue(memory))

    def test_wills_go_there_too(self, memory):
        one = queue(memory)
        memory.broker.bindings.bind("will", one)
        memory.client("w", will=Will("will", b"gone")).lose()
        assert bodies(memory, one) == [b"gone"]


class TestSelectors:
    def test_only_what_is_selected_comes(self, memory):
        one = queue(memory)
        memory.broker.bindings.bind("a", one, selector="colour = 'red'")
        publisher = memory.client()
        publisher.publish("a", b"red", user_property=[("colour", "red")])
        publisher.publish("a", b"blue", user_property=[("colour", "blue")])
        assert bodies(memory, one) == [b"red"]

    def test_one_of_several_bindings_is_enough(self, memory):
        one = queue(memory)
        memory.broker.bindings.bind("a/+", one, selector="colour = 'red'")
        memory.broker.bindings.bind("a/#", one, selector="colour = 'blue'")
        publisher = memory.client()
        for colour in ("red", "blue", "green"):
            publisher.publish("a/b", colour.encode(), user_property=[("colour", colour)])
        assert bodies(memory, one) == [b"red", b"blue"]

    def test_a_filter_that_is_bound_again_has_the_new_selector(self, memory):
        one = queue(memory)
        memory.broker.bindings.bind("a", one, selector="FALSE")
        memory.broker.bindings.bind("a", one)
        memory.client().publish("a", b"x")
        assert bodies(memory, one) == [b"x"]

    def test_a_selector_with_a_mistake_changes_nothing(self, memory):
        one = queue(memory)
        memory.broker.bindings.bind("a", one)
        with pytest.raises(SelectorError):
            memory.broker.bindings.bind("a", one, selector="colour =")
        memory.client().publish("a", b"x")
        assert bodies(memory, one) == [b"x"]


class TestRetained:
    def test_a_new_subscription_gets_what_is_retained_with_the_annotation(self, memory):
        publisher = memory.client()
        publisher.publish("a/1", b"kept", retain=True, qos=1)
        publisher.publish("b/1", b"other", retain=True)
        one = queue(memory)
        memory.broker.bindings.bind("a/#", one, retained=True)
        (message,) = got(memory, one)
        assert (message.body, message.durable) == (Data(b"kept"), True)
        assert message.message_annotations["x-opt-retain-message"] is True

    def test_its_selector_counts(self, memory):
        publisher = memory.client()
        publisher.publish("a/1", b"red", retain=True, user_property=[("colour", "red")])
        publisher.publish("a/2", b"blue", retain=True, user_property=[("colour", "blue")])
        one = queue(memory)
        memory.broker.bindings.bind("a/#", one, selector="colour = 'red'", retained=True)
        assert bodies(memory, one) == [b"red"]

    def test_rules_get_only_what_is_new(self, memory):
        memory.client().publish("a", b"kept", retain=True)
        one = queue(memory)
        memory.broker.bindings.bind("a", one)
        assert bodies(memory, one) == []


class TestAnswers:
    def test_a_message_for_a_queue_has_a_receiver(self, memory):
        memory.broker.bindings.bind("a", queue(memory))
        assert memory.client().publish("a", b"x", qos=1).reason is Reason.SUCCESS

    def test_a_full_queue_refuses_like_a_full_buffer(self, memory):
        memory.broker.bindings.bind("a", queue(memory, max_depth=2))
        publisher = memory.client()
        publisher.send(*[Publish("a", b"x", 1, packet_id=number) for number in (1, 2, 3, 4)])
        answers = [packet for packet in publisher.take() if isinstance(packet, PubAck)]
        assert [answer.reason for answer in answers] == [0, 0, Reason.QUOTA_EXCEEDED, Reason.QUOTA_EXCEEDED]
        assert memory.broker.stats.rejected == 2

    def test_what_another_queue_or_a_subscriber_takes_is_not_refused(self, memory):
        memory.broker.bindings.bind("a", queue(memory, "FULL", max_depth=1))
        publisher = memory.client()
        publisher.publish("a", b"x", qos=1)
        assert publisher.publish("a", b"x", qos=1).reason is Reason.QUOTA_EXCEEDED
        other = queue(memory, "OTHER")
        memory.broker.bindings.bind("a", other)
        assert publisher.publish("a", b"y", qos=1).reason is Reason.SUCCESS
        memory.broker.bindings.unbind("a", other)
        memory.client().subscribe("a", 1)
        assert publisher.publish("a", b"z", qos=1).reason is Reason.SUCCESS

    def test_a_message_that_is_too_long_is_refused(self, memory):
        memory.broker.bindings.bind("a", queue(memory, max_message_length=200))
        assert memory.client().publish("a", b"x" * 200, qos=1).reason is Reason.QUOTA_EXCEEDED


class TestDurability:
    def test_qos_1_is_persistent_and_qos_0_is_not(self, queue_scene):
        one = queue(queue_scene)
        queue_scene.broker.bindings.bind("a", one)
        publisher = queue_scene.client()
        publisher.publish("a", b"gone")
        publisher.publish("a", b"kept", qos=1)
        queue_scene.restart()
        assert bodies(queue_scene, queue_scene.broker.queues.find("Q")) == [b"kept"]

    def test_the_acknowledgement_waits_until_the_message_is_safe(self, queue_scene):
        queue_scene.broker.bindings.bind("a", queue(queue_scene))
        publisher = queue_scene.client()
        with queue_scene.held():
            publisher.send(Publish("a", b"x", 1, packet_id=7))
            assert publisher.take() == []
        assert publisher.take() == [PubAck(7)]

    def test_a_queue_that_stores_nothing_makes_nobody_wait(self, queue_scene):
        temporary = queue_scene.broker.queues.define(QueueDefinition("T", temporary=True), creator=self)
        queue_scene.broker.bindings.bind("a", temporary)
        publisher = queue_scene.client()
        with queue_scene.held():
            publisher.send(Publish("a", b"x", 1, packet_id=7))
            assert publisher.take() == [PubAck(7)]

    def test_a_message_for_several_queues_is_stored_once(self, queue_scene):
        for name in ("ONE", "TWO", "THREE"):
            queue_scene.broker.bindings.bind("a", queue(queue_scene, name))
        before = queue_scene.store.ledger.end
        queue_scene.client().publish("a", b"x" * 10_000, qos=1)
        assert queue_scene.store.ledger.end - before < 15_000

    @pytest.mark.parametrize("crash", [True, False])
    def test_bindings_are_there_after_a_restart(self, queue_scene, crash):
        queue_scene.broker.bindings.bind("a/#", queue(queue_scene), selector="colour = 'red'", no_local="me")
        queue_scene.turn_ends()
        queue_scene.restart(crash=crash)
        one = queue_scene.broker.queues.find("Q")
        (binding,) = queue_scene.broker.bindings.of(one)
        assert (binding.filter, binding.selector.text, binding.no_local) == ("a/#", "colour = 'red'", "me")
        publisher = queue_scene.client()
        publisher.publish("a/b", b"x", user_property=[("colour", "red")])
        assert bodies(queue_scene, one) == [b"x"]

    def test_bindings_that_were_taken_away_stay_away(self, queue_scene):
        one = queue(queue_scene)
        queue_scene.broker.bindings.bind("a", one)
        queue_scene.broker.bindings.unbind("a", one)
        queue_scene.turn_ends()
        queue_scene.restart()
        assert queue_scene.broker.bindings.of(queue_scene.broker.queues.find("Q")) == []

    def test_retained_messages_for_a_new_subscription_are_kept_too(self, queue_scene):
        queue_scene.client().publish("a", b"kept", qos=1, retain=True)
        queue_scene.broker.bindings.bind("a", queue(queue_scene), retained=True)
        queue_scene.turn_ends()
        queue_scene.restart()
        assert bodies(queue_scene, queue_scene.broker.queues.find("Q")) == [b"kept"]


@pytest.mark.parametrize("with_subscriber", [False, True])
def test_a_qos_2_message_is_in_a_queue_once_wherever_the_power_fails(tmp_path, with_subscriber):
    lost = kept = 0
    for share in range(11):
        queue_scene = DurableScene(tmp_path / str(share))
        queue_scene.broker.bindings.bind("a", queue(queue_scene))
        if with_subscriber:
            durable(queue_scene, "s").subscribe("a", 2)
        publisher = durable(queue_scene, "p")
        start = queue_scene.store.ledger.end
        publisher.send(Publish("a", b"x", 2, packet_id=7))
        assert publisher.take() == [PubRec(7)]
        cut = start + (queue_scene.store.ledger.end - start) * share // 10
        queue_scene.restart(cut=cut)
        depth = queue_scene.broker.queues.find("Q").depth
        lost, kept = lost + (depth == 0), kept + (depth == 1)
        again = durable(queue_scene, "p")
        again.send(Publish("a", b"x", 2, dup=True, packet_id=7))
        assert PubRec(7) in again.take()
        assert bodies(queue_scene, queue_scene.broker.queues.find("Q")) == [b"x"]
        queue_scene.close()
    assert lost
    assert kept


def test_a_receipt_in_the_same_turn_is_whole_wherever_the_power_fails(queue_scene):
    """A message for a queue comes between PUBREC of another client and the end of the turn."""
    queue_scene.broker.bindings.bind("a", queue(queue_scene))
    receiver, publisher = durable(queue_scene, "s"), durable(queue_scene, "p")
    receiver.subscribe("b", 2)
    publisher.publish("b", b"once", 2)
    (message,) = receiver.messages()
    start = queue_scene.store.ledger.end
    with queue_scene.held():
        receiver.send(PubRec(message.packet_id))
        publisher.send(Publish("a", b"x", 2, packet_id=7))
    log, end = queue_scene.log, queue_scene.store.ledger.end
    for cut in range(start, end + 1, 8):
        queue_scene.log = log
        queue_scene.restart(cut=cut)
        assert [type(packet) for packet in durable(queue_scene, "s").take()] in ([Publish], [PubRel])


def test_text_is_a_string(memory):
    one = queue(memory)
    memory.broker.bindings.bind("a", one)
    memory.client().publish("a", b"hello", payload_format_indicator=1)
    assert [message.body for message in got(memory, one)] == [Value("hello")]
