"""The checker of histories catches every kind of fault, and nothing that MQTT allows."""

import pytest

from faults.history import Arrival, History, RetainedLook, Stream, Subscriber
from faults.rules import violations


def broken(history: History) -> list[str]:
    """The rules that this history breaks."""
    return [one.rule for one in violations(history)]


def stream(qos: int = 1, sent: int = 4, acknowledged: int | None = None, name: str = "p") -> Stream:
    done = sent if acknowledged is None else acknowledged
    return Stream(name, f"load/{name}", qos, sent, set(range(1, done + 1)))


def subscriber(
    *connections: str, qos: int = 1, name: str = "s", group: str = "", of: Stream | None = None
) -> Subscriber:
    """A subscriber that got these numbers, written like "1 2 3", a text for each connection."""
    source = of or stream(qos)
    arrivals = [
        Arrival(source.publisher, source.topic, int(number), min(qos, source.qos), False, connection)
        for connection, numbers in enumerate(connections, 1)
        for number in numbers.split()
    ]
    return Subscriber(name, "load/+", qos, group, arrivals)


@pytest.mark.parametrize("qos", [1, 2])
def test_everything_once_and_in_order_is_right(qos: int) -> None:
    assert broken(History([stream(qos)], [subscriber("1 2", "3 4", qos=qos)])) == []


# (a) Nothing that was acknowledged is lost.


def test_an_acknowledged_message_that_never_arrives_is_lost() -> None:
    assert broken(History([stream()], [subscriber("1 2", "3")])) == ["lost"]


def test_it_is_lost_even_if_another_subscriber_got_it() -> None:
    got_it, missed_it = subscriber("1 2 3 4"), subscriber("1 2 3", name="other")
    assert broken(History([stream()], [got_it, missed_it])) == ["lost"]


def test_a_message_that_was_not_acknowledged_may_be_lost() -> None:
    assert broken(History([stream(acknowledged=3)], [subscriber("1 2 3")])) == []


def test_a_message_that_was_not_acknowledged_may_arrive() -> None:
    assert broken(History([stream(acknowledged=3)], [subscriber("1 2 3 4")])) == []


def test_nobody_misses_what_it_has_not_subscribed_to() -> None:
    assert broken(History([stream()], [Subscriber("s", "elsewhere/#", 1)])) == []


# (b) QoS 2 is exactly once.


@pytest.mark.parametrize("arrivals", [("1 2 2 3 4",), ("1 2", "2 3 4"), ("1 2 3 4", "", "4")])
def test_a_qos_2_message_that_arrives_twice_is_a_fault(arrivals: tuple[str, ...]) -> None:
    assert broken(History([stream(2)], [subscriber(*arrivals, qos=2)])) == ["twice"]


@pytest.mark.parametrize(("published", "subscribed"), [(1, 1), (1, 2), (2, 1)])
def test_any_other_message_may_arrive_twice(published: int, subscribed: int) -> None:
    source = stream(published)
    assert broken(History([source], [subscriber("1 2", "2 3 4", qos=subscribed, of=source)])) == []


# (c) Order.


@pytest.mark.parametrize("arrivals", ["1 3 2 4", "1 2 4 3 4", "2 1 2 3 4"])
def test_first_arrivals_out_of_order_are_a_fault(arrivals: str) -> None:
    assert "order" in broken(History([stream()], [subscriber(arrivals)]))


def test_first_arrivals_are_in_order_across_connections_too() -> None:
    assert broken(History([stream()], [subscriber("1", "3", "2 3 4")])) == ["order"]


@pytest.mark.parametrize("arrivals", [("1 2 3", "2 3 4"), ("1 2 3 2 3 4",), ("1 2 3 1", "3 1 2 3 4"), ("1 1 2 3 4",)])
def test_a_run_may_come_again_in_its_order(arrivals: tuple[str, ...]) -> None:
    assert broken(History([stream()], [subscriber(*arrivals)])) == []


@pytest.mark.parametrize("arrivals", [("1 2 3 4", "2 4"), ("1 2 3 4 1 3 4",)])
def test_a_run_that_comes_again_with_holes_is_a_fault(arrivals: tuple[str, ...]) -> None:
    assert broken(History([stream()], [subscriber(*arrivals)])) == ["order"]


def test_streams_have_no_order_between_them() -> None:
    one, other = stream(name="p"), stream(name="q")
    got = subscriber("1 2 3 4", of=one)
    got.arrivals[2:2] = subscriber("1 2 3 4", of=other).arrivals
    assert broken(History([one, other], [got])) == []


# (d) Nothing comes from nowhere.


def test_a_number_that_was_not_sent_is_a_fault() -> None:
    assert broken(History([stream()], [subscriber("1 2 3 4 5")])) == ["never sent"]


def test_a_topic_that_nobody_published_to_is_a_fault() -> None:
    assert broken(History([], [subscriber("1")])) == ["never sent"]


def test_a_topic_that_was_not_subscribed_to_is_a_fault() -> None:
    got = subscriber("1 2 3 4")
    got.filter = "elsewhere"
    assert broken(History([stream()], [got])) == ["never sent"] * 4


def test_a_message_under_the_name_of_another_publisher_is_a_fault() -> None:
    got = subscriber("1 2 3 4")
    got.arrivals[0] = got.arrivals[0]._replace(publisher="q")
    assert broken(History([stream()], [got])) == ["never sent"]


def test_a_message_with_another_qos_is_a_fault() -> None:
    got = subscriber("1 2 3 4")
    got.arrivals[0] = got.arrivals[0]._replace(qos=0)
    assert broken(History([stream()], [got])) == ["qos"]


# (e) Retained messages.


@pytest.mark.parametrize(
    ("acknowledged", "found", "faults"),
    [
        ({"load/p": 3}, {"load/p": 3}, []),
        ({"load/p": 3}, {"load/p": 4}, []),
        ({}, {"load/p": 1}, []),
        ({"load/p": 3}, {"load/p": 2}, ["retained"]),
        ({"load/p": 3}, {}, ["retained"]),
        ({"load/p": 3}, {"load/p": 5}, ["retained"]),
        ({}, {"load/q": 1}, ["retained"]),
    ],
)
def test_a_retained_message_is_the_last_acknowledged_one_or_a_later_one(
    acknowledged: dict[str, int], found: dict[str, int], faults: list[str]
) -> None:
    looked = RetainedLook(acknowledged, found)
    assert broken(History(retained_streams=[stream()], looks=[looked])) == faults


# (f) Shared subscriptions.


def members(one: str, other: str, qos: int = 1) -> list[Subscriber]:
    return [subscriber(one, qos=qos, name="s", group="g"), subscriber(other, qos=qos, name="t", group="g")]


def test_a_group_shares_messages_in_any_order() -> None:
    assert broken(History([stream()], members("4 2", "1 3"))) == []


def test_a_message_that_no_member_got_is_lost() -> None:
    assert broken(History([stream()], members("1 2", "4"))) == ["lost"]


def test_qos_1_may_come_to_two_members() -> None:
    assert broken(History([stream()], members("1 2 3", "3 4"))) == []


def test_qos_2_comes_to_one_member() -> None:
    assert broken(History([stream(2)], members("1 2 3", "3 4", qos=2))) == ["twice"]


# (g) Sessions.


def test_a_session_that_is_gone_is_a_fault() -> None:
    assert broken(History(forgotten=["s", "s"])) == ["forgotten"]
