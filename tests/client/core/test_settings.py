"""URLs of servers, and the order in which servers are tried."""

import pytest

from heliograph.client.core.settings import Server, Servers, parse, settings_of
from heliograph.errors import Problem


def test_everything_can_be_in_a_url():
    server, options = parse("amqps://ann:p%40ss@mq.example:1234/?hostname=QM1&prefetch=10")
    assert server == Server("mq.example", 1234, tls=True, user="ann", password="p@ss", hostname="QM1")
    assert options == {"prefetch": "10"}


@pytest.mark.parametrize(("url", "port"), [("amqp://host", 5672), ("amqps://host", 5671), ("amqp://[::1]:9", 9)])
def test_ports_have_defaults(url, port):
    assert parse(url)[0].port == port


@pytest.mark.parametrize("url", ["mqtt://host", "host:5672", "amqp://", "amqp://host/path", "amqp://host:99999"])
def test_what_is_no_server_is_refused_with_the_reason(url):
    with pytest.raises(Problem):
        parse(url)


def test_a_password_is_not_in_the_text_about_a_wrong_url():
    with pytest.raises(Problem) as caught:
        parse("amqp://ann:secret@host/path")
    assert "secret" not in str(caught.value)


def test_a_round_begins_with_the_server_that_was_good_last():
    servers, _ = Servers.of(["amqp://a", "amqp://b", "amqp://c"])
    servers.current = servers.round()[1]
    assert [server.host for server in servers.round()] == ["b", "c", "a"]


def test_a_server_announces_others_and_the_configured_ones_stay_a_last_resort():
    servers, _ = Servers.of(["amqp://ann:pw@a", "amqp://b"])
    servers.announced([{"network-host": "x", "port": 7, "scheme": "amqp"}, {"network-host": "y"}, "nonsense"])
    assert [server.host for server in servers.round()] == ["a", "x", "b"]
    assert servers.round()[1] == Server("x", 7, user="ann", password="pw")


def test_a_server_cannot_talk_a_client_out_of_tls():
    servers, _ = Servers.of("amqps://a")
    servers.announced([{"network-host": "x", "port": 7, "scheme": "amqp"}])
    assert servers.round()[1].tls


def test_an_unknown_option_in_a_url_is_refused_with_those_that_there_are():
    with pytest.raises(Problem, match=r"'prefetsch'; there are client_id, hostname"):
        settings_of({"prefetsch": "1"}, {})


def test_arguments_win_over_the_url():
    settings = settings_of({"prefetch": "1", "reconnect": "false"}, {"prefetch": 1000, "reconnect": None})
    assert (settings.prefetch, settings.reconnect) == (1000, False)


@pytest.mark.parametrize(("name", "text"), [("prefetch", "many"), ("prefetch", "-1"), ("reconnect", "maybe")])
def test_values_that_make_no_sense_are_refused(name, text):
    with pytest.raises(Problem):
        settings_of({name: text}, {})
