"""Messages from topics."""

from heliograph.client import Topic

NODES = "in: {type: TopicInput, topic: news/+%s}\nout: {type: QueueOutput, queue: OUT}"


def publish(desk, topic, *bodies):
    producer = desk.session.producer(Topic(topic))
    for body in bodies:
        producer.send(body)


def test_what_is_published_comes_into_the_flow_once(flow, desk):
    with flow(NODES % "", "in.out -> out", "additional_instances: 1"):
        publish(desk, "news/today", *map(str, range(20)))
        publish(desk, "weather/today", "rain")
        assert sorted(map(int, desk.bodies("OUT", 20))) == list(range(20))
    assert desk.rest("OUT") == []


def test_a_durable_subscription_gathers_messages_while_the_flow_does_not_run(flow, desk):
    nodes = NODES % ", subscription: reader"
    with flow(nodes, "in.out -> out"):
        publish(desk, "news/a", "1")
        assert desk.bodies("OUT") == ["1"]
    publish(desk, "news/b", "2")
    with flow(nodes, "in.out -> out"):
        assert desk.bodies("OUT") == ["2"]
