"""Time goes on while the server is down: messages and sessions expire, and wills become due."""

import time

from faults.restarting import HOUR, RestartingServer
from heliograph.mqtt import Will

DOWN = 2.1
"""Seconds for which the server is down in tests in which time has to pass; no event can stand for that."""


def stay_down(lasting: RestartingServer) -> None:
    lasting.end()
    time.sleep(DOWN)
    lasting.start()


def test_messages_expire_while_the_server_is_down(lasting: RestartingServer) -> None:
    client = lasting.client("c")
    client.asks_for("a")
    client.leave()
    lasting.publish("a", b"brief", properties={"message_expiry_interval": 2})
    lasting.publish("a", b"long", properties={"message_expiry_interval": HOUR})
    lasting.publish("a", b"endless")
    stay_down(lasting)
    long, endless = lasting.client("c").takes(2)
    assert (long.payload, endless.payload) == (b"long", b"endless")
    assert HOUR - 60 < long.properties["message_expiry_interval"] <= HOUR - 2
    assert "message_expiry_interval" not in endless.properties


def test_retained_messages_expire_while_the_server_is_down(lasting: RestartingServer) -> None:
    lasting.publish("a/brief", b"brief", retain=True, properties={"message_expiry_interval": 2})
    lasting.publish("a/long", b"long", retain=True, properties={"message_expiry_interval": HOUR})
    stay_down(lasting)
    client = lasting.client()
    client.asks_for("a/+")
    client.gets_only(b"long")


def test_sessions_expire_while_the_server_is_down(lasting: RestartingServer) -> None:
    for name, seconds in (("brief", 2), ("long", HOUR)):
        client = lasting.client(name, properties={"session_expiry_interval": seconds})
        client.asks_for("a")
        client.leave()
    lasting.settle()
    stay_down(lasting)
    assert lasting.client("long").session_present
    assert not lasting.client("brief").session_present


def test_a_session_expires_after_a_restart_too(lasting: RestartingServer) -> None:
    client = lasting.client("c", properties={"session_expiry_interval": 2})
    client.asks_for("a")
    client.leave()
    lasting.settle()
    lasting.restart()
    time.sleep(DOWN)
    assert not lasting.client("c").session_present


def test_an_expiry_that_was_changed_on_disconnect_is_the_one_that_counts(lasting: RestartingServer) -> None:
    client = lasting.client("c")
    client.asks_for("a")
    client.leave(session_expiry_interval=2)
    lasting.settle()
    stay_down(lasting)
    assert not lasting.client("c").session_present


def with_will(lasting: RestartingServer, name: str, delay: int) -> None:
    """Connect with a will that is due so long after the connection is lost, and lose it with the server or before."""
    will = Will("wills", name.encode(), 1, properties={"will_delay_interval": delay})
    lasting.client(name, will=will)


def test_a_will_is_published_after_a_restart_if_its_client_stays_away(lasting: RestartingServer) -> None:
    lasting.client("heir").asks_for("wills")
    with_will(lasting, "gone", 1)
    lasting.restart()
    lasting.client("heir").gets_only(b"gone")


def test_a_will_without_delay_is_published_when_the_server_took_its_client_down(lasting: RestartingServer) -> None:
    lasting.client("heir").asks_for("wills")
    with_will(lasting, "gone", 0)
    lasting.restart()
    lasting.client("heir").gets_only(b"gone")


def test_a_will_is_not_published_if_its_client_comes_back_in_time(lasting: RestartingServer) -> None:
    lasting.client("heir").asks_for("wills")
    with_will(lasting, "back", 3)
    with_will(lasting, "gone", 4)
    lasting.restart()
    assert lasting.client("back").session_present
    # The other will is due later, so when it comes the first one has been passed over.
    lasting.client("heir").gets_only(b"gone")


def test_a_will_that_was_published_before_a_restart_is_not_published_again(lasting: RestartingServer) -> None:
    heir = lasting.client("heir")
    heir.asks_for("wills")
    will = Will("wills", b"gone", 1)
    lasting.client("gone", will=will).close()
    heir.takes()
    heir.leave()
    lasting.settle()
    lasting.restart()
    lasting.client("heir").gets_only()


def test_a_will_that_was_cancelled_is_not_published_after_a_restart(lasting: RestartingServer) -> None:
    lasting.client("heir").asks_for("wills")
    lasting.client("polite", will=Will("wills", b"polite", 1)).leave()
    lasting.settle()
    lasting.restart()
    lasting.client("heir").gets_only()
