"""Whose password is checked next."""

import pytest

from heliograph.server.access.logins import FORGOTTEN_AFTER, Login, Turns, address_group


def login(address: str, user: str, password: bytes = b"") -> Login:
    return Login(address, user, password, lambda *_: None, lambda: True)


def fail(turns: Turns, one: Login, times: int, now: float) -> None:
    for _ in range(times):
        turns.failures.add(one, now)


def test_whoever_is_new_comes_before_all_that_a_flood_has_left_waiting() -> None:
    turns = Turns()
    for number in range(100):
        turns.add(login("1.1.1.1", "victim", b"%d" % number))
    for number in range(100):
        turns.add(login("1.1.1.1", f"name {number}"))
    same, other = login("1.1.1.1", "good"), login("2.2.2.2", "good")
    turns.add(same)
    assert turns.take(0) is same
    turns.add(other)
    assert turns.take(0) is other


def test_addresses_take_turns_and_so_do_users() -> None:
    turns = Turns()
    for name in "aab":
        turns.add(login("1.1.1.1", name))
    for name in "cccc":
        turns.add(login("2.2.2.2", name))
    taken = [turns.take(0) for _ in range(7)]
    assert turns.take(0) is None
    assert [one and (one.address[0], one.user) for one in taken] == [
        ("2", "c"),
        ("1", "b"),
        ("2", "c"),
        ("1", "a"),
        ("2", "c"),
        ("1", "a"),
        ("2", "c"),
    ]


def test_of_one_user_the_newest_login_comes_first() -> None:
    turns = Turns()
    old, new = login("1.1.1.1", "a", b"old"), login("1.1.1.1", "a", b"new")
    turns.add(old)
    turns.add(new)
    assert [turns.take(0), turns.take(0)] == [new, old]


def test_when_too_many_wait_the_oldest_of_the_largest_crowd_gives_way() -> None:
    turns = Turns(most=4)
    crowd = [login("1.1.1.1", "a", b"%d" % number) for number in range(3)]
    for one in crowd:
        assert turns.add(one) is None
    assert turns.add(login("2.2.2.2", "b")) is None
    assert turns.add(login("3.3.3.3", "c")) is crowd[0]
    assert turns.add(login("4.4.4.4", "d")) is crowd[1]
    assert len(turns) == 4


def test_a_user_who_keeps_failing_waits_and_others_of_the_address_do_not() -> None:
    turns = Turns()
    bad, good = login("1.1.1.1", "bad"), login("1.1.1.1", "good")
    fail(turns, bad, 3, now=100)
    turns.add(bad)
    assert turns.take(100) is bad
    fail(turns, bad, 1, now=100)
    turns.add(bad)
    assert turns.take(100) is None
    turns.add(good)
    assert turns.take(100) is good
    assert turns.next_turn() == 100.5
    assert turns.take(100.5) is bad


def test_an_address_of_many_failures_waits_whatever_the_user_is_called() -> None:
    turns = Turns()
    for number in range(11):
        turns.failures.add(login("1.1.1.1", f"name {number}"), 100)
    turns.add(login("1.1.1.1", "another"))
    assert turns.take(100) is None
    assert turns.next_turn() == 100.1
    assert turns.take(100.1) is not None


def test_failures_are_forgotten_after_a_success_and_after_a_while() -> None:
    turns = Turns()
    one = login("1.1.1.1", "a")
    fail(turns, one, 4, now=100)
    turns.add(one)
    assert turns.take(100) is None
    turns.failures.forget(one)
    assert turns.take(100) is one
    fail(turns, one, 4, now=100)
    fail(turns, one, 1, now=101 + FORGOTTEN_AFTER)
    turns.add(one)
    assert turns.take(101 + FORGOTTEN_AFTER) is one


def test_failures_are_remembered_of_the_latest_few_thousand_only() -> None:
    turns = Turns()
    for number in range(20_000):
        turns.failures.add(login(f"address {number}", "a"), number)
    assert len(turns.failures._latest) == 10_000


@pytest.mark.parametrize(
    ("peer", "group"),
    [
        ("10.1.2.3:4711", "10.1.2.3"),
        ("[::ffff:10.1.2.3]:4711", "10.1.2.3"),
        ("[2001:db8:1:2:3:4:5:6]:4711", "2001:db8:1:2::/64"),
        ("[fe80::1%eth0]:4711", "fe80::/64"),
        ("local", "local"),
    ],
)
def test_what_counts_as_one_address(peer: str, group: str) -> None:
    assert address_group(peer) == group
