"""Clients connect at their rate, and brokers that do not answer are given up."""

import select

from heliograph.lab.load import Address, Group, Plan
from heliograph.lab.load.client_group import LoadClient
from heliograph.lab.load.dialer import ANSWER_SECONDS, MOST_OPENING, Dialer
from heliograph.lab.load.mqtt.client import MqttClientGroup, MqttLoadClient

SECOND = 1_000_000_000


class Silent(MqttClientGroup):
    """A client_group without connections, whose time is the test's."""

    now = 0

    def make_client(self, client: int, began: int) -> MqttLoadClient:
        return MqttLoadClient(self, client, None, began)  # type: ignore[arg-type]


def dialled(group: Group) -> tuple[Dialer, list[LoadClient], list[tuple[LoadClient, str]]]:
    client_group = Silent(Plan((group,), 1.0), 0, 0, Address(1), select.epoll())
    client_group.clock = lambda: client_group.now  # type: ignore[method-assign]
    opened, broken = list[LoadClient](), list[tuple[LoadClient, str]]()
    dialer = Dialer(client_group, opened.append, lambda _: None, lambda end, why: broken.append((end, why)))
    dialer.start(0)
    return dialer, opened, broken


def test_a_rate_spreads_connects_over_time() -> None:
    dialer, opened, _ = dialled(Group("g", "publish", 50, destination="t", connect_rate=10.0))
    assert dialer.turn(0) == SECOND // 10
    assert len(opened) == 1
    dialer.turn(2 * SECOND)
    assert [end.began for end in opened] == [number * SECOND // 10 for number in range(21)]


def test_without_a_rate_only_so_many_are_in_flight_at_once() -> None:
    dialer, opened, _ = dialled(Group("g", "publish", 1000, destination="t"))
    dialer.turn(0)
    assert len(opened) == MOST_OPENING
    for end in opened[:30]:
        end.ready = True
        dialer.settled(end, 1)
    dialer.turn(2)
    assert len(opened) == MOST_OPENING + 30


def test_the_time_until_all_are_connected_ends_with_the_last_of_them() -> None:
    dialer, opened, _ = dialled(Group("g", "connect", 3, stay=60.0))
    dialer.turn(0)
    for number, end in enumerate(opened):
        assert dialer.took is None
        end.client_group.became_ready(end)
        dialer.settled(end, number * 250)
    assert dialer.took == 500


def test_who_gets_no_answer_is_given_up() -> None:
    dialer, opened, broken = dialled(Group("g", "publish", 2, destination="t"))
    dialer.turn(0)
    opened[0].ready = True
    dialer.turn(ANSWER_SECONDS * SECOND - 1)
    assert broken == []
    dialer.turn(ANSWER_SECONDS * SECOND)
    assert broken == [(opened[1], f"the broker did not answer for {ANSWER_SECONDS} s")]
