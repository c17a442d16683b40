"""Which hosts are this server, and which pages may use it."""

import socket

import pytest

from heliograph.server.hosts import is_listed, is_origin, is_own_host, is_own_origin, may_be_own_host


@pytest.mark.parametrize(
    "header",
    [
        *("127.0.0.1", "127.0.0.1:15880", "[::1]", "[::1]:15880", "192.0.2.7:1", "localhost", "LOCALHOST:15880"),
        *("localhost.", "broker.example.com", "Broker.Example.com:443", "other"),
        socket.gethostname(),
        socket.gethostname().upper() + ":15880",
    ],
)
def test_a_host_of_ours(header: str) -> None:
    assert is_own_host(header, ("broker.example.com", "other."))


@pytest.mark.parametrize(
    "header",
    [
        "evil.example",
        "evil.example:15880",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "",
        ":15880",
        "[]",
        "[x",
    ],
)
def test_a_host_that_is_not_ours(header: str) -> None:
    assert not is_own_host(header, ("broker.example.com",))


@pytest.mark.parametrize(
    "name",
    [
        *("127.0.0.1", "::1", "[::1]", "fe80::1%eth0", "localhost", "LocalHost", "broker", "broker:5672"),
        *("mq.example.com", "any.name.at.all", socket.gethostname()),
    ],
)
def test_what_an_amqp_client_may_call_this_machine(name: str) -> None:
    assert may_be_own_host(name, ("broker",))


@pytest.mark.parametrize("name", ["PAYMENTS", "brokers", "vhost:PAYMENTS", "local host", "é"])
def test_what_no_amqp_client_calls_this_machine(name: str) -> None:
    assert not may_be_own_host(name, ("broker",))


def test_the_address_itself_is_its_own_origin() -> None:
    assert is_own_origin("http://127.0.0.1:8083", "127.0.0.1:8083")
    assert is_own_origin("https://Broker", "broker")
    assert not is_own_origin("http://127.0.0.1:8084", "127.0.0.1:8083")
    assert not is_own_origin("null", "127.0.0.1:8083")


@pytest.mark.parametrize(
    ("origin", "listed"),
    [
        ("https://app.example.com", True),
        ("https://APP.example.com", True),
        ("https://app.example.com:443", True),
        ("https://app.example.com:8443", False),
        ("http://app.example.com", False),
        ("https://app.example.com.evil.example", False),
        ("null", False),
    ],
)
def test_listed_origins(origin: str, listed: bool) -> None:
    assert is_listed(origin, ("http://localhost:3000", "https://app.example.com")) is listed
    assert is_listed(origin, ("*",))
    assert not is_listed(origin, ())


@pytest.mark.parametrize("text", ["https://a.example", "http://localhost:3000", "http://[::1]:3000", "null", "*"])
def test_what_an_origin_looks_like(text: str) -> None:
    assert is_origin(text)


@pytest.mark.parametrize("text", ["", "a.example", "https://a.example/", "https://a.example/x", "ws://a", "https://"])
def test_what_is_no_origin(text: str) -> None:
    assert not is_origin(text)
