"""Whatever is bound and published, by whom, each queue gets what a plain look at its bindings says."""

from hypothesis import given, settings
from hypothesis import strategies as st

from broker.clients import Scene
from broker.queue_scenes import Consumer
from broker.queues.selectors.slow_selectors import evaluate
from heliograph.amqp.messages.message import Data, Message, decode_message, encode_message
from heliograph.broker.amqp.topics import publish_amqp
from heliograph.broker.core.queue_definition import QueueDefinition
from heliograph.broker.queues.selectors.parsing import parse
from heliograph.mqtt.strings import topic_matches

QUEUES = ["ONE", "TWO", "THREE"]
FILTERS = ["a", "a/b", "a/+", "a/#", "#", "+/b"]
SELECTORS = ["", "", "colour = 'red'", "colour <> 'red'", "colour IS NULL", "JMSDeliveryMode = 'PERSISTENT'"]
TOPICS = ["a", "a/b", "c/b", "$x/b"]
CONTAINERS = ["", "", "me", "you"]

bind = st.tuples(
    st.just("bind"),
    st.sampled_from(QUEUES),
    st.sampled_from(FILTERS),
    st.sampled_from(SELECTORS),
    st.sampled_from(CONTAINERS),
)
unbind = st.tuples(st.just("unbind"), st.sampled_from(QUEUES), st.sampled_from(FILTERS))
content = st.lists(
    st.tuples(st.sampled_from([None, "red", "blue"]), st.booleans(), st.binary(max_size=3)), min_size=1, max_size=4
)
publish = st.tuples(st.just("mqtt"), st.sampled_from(TOPICS), content)
send = st.tuples(st.just("amqp"), st.sampled_from(TOPICS), content, st.sampled_from(CONTAINERS))


def wanted(bindings, topic, colour, durable, container):
    """Whether one of the bindings lets a message through."""
    seen = {"JMSDeliveryMode": "PERSISTENT" if durable else "NON_PERSISTENT", "colour": colour}
    for topic_filter, (selector, no_local) in bindings.items():
        mine = no_local and no_local == container
        if (
            topic_matches(topic_filter, topic)
            and not mine
            and (not selector or evaluate(parse(selector), seen) is True)
        ):
            return True
    return False


@settings(deadline=None)
@given(st.lists(bind | bind | unbind | publish | send, max_size=25))
def test_queues_get_what_their_bindings_say(steps):
    queue_scene = Scene()
    queues = {name: queue_scene.broker.queues.define(QueueDefinition(name)) for name in QUEUES}
    client = queue_scene.client()
    bindings = {name: {} for name in QUEUES}
    expected = {name: [] for name in QUEUES}
    for what, *step in steps:
        if what == "bind":
            name, topic_filter, selector, no_local = step
            queue_scene.broker.bindings.bind(topic_filter, queues[name], selector=selector, no_local=no_local)
            bindings[name][topic_filter] = selector, no_local
        elif what == "unbind":
            name, topic_filter = step
            was_there = bindings[name].pop(topic_filter, None) is not None
            assert queue_scene.broker.bindings.unbind(topic_filter, queues[name]) is was_there
        else:
            topic, messages, container = (*step, "")[:3]
            for name in QUEUES:
                for colour, durable, body in messages:
                    if wanted(bindings[name], topic, colour, durable, container):
                        expected[name].append((colour, durable, body))
            if what == "mqtt":
                for colour, durable, body in messages:
                    properties = {"user_property": [("colour", colour)]} if colour else {}
                    client.publish(topic, body, qos=int(durable), **properties)
            else:
                encoded = [
                    encode_message(
                        Message(Data(body), durable, application_properties={"colour": colour} if colour else None)
                    )
                    for colour, durable, body in messages
                ]
                assert not publish_amqp(queue_scene.broker, topic, encoded, container).refused
    queue_scene.broker.turn.end()
    for name in QUEUES:
        assert contents(queues[name]) == expected[name]


def contents(queue):
    """What is in a queue, in order."""
    consumer = Consumer()
    queue.add_consumer(consumer)
    queue.serve(consumer)
    found = [decode_message(entry.payload) for entry in consumer.entries]
    return [((one.application_properties or {}).get("colour"), one.durable, one.body.content) for one in found]
