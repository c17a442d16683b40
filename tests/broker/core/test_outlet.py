"""An outlet: what is kept for it is charged to whoever owns it."""

import pytest

from heliograph.broker.core.memory import Budget
from heliograph.broker.core.outlet import NOWHERE, Outlet


@pytest.fixture
def outlet():
    outlet = Outlet()
    outlet.account = Budget(1_000_000).account("client", "c")
    return outlet


@pytest.mark.parametrize(("max_packet", "aliases", "one_by_one"), [(0, 0, False), (100, 0, True), (0, 5, True)])
def test_messages_are_looked_at_one_by_one_only_if_that_matters(outlet, max_packet, aliases, one_by_one):
    outlet.max_packet, outlet.alias_maximum = max_packet, aliases
    assert outlet.one_by_one is one_by_one


def test_an_alias_is_charged_with_its_topic(outlet):
    assert outlet.keep_alias(b"a" * 10)
    first = outlet.account.used
    assert first > 10
    assert outlet.keep_alias(b"b" * 30)
    assert outlet.account.used - first == first + 20


def test_another_topic_for_an_alias_takes_the_place_of_the_one_before(outlet):
    outlet.keep_alias(b"a" * 10)
    before = outlet.account.used
    assert outlet.keep_alias(b"b" * 25, b"a" * 10)
    assert outlet.account.used == before + 15
    assert outlet.keep_alias(b"c", b"b" * 25)
    assert outlet.account.used == before - 9


def test_without_room_there_is_no_alias(outlet):
    outlet.keep_alias(b"a")
    used = outlet.account.used
    assert not outlet.keep_alias(b"a" * 1_000_000)
    assert outlet.account.used == used


def test_a_shorter_topic_finds_room_in_a_full_budget(outlet):
    outlet.keep_alias(b"a" * 100)
    outlet.account.budget.set_limit(1)
    assert not outlet.keep_alias(b"b" * 101, b"a" * 100)
    assert outlet.keep_alias(b"b" * 99, b"a" * 100)


def test_aliases_are_refunded_with_their_outlet():
    account = Budget(1_000_000).account("client", "c")
    outlet = Outlet()
    outlet.account = account
    outlet.keep_alias(b"topic")
    assert account.used
    del outlet
    assert account.used == 0


def test_nobody_pays_for_an_outlet_without_an_account():
    assert Outlet().keep_alias(b"topic")


def test_where_nobody_is_nothing_can_be_sent():
    assert not NOWHERE.connected
    assert not NOWHERE.open
    assert NOWHERE.chunks == []
    NOWHERE.stop_reading()
    NOWHERE.go_on_reading()
