"""How AMQP clients that nobody here wrote receive: credit, drain, selectors, outcomes, browsing."""

from collections.abc import Callable

import pytest

from heliograph.client import Message, Session
from interop.amqp_letters import Letter, Refused, Terminus
from interop.amqp_peers import Connect, PeerConnection, connecting, got, nothing, rest, take
from interop.rhea_peer import Rhea
from running import PATIENCE, RunningServer

Define = Callable[..., str]


def test_no_more_comes_than_there_is_credit(connection: PeerConnection, queue: str) -> None:
    connection.sender(queue).send_all([Letter(number) for number in range(5)])
    receiver = connection.receiver(queue, credit=2)
    assert [take(receiver).body for _ in range(2)] == [0, 1]
    assert nothing(receiver)
    receiver.credit(1)
    assert take(receiver).body == 2
    assert nothing(receiver)


def test_many_messages_in_a_small_window(connection: PeerConnection, queue: str) -> None:
    sender = connection.sender(queue)
    assert set(sender.send_all([Letter(number) for number in range(300)])) == {"accepted"}
    receiver = connection.receiver(queue, credit=7)
    for number in range(300):
        assert take(receiver).body == number
        receiver.credit(1)


def test_draining_brings_what_is_there_and_takes_the_credit_back(connection: PeerConnection, queue: str) -> None:
    sender = connection.sender(queue)
    sender.send_all([Letter(1), Letter(2)])
    receiver = connection.receiver(queue, credit=0)
    receiver.credit(10)
    receiver.drain()
    assert [take(receiver).body for _ in range(2)] == [1, 2]
    sender.send(Letter(3))
    assert nothing(receiver)
    receiver.credit(1)
    assert take(receiver).body == 3


def test_draining_an_empty_queue(connection: PeerConnection, queue: str) -> None:
    receiver = connection.receiver(queue, credit=100)
    receiver.drain()
    assert receiver.get(0) is None


def test_two_receivers_share_a_queue(connect_peer: Connect, queue: str) -> None:
    receivers = [connect_peer().receiver(queue, credit=50) for _ in range(2)]
    connect_peer().sender(queue).send_all([Letter(number) for number in range(40)])
    counts = []
    for receiver in receivers:
        number = 0
        while (delivery := receiver.get(0.2)) is not None:
            delivery.settle()
            number += 1
        counts.append(number)
    assert sum(counts) == 40
    assert min(counts) > 0


# Selectors


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("colour = 'red'", ["a", "c"]),
        ("size > 1 AND colour <> 'red'", ["b"]),
        ("colour LIKE 'r%' OR size BETWEEN 2 AND 3", ["a", "b", "c"]),
        ("missing IS NULL AND JMSPriority > 4", ["c"]),
        ("JMSCorrelationID = 'two'", ["b"]),
        ("size * 2 = 4 AND express = TRUE", ["b"]),
    ],
)
def test_a_selector_chooses(connection: PeerConnection, queue: str, selector: str, expected: list[str]) -> None:
    connection.sender(queue).send_all(
        [
            Letter("a", properties={"colour": "red", "size": 1}, correlation_id="one"),
            Letter("b", properties={"colour": "blue", "size": 2, "express": True}, correlation_id="two"),
            Letter("c", properties={"colour": "red", "size": 1}, priority=7),
        ]
    )
    receiver = connection.receiver(Terminus(queue, selector=selector))
    assert receiver.filters == ["jms-selector"]
    assert sorted(take(receiver).body for _ in expected) == expected
    assert nothing(receiver)


def test_an_invalid_selector_is_told(connection: PeerConnection, queue: str) -> None:
    with pytest.raises(Refused, match="selector, character 10: expected") as caught:
        connection.receiver(Terminus(queue, selector="colour = "))
    assert caught.value.condition == "amqp:invalid-field"
    assert rest(connection, queue) == []


# Outcomes


def test_a_released_message_comes_again_as_if_for_the_first_time(connection: PeerConnection, queue: str) -> None:
    connection.sender(queue).send_all([Letter("first"), Letter("second")])
    receiver = connection.receiver(queue, credit=1)
    got(receiver).settle("released")
    receiver.credit(2)
    letters = [take(receiver) for _ in range(2)]
    assert [(letter.body, letter.delivery_count) for letter in letters] == [("first", 0), ("second", 0)]


@pytest.mark.parametrize("durable", [True, False])
def test_a_failed_delivery_counts(connection: PeerConnection, queue: str, durable: bool) -> None:
    connection.sender(queue).send(Letter("x", durable=durable, ttl=60_000, properties={"a": 1}))
    receiver = connection.receiver(queue)
    for attempt in range(3):
        delivery = got(receiver)
        assert delivery.letter.delivery_count == attempt
        assert (delivery.letter.durable, delivery.letter.properties) == (durable, {"a": 1})
        delivery.settle("modified", failed=True)
    assert take(receiver).delivery_count == 3


def test_what_is_undeliverable_here_goes_elsewhere(connect_peer: Connect, queue: str) -> None:
    connection = connect_peer()
    receiver = connection.receiver(queue)
    connection.sender(queue).send(Letter("not mine"))
    got(receiver).settle("modified", failed=True, undeliverable=True)
    assert nothing(receiver)
    letter = take(connect_peer().receiver(queue))
    assert (letter.body, letter.delivery_count) == ("not mine", 1)


def test_a_rejected_message_is_a_dead_letter(connection: PeerConnection, queue: str, define: Define) -> None:
    dead = define(f"{queue}.d")
    failing = define(f"{queue}.f", dead_letter_queue=dead)
    connection.sender(failing).send(Letter("bad", durable=True, annotations={"x-opt-mine": "kept"}))
    got(connection.receiver(failing)).settle("rejected", error=("my:condition", "cannot be read"))
    letter = take(connection.receiver(dead))
    annotations = letter.annotations
    assert (letter.body, annotations["x-opt-mine"]) == ("bad", "kept")
    assert annotations["x-opt-dead-letter-reason"] == "my:condition: cannot be read"
    assert annotations["x-opt-dead-letter-queue"] == failing
    assert annotations["x-opt-dead-letter-count"] >= 0
    assert annotations["x-opt-dead-letter-time"]


def test_a_message_that_fails_too_often_is_backed_out(connection: PeerConnection, queue: str, define: Define) -> None:
    backout = define(f"{queue}.b")
    failing = define(f"{queue}.f", backout_threshold=2, backout_queue=backout)
    connection.sender(failing).send(Letter("poison"))
    receiver = connection.receiver(failing)
    for _ in range(2):
        got(receiver).settle("modified", failed=True)
    assert nothing(receiver)
    letter = take(connection.receiver(backout))
    assert letter.body == "poison"
    assert letter.annotations["x-opt-dead-letter-count"] == 2


def test_what_was_not_settled_comes_again_when_the_link_closes(connection: PeerConnection, queue: str) -> None:
    connection.sender(queue).send_all([Letter(1), Letter(2)])
    receiver = connection.receiver(queue)
    got(receiver)
    receiver.close()
    assert rest(connection, queue) == [1, 2]


def test_what_was_not_settled_counts_as_failed_when_the_connection_is_lost(connect_peer: Connect, queue: str) -> None:
    lost, other = connect_peer(), connect_peer()
    other.sender(queue).send(Letter("again"))
    got(lost.receiver(queue))
    lost.cut()
    assert take(other.receiver(queue)).delivery_count == 1


def test_what_was_not_settled_has_the_default_outcome(rhea: Rhea, amqp_server: RunningServer, queue: str) -> None:
    with connecting(rhea, amqp_server.port_of("amqp")) as connect:
        connection = connect()
        connection.sender(queue).send(Letter("x"))
        receiver = connection.receiver(Terminus(queue, failing=True))
        got(receiver)
        receiver.close()
        assert take(connection.receiver(queue)).delivery_count == 1


def test_presettled_messages_are_gone_when_they_are_sent(connection: PeerConnection, queue: str) -> None:
    connection.sender(queue).send(Letter("gone"))
    receiver = connection.receiver(queue, settled=True)
    delivery = got(receiver)
    assert delivery.settled
    receiver.close()
    assert rest(connection, queue) == []


@pytest.mark.parametrize("durable", [True, False])
def test_the_server_settles_after_the_receiver_if_asked_to(
    connection: PeerConnection, queue: str, durable: bool
) -> None:
    connection.sender(queue).send_all([Letter("accepted", durable=durable), Letter("released", durable=durable)])
    receiver = connection.receiver(queue, second=True, credit=2)
    got(receiver).settle("accepted", settled=False)
    got(receiver).settle("released", settled=False)
    receiver.close()
    assert rest(connection, queue) == ["released"]


# Browsing


@pytest.mark.parametrize("settled", [True, False])
def test_a_browser_sees_all_and_takes_nothing(connection: PeerConnection, queue: str, settled: bool) -> None:
    connection.sender(queue).send_all([Letter(number) for number in range(3)])
    browser = connection.receiver(Terminus(queue, ("queue",), copy=True), settled=settled)
    for number in range(3):
        delivery = got(browser)
        assert delivery.letter.body == number
        if not settled:
            delivery.settle()
    browser.credit(10)
    browser.drain()
    assert browser.get(0) is None
    assert rest(connection, queue) == [0, 1, 2]


def test_a_browser_with_a_selector(connection: PeerConnection, queue: str) -> None:
    connection.sender(queue).send_all([Letter(number, properties={"n": number}) for number in range(4)])
    browser = connection.receiver(Terminus(queue, copy=True, selector="n > 1"), settled=True)
    assert [got(browser).letter.body for _ in range(2)] == [2, 3]


# Queues that are not for everybody


def test_a_queue_by_its_alias(connection: PeerConnection, queue: str, define: Define) -> None:
    alias = define(f"{queue}.a", kind="alias", target=queue)
    connection.sender(alias).send(Letter("x"))
    assert take(connection.receiver(alias)).body == "x"


@pytest.mark.parametrize(
    ("attributes", "condition"),
    [({"exclusive": True}, "amqp:resource-locked"), ({"get_enabled": False}, "amqp:not-allowed")],
    ids=["exclusive", "not enabled"],
)
def test_a_queue_that_takes_no_more_consumers(
    connect_peer: Connect, queue: str, define: Define, attributes: dict[str, bool], condition: str
) -> None:
    name = define(f"{queue}.x", **attributes)
    with pytest.raises(Refused) as caught:
        for _ in range(2):
            connect_peer().receiver(name)
    assert caught.value.condition == condition


# Order


def test_higher_priorities_come_first(connection: PeerConnection, queue: str) -> None:
    letters = [Letter(f"{priority}{turn}", priority=priority) for turn in "ab" for priority in (1, 9, 4, 7)]
    connection.sender(queue).send_all(letters)
    assert rest(connection, queue) == ["9a", "9b", "7a", "7b", "4a", "4b", "1a", "1b"]


def test_a_fifo_queue_has_no_priorities(connection: PeerConnection, queue: str, define: Define) -> None:
    fifo = define(f"{queue}.f", order="fifo")
    connection.sender(fifo).send_all([Letter(number, priority=number) for number in (1, 9, 4)])
    assert rest(connection, fifo) == [1, 9, 4]


def test_a_queue_that_is_deleted_ends_its_links(connection: PeerConnection, queue: str, own_session: Session) -> None:
    receiver = connection.receiver(queue)
    request = Message({"name": queue, "purge": True}, properties={"operation": "queue-delete"})
    own_session.request("$management", request, timeout=PATIENCE)
    assert receiver.ended() == "amqp:resource-deleted"
