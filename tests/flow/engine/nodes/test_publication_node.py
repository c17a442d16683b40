"""Publication: by topic and by content, with subscriptions that come as messages."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from heliograph.errors import Problem
from heliograph.flow.engine.outcome import Publish, Result
from heliograph.flow.engine.subscriptions import Subscription, SubscriptionRegistry, topic_matches
from heliograph.flow.testing import FlowUnderTest
from small_flows import flow_under_test

FLOW = """
nodes:
  in: {type: QueueInput, queue: Q, domain: XMLNSC, topic: default/topic}
  publish: {type: Publication, subscription_point: POINT}
  failed: {type: QueueOutput, queue: FAILED}
connections:
  - in.out -> publish
  - publish.failure -> failed
"""


@pytest.fixture
def flow(tmp_path: Path) -> Iterator[FlowUnderTest]:
    with flow_under_test(tmp_path, FLOW.replace(", subscription_point: POINT", "")) as under_test:
        yield under_test


def rfh2(**psc: str) -> bytes:
    """An MQRFH2 with a psc folder, big-endian."""
    folder = ("<psc>" + "".join(f"<{name}>{text}</{name}>" for name, text in psc.items()) + "</psc>").encode()
    folder += b" " * (-len(folder) % 4)
    head = b"RFH " + b"".join(number.to_bytes(4, "big") for number in (2, 40 + len(folder), 273, 1208))
    return head + b"        " + bytes(4) + (1208).to_bytes(4, "big") + len(folder).to_bytes(4, "big") + folder


def command(flow: FlowUnderTest, body: bytes = b"", reply_to: str = "", **psc: str) -> Result:
    return flow.send(rfh2(**psc) + body, format="MQHRF2", encoding=273, reply_to=reply_to)


def test_the_topic_is_that_of_the_message_or_of_the_input(flow: FlowUnderTest) -> None:
    flow.send("<a/>", topic="orders/new")
    flow.send("<a/>")
    command(flow, b"<a/>", Command="Publish", Topic="from/header")
    assert {topic: len(messages) for topic, messages in flow.topics.items()} == {
        "orders/new": 1,
        "default/topic": 1,
        "from/header": 1,
    }
    assert [message.topic for message in flow.topic("default/topic")] == ["default/topic"]


@pytest.mark.parametrize("topic", ["a/+", "#"])
def test_a_topic_with_wildcards_cannot_be_published_on(flow: FlowUnderTest, topic: str) -> None:
    flow.send("<a/>", topic=topic)
    assert list(flow.queues) == ["FAILED"]
    assert flow.topics == {}


@pytest.mark.parametrize(
    ("condition", "queues"),
    [
        ("", ["SUB"]),
        ("Body.Order.Amount > 100", ["SUB"]),
        ("Body.Order.Amount > 300", []),
        ("Body.Order.Missing > 100", []),
        ("Body.Order.Name > 100", []),
        ("Root.MQMD.Priority = 4 AND Body.Order.Name LIKE 'A%'", ["SUB"]),
    ],
    ids=["none", "true", "false", "unknown", "cannot be compared", "headers"],
)
def test_a_subscription_gets_what_its_condition_says(flow: FlowUnderTest, condition: str, queues: list[str]) -> None:
    flow.subscriptions.register(Subscription("SUB", "orders/#", filter=condition))
    flow.send("<Order><Name>Ann</Name><Amount>250</Amount></Order>", topic="orders/new", priority=4)
    assert list(flow.queues) == queues
    assert list(flow.topics) == ["orders/new"]


def test_subscriptions_come_and_go_as_messages(flow: FlowUnderTest) -> None:
    filtered = {"Topic": "orders/+", "Filter": "Body.Order.Amount &gt; 100", "QName": "SUB"}
    assert command(flow, Command="RegSub", **filtered) is Result.DONE
    assert command(flow, reply_to="OTHER", Command="RegSub", Topic="orders/new") is Result.DONE
    assert flow.subscriptions.all() == [
        Subscription("OTHER", "orders/new"),
        Subscription("SUB", "orders/+", filter="Body.Order.Amount > 100"),
    ]
    flow.send("<Order><Amount>101</Amount></Order>", topic="orders/new")
    assert command(flow, Command="DeregSub", **filtered) is Result.DONE
    flow.send("<Order><Amount>101</Amount></Order>", topic="orders/new")
    assert {queue: len(messages) for queue, messages in flow.queues.items()} == {"SUB": 1, "OTHER": 2}


@pytest.mark.parametrize(
    ("psc", "text"),
    [
        ({"Command": "RegSub", "QName": "Q", "Topic": "a", "Filter": "1 +"}, "expected an expression"),
        ({"Command": "RegSub", "QName": "Q", "Topic": "a/#/b"}, "# has to be the last level"),
        ({"Command": "RegSub", "QName": "Q", "Topic": "a+"}, "+ has to be a level of its own"),
        ({"Command": "RegSub", "QName": "Q"}, "needs a topic"),
        ({"Command": "RegSub", "Topic": "a"}, "needs a queue"),
        ({"Command": "DeregSub", "QName": "Q", "Topic": "a"}, "no such subscription"),
        ({"Command": "Sing"}, "expected one of Publish, DelPub, RegSub, DeregSub"),
    ],
)
def test_a_command_that_is_wrong_fails(tmp_path: Path, psc: dict[str, str], text: str) -> None:
    bare = FLOW.replace(", subscription_point: POINT", "").replace("  - publish.failure -> failed\n", "")
    bare = bare.replace("  failed: {type: QueueOutput, queue: FAILED}\n", "")
    with flow_under_test(tmp_path, bare) as flow:
        assert command(flow, **psc) is Result.DEAD_LETTER
        assert text in flow.failures[0].exceptions


def test_retained_publications(flow: FlowUnderTest) -> None:
    from heliograph.flow.engine.run import Resources
    from heliograph.flow.formats.envelope import Envelope

    def published(**psc: str) -> list[tuple[str, bool, bool]]:
        envelope = Envelope(rfh2(**psc) + b"<a/>", "MQHRF2", encoding=273, message_id=b"m")
        (outcome,) = flow.flow.process("in", [envelope], Resources(), flow.now)
        effects = [effect for effect in outcome.effects if isinstance(effect, Publish)]
        return [(effect.topic, effect.retain, bool(effect.envelope.body)) for effect in effects]

    assert published(Command="Publish", Topic="a", PubOpt="RetainPub") == [("a", True, True)]
    assert published(Command="DelPub", Topic="a") == [("a", True, False)]


def test_a_subscription_point_keeps_publications_apart(tmp_path: Path) -> None:
    with flow_under_test(tmp_path, FLOW.replace("POINT", "euro")) as flow:
        flow.subscriptions.register(Subscription("PLAIN", "#"))
        flow.subscriptions.register(Subscription("EURO", "#", "euro"))
        flow.send("<a/>", topic="x")
        assert list(flow.queues) == ["EURO"]


def test_a_registry_in_a_file_is_there_again_and_seen_by_others(tmp_path: Path) -> None:
    file = tmp_path / "subscriptions.db"
    one, other = SubscriptionRegistry(file), SubscriptionRegistry(file)
    one.register(Subscription("Q", "a", filter="Body.x = 1"))
    assert other.all() == []
    other.refresh()
    assert other.all() == [Subscription("Q", "a", filter="Body.x = 1")]
    one.close()
    other.close()
    again = SubscriptionRegistry(file)
    assert again.all() == [Subscription("Q", "a", filter="Body.x = 1")]
    again.close()


def test_a_filter_that_is_wrong_is_not_registered() -> None:
    registry = SubscriptionRegistry()
    with pytest.raises(Problem, match="InputRoot"):
        registry.register(Subscription("Q", "a", filter="InputRoot.x = 1"))
    assert registry.all() == []
    registry.close()


@pytest.mark.parametrize(
    ("topic_filter", "topic", "expected"),
    [
        ("a/b", "a/b", True),
        ("a/b", "a/c", False),
        ("a/+", "a/b", True),
        ("a/+", "a", False),
        ("a/+", "a/b/c", False),
        ("a/#", "a", True),
        ("a/#", "a/b/c", True),
        ("#", "a/b", True),
        ("+/b", "a/b", True),
        ("A/b", "a/b", False),
    ],
)
def test_topic_filters(topic_filter: str, topic: str, expected: bool) -> None:
    assert topic_matches(topic_filter.split("/"), topic.split("/")) is expected
