"""Messages from topics."""

from heliograph.client import Topic

NODES = "in: {type: TopicInput, topic: news/+%s}\nout: {type: QueueOutput, queue: OUT}"


def publish(queue_fixture, topic, *bodies):
    producer = queue_fixture.session.producer(Topic(topic))
    for body in bodies:
        producer.send(body)


def test_what_is_published_comes_into_the_flow_once(flow, queue_fixture):
    with flow(NODES % "", "in.out -> out", "additional_instances: 1"):
        publish(queue_fixture, "news/today", *map(str, range(20)))
        publish(queue_fixture, "weather/today", "rain")
        assert sorted(map(int, queue_fixture.bodies("OUT", 20))) == list(range(20))
    assert queue_fixture.rest("OUT") == []


def test_a_durable_subscription_gathers_messages_while_the_flow_does_not_run(flow, queue_fixture):
    nodes = NODES % ", subscription: reader"
    with flow(nodes, "in.out -> out"):
        publish(queue_fixture, "news/a", "1")
        assert queue_fixture.bodies("OUT") == ["1"]
    publish(queue_fixture, "news/b", "2")
    with flow(nodes, "in.out -> out"):
        assert queue_fixture.bodies("OUT") == ["2"]
