"""What a configuration file may say, and what is said about its mistakes."""

from dataclasses import replace
from pathlib import Path

import pytest

from heliograph.broker.amqp.host import Elsewhere
from heliograph.broker.core.limits import Limits, WhenFull
from heliograph.errors import Problem
from heliograph.objects.attributes import own_mistakes
from heliograph.server.config.loading import Config, load_config, restart_needed
from heliograph.server.config.rules import elsewhere
from heliograph.server.config.schema import (
    ClientCertificates,
    HttpConfig,
    ListenerConfig,
    ListenerKind,
    ListenerProtocol,
    LogLevel,
    StorageConfig,
)
from server.config.checked_files import loaded, mistakes


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "heliograph.toml"


def test_the_data_folder_is_beside_the_file_and_has_a_name(file: Path) -> None:
    assert loaded(file, '[storage]\ndirectory = "log"').storage.directory == str(file.parent / "log")
    assert loaded(file, '[storage]\ndirectory = "/srv/log"').storage.directory == "/srv/log"
    assert mistakes(file, '[storage]\ndirectory = ""') == [
        "storage.directory: expected the path of a folder, found none"
    ]


def test_the_interval_between_commits_is_short_or_none(file: Path) -> None:
    assert load_config(None).storage.commit_interval == 0.005
    assert loaded(file, "[storage]\ncommit_interval = 0").storage.commit_interval == 0
    assert loaded(file, "[storage]\ncommit_interval = 0.1").storage.commit_interval == 0.1
    assert mistakes(file, "[storage]\ncommit_interval = 1")
    assert mistakes(file, "[storage]\ncommit_interval = -1")


# -- what is given and what is not ------------------------------------------------------------------------------------


def test_without_a_file_mqtt_is_on_tcp_and_websocket_and_amqp_on_tcp_of_loopback() -> None:
    assert [listener.name for listener in load_config(None).listeners] == [
        "tcp:127.0.0.1:1883",
        "ws:127.0.0.1:8083",
        "tcp:127.0.0.1:5672",
    ]


def test_an_empty_file_means_the_defaults(file: Path) -> None:
    beside = StorageConfig(directory=str(file.parent / "heliograph-data"))
    here = StorageConfig(directory=str(Path.cwd() / "heliograph-data"))
    assert load_config(None) == Config(storage=here)
    assert loaded(file, "") == Config(storage=beside)


def test_the_configuration_knows_the_file_it_came_from(file: Path) -> None:
    assert loaded(file, "").source == file


def test_values_given_replace_defaults_one_by_one(file: Path) -> None:
    config = loaded(
        file,
        """
        [log]
        level = "debug"
        [limits]
        max_messages = 7
        when_full = "discard_old"
        connect_timeout = 3
        """,
    )
    assert config.log.level is LogLevel.DEBUG
    assert config.limits == Limits(max_messages=7, when_full=WhenFull.DISCARD_OLD, connect_timeout=3.0)
    assert isinstance(config.limits.connect_timeout, float)


@pytest.mark.parametrize(
    ("protocol", "kind", "port", "path"),
    [
        ("mqtt", "tcp", 1883, ""),
        ("mqtt", "ws", 8083, "/mqtt"),
        ("mqtt", "tls", 8883, ""),
        ("mqtt", "wss", 8084, "/mqtt"),
        ("amqp", "tcp", 5672, ""),
        ("amqp", "ws", 8085, "/amqp"),
        ("amqp", "tls", 5671, ""),
        ("amqp", "wss", 8086, "/amqp"),
    ],
)
def test_port_and_path_of_a_listener_follow_its_protocol_and_kind(
    file: Path, protocol: str, kind: str, port: int, path: str
) -> None:
    for name in ("cert.pem", "key.pem"):
        (file.parent / name).touch()
    tls = 'cert = "cert.pem"\nkey = "key.pem"' if kind in {"tls", "wss"} else ""
    (listener,) = loaded(file, f'[[listener]]\nprotocol = "{protocol}"\nkind = "{kind}"\n{tls}').listeners
    assert (listener.port, listener.path) == (port, path)


@pytest.mark.parametrize(
    ("hosts", "welcome"),
    [
        (("127.0.0.1", "127.8.8.8", "::1", "localhost"), True),
        (("0.0.0.0", "", "*", "::", "192.0.2.1", "broker.example"), False),
    ],
)
def test_anonymous_clients_are_welcome_by_default_on_loopback_only(hosts: tuple[str, ...], welcome: bool) -> None:
    assert {ListenerConfig(host=host).anonymous for host in hosts} == {welcome}


def test_anonymous_clients_are_welcome_by_default_on_a_unix_socket() -> None:
    assert ListenerConfig(kind=ListenerKind.UNIX, path="/run/heliograph.sock").anonymous


def test_relative_paths_start_from_the_configuration_file(file: Path) -> None:
    (file.parent / "users").touch()
    config = loaded(file, '[access]\npassword_file = "users"\n[[listener]]\nkind = "unix"\npath = "mqtt.sock"')
    assert config.access.password_file == file.parent / "users"
    assert config.listeners[0].path == str(file.parent / "mqtt.sock")


# -- mistakes within one key ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("[log]\nlevel = 3", 'log.level: expected one of "debug", "info", "warning", "error", found 3'),
        ('[log]\nformat = "xml"', 'log.format: expected one of "text", "json", found "xml"'),
        ("[http]\nport = 65536", "http.port: expected an integer from 0 to 65535, found 65536"),
        ("[http]\nport = true", "http.port: expected an integer from 0 to 65535, found true"),
        ("[http]\nport = 80.5", "http.port: expected an integer from 0 to 65535, found 80.5"),
        ('[http]\nenabled = "yes"', 'http.enabled: expected true or false, found "yes"'),
        ("[server]\nname = [1]", "server.name: expected a string, found an array"),
        ("[sys_topics]\ninterval = -1", "sys_topics.interval: expected a number at least 0, found -1"),
        ("[sys_topics]\ninterval = nan", "sys_topics.interval: expected a number at least 0, found nan"),
        ("[sys_topics]\ninterval = inf", "sys_topics.interval: expected a number at least 0, found inf"),
        ("[limits]\ninflight = 65536", "limits.inflight: expected an integer from 1 to 65535, found 65536"),
        ("limits = 3", "limits: expected a table, written [limits], found 3"),
        ("[listener]\nport = 1", "listener: expected tables, each written [[listener]], found a table"),
        ("listener = []", "listener: expected at least one, found none"),
        (
            "[log]\nlevel = 1979-05-27",
            'log.level: expected one of "debug", "info", "warning", "error", found 1979-05-27',
        ),
        (
            '[http]\nhost = "[::1]"',
            'http.host: expected an IP address, a host name, or "*" for every interface, found "[::1]"',
        ),
    ],
)
def test_a_mistake_says_where_what_was_expected_and_what_was_found(file: Path, text: str, mistake: str) -> None:
    assert mistakes(file, text) == [mistake]


def test_a_number_too_large_for_the_machine_is_a_mistake(file: Path) -> None:
    (mistake,) = mistakes(file, f"[sys_topics]\ninterval = 1{'0' * 400}")
    assert mistake.startswith("sys_topics.interval: expected a number")


def test_an_unknown_key_comes_with_the_likely_one(file: Path) -> None:
    assert mistakes(file, "[limits]\nmax_mesages = 1") == [
        "limits.max_mesages: unknown key; did you mean max_messages?"
    ]


def test_an_unknown_key_like_no_other_comes_with_all_there_are(file: Path) -> None:
    assert mistakes(file, "[log]\nxyz = 1") == ["log.xyz: unknown key; expected one of level, format"]


def test_where_a_value_came_from_is_not_a_key(file: Path) -> None:
    (mistake,) = mistakes(file, 'source = "x"')
    assert mistake.startswith("source: unknown key")


def test_a_file_that_is_named_must_exist(file: Path) -> None:
    assert mistakes(file, '[access]\npassword_file = "users"') == [
        'access.password_file: expected the path of a readable file, found "users" (No such file or directory)'
    ]


def test_all_mistakes_are_told_at_once_and_listeners_are_counted_from_one(file: Path) -> None:
    found = mistakes(file, '[log]\nlevel = 1\n[[listener]]\n[[listener]]\nport = "x"\n[limits]\nsessions = 0')
    assert [mistake.split(": ")[0] for mistake in found] == ["log.level", "listener[2].port", "limits.sessions"]


# -- mistakes in the form of the file ---------------------------------------------------------------------------------


def test_a_syntax_error_is_told_with_line_and_column(file: Path) -> None:
    assert mistakes(file, "[log]\nlevel : 1") == ["2:7: Expected '=' after a key in a key/value pair"]


def test_a_syntax_error_at_the_end_of_the_file_is_told_with_line_and_column(file: Path) -> None:
    (mistake,) = mistakes(file, '[log]\nlevel = """x\n')
    assert mistake.startswith("2:13: ")


def test_a_byte_that_is_not_utf8_is_told_with_line_and_column(file: Path) -> None:
    file.write_bytes(b'[server]\nname = "\xff"')
    with pytest.raises(Problem, match=r":2:9: expected UTF-8, found the byte 0xff"):
        load_config(file)


def test_a_missing_file_is_a_problem(file: Path) -> None:
    with pytest.raises(Problem, match="No such file"):
        load_config(file)


# -- mistakes between keys --------------------------------------------------------------------------------------------


def test_a_listener_that_could_admit_nobody_is_refused_with_the_ways_to_mend_it(file: Path) -> None:
    (mistake,) = mistakes(file, '[[listener]]\nhost = "0.0.0.0"')
    assert mistake.startswith("listener[1]: nobody could connect to tcp:0.0.0.0:1883")
    assert "access.password_file" in mistake
    assert "anonymous = true" in mistake


@pytest.mark.parametrize("mend", ["anonymous = true\n[[listener]]\nport = 1", '[access]\npassword_file = "users"'])
def test_a_listener_for_the_network_is_fine_when_someone_can_be_admitted(file: Path, mend: str) -> None:
    (file.parent / "users").touch()
    assert loaded(file, f'[[listener]]\nhost = "*"\n{mend}')


TLS = '[[listener]]\nkind = "tls"\nhost = "*"\ncert = "pem"\nkey = "pem"\n'


def test_client_certificates_are_a_way_in(file: Path) -> None:
    (file.parent / "pem").touch()
    (listener,) = loaded(file, TLS + 'client_ca = "pem"\nclient_certificates = "required"').listeners
    assert listener.client_certificates is ClientCertificates.REQUIRED


def test_client_certificates_that_name_no_user_are_not_a_way_in(file: Path) -> None:
    (file.parent / "pem").touch()
    required = 'client_ca = "pem"\nclient_certificates = "required"\ncertificate_user = false'
    (mistake,) = mistakes(file, TLS + required)
    assert "nobody could connect" in mistake


@pytest.mark.parametrize(
    ("keys", "mistake"),
    [
        ('kind = "tls"\ncert = "pem"', "listener[1].key: expected the path of a file"),
        ('kind = "wss"\nkey = "pem"', "listener[1].cert: expected the path of a file"),
        (
            'kind = "tls"\ncert = "pem"\nkey = "pem"\nclient_certificates = "optional"',
            "listener[1].client_ca: expected",
        ),
        ('kind = "tls"\ncert = "pem"\nkey = "pem"\nclient_ca = "pem"', "listener[1].client_certificates: expected"),
        ('cert = "pem"', "listener[1].cert: expected none, because a tcp listener is not encrypted"),
        ('client_certificates = "required"', "listener[1].client_certificates: expected"),
        ('path = "/mqtt"', "listener[1].path: expected none for a tcp listener"),
        ('kind = "ws"\npath = "mqtt"', "listener[1].path: expected a URL path"),
        ('kind = "unix"', "listener[1].path: expected the path of the socket file"),
        ('kind = "unix"\npath = "s"\nport = 1', "listener[1].port: expected none for a unix listener"),
        ('kind = "unix"\npath = "s"\nhost = "::1"', "listener[1].host: expected none for a unix listener"),
        ('host = "two words"', "listener[1].host: expected an IP address"),
    ],
)
def test_keys_that_do_not_go_together_are_refused(file: Path, keys: str, mistake: str) -> None:
    (file.parent / "pem").touch()
    (found,) = mistakes(file, f"[[listener]]\n{keys}")
    assert found.startswith(mistake)


@pytest.mark.parametrize(
    ("sockets", "mistake"),
    [
        ("[[listener]]\n[[listener]]", "listener[2].port: expected an address of its own, found 127.0.0.1:1883"),
        ('[[listener]]\n[[listener]]\nhost = "*"\nanonymous = true', "listener[2].port: expected an address"),
        ("[[listener]]\nport = 15880", "http.port: expected an address of its own, found 127.0.0.1:15880"),
        (
            '[[listener]]\nkind = "unix"\npath = "s"\n[[listener]]\nkind = "unix"\npath = "./s"',
            "listener[2].path: expected a socket file of its own",
        ),
    ],
)
def test_two_sockets_may_not_share_an_address(file: Path, sockets: str, mistake: str) -> None:
    (found,) = mistakes(file, sockets)
    assert found.startswith(mistake)


def test_any_number_of_listeners_may_ask_for_any_free_port(file: Path) -> None:
    assert loaded(file, "[[listener]]\nport = 0\n[[listener]]\nport = 0\n[http]\nport = 0")


def test_a_table_with_mistakes_of_its_own_breaks_no_rule_besides(file: Path) -> None:
    assert len(mistakes(file, '[[listener]]\nhost = "*"\n[access]\npassword_file = 3')) == 1


def test_pages_for_the_whole_network_are_allowed_with_a_warning(file: Path) -> None:
    (warning,) = loaded(file, '[http]\nhost = "*"').warnings
    assert warning.startswith("http.host: everyone who can reach *:15880")
    assert loaded(file, '[http]\nhost = "*"\nenabled = false').warnings == ()


def test_where_else_clients_may_go_is_written_as_urls(file: Path) -> None:
    urls = ("amqp://standby", "amqps://[::1]:5000")
    assert loaded(file, f"[server]\nfailover = {list(urls)!r}").server.failover == urls
    assert [elsewhere(url) for url in urls] == [Elsewhere("standby", 5672), Elsewhere("::1", 5000, "amqps")]


@pytest.mark.parametrize("url", ["standby", "mqtt://standby", "amqp://", "amqp://a:b", "amqp://a/b", "amqp://u@a"])
def test_a_url_that_no_amqp_client_could_use_is_a_mistake(file: Path, url: str) -> None:
    assert mistakes(file, f'[server]\nfailover = ["{url}"]') == [
        f'server.failover[1]: expected amqp://HOST:PORT or amqps://HOST:PORT, found "{url}"'
    ]


# -- reloading --------------------------------------------------------------------------------------------------------


def test_what_is_bound_to_a_socket_needs_a_restart() -> None:
    old = Config()
    new = replace(old, listeners=(ListenerConfig(port=1884), *old.listeners[1:]), http=HttpConfig(host="::1", port=81))
    assert restart_needed(old, new) == ["listener[1].port", "http.host", "http.port"]


def test_another_protocol_at_the_same_address_needs_a_restart() -> None:
    old = replace(Config(), listeners=(ListenerConfig(port=1884),))
    new = replace(old, listeners=(ListenerConfig(port=1884, protocol=ListenerProtocol.AMQP),))
    assert restart_needed(old, new) == ["listener[1].protocol"]


def test_more_or_fewer_listeners_need_a_restart() -> None:
    old = Config()
    assert restart_needed(old, replace(old, listeners=old.listeners[:1])) == ["listener"]


def test_the_rest_can_be_reloaded() -> None:
    old = Config()
    first = replace(old.listeners[0], anonymous=False, cert=Path("new.pem"))
    new = replace(old, limits=Limits(sessions=1), listeners=(first, *old.listeners[1:]))
    assert restart_needed(old, new) == []


# -- the declarations -------------------------------------------------------------------------------------------------


def test_the_defaults_make_sense_themselves() -> None:
    assert own_mistakes(Limits()) == []


# -- streams ----------------------------------------------------------------------------------------------------------


def test_a_stream_is_what_its_table_says(file: Path) -> None:
    (stream,) = loaded(file, '[[stream]]\nname = "t.1-x_Y"\nfilter = "a/+/#"\npartitions = 1024').streams
    assert (stream.name, stream.filter, stream.partitions) == ("t.1-x_Y", "a/+/#", 1024)
    assert (stream.retention_bytes, stream.retention_age) == (1 << 30, 0)


@pytest.mark.parametrize(
    ("keys", "mistake"),
    [
        ('filter = "a"', 'stream[1].name: expected letters, digits, "-", "_" and "."'),
        ('name = "../a"\nfilter = "a"', "stream[1].name: expected letters"),
        ('name = "a"', "stream[1].filter: expected a topic filter: topic filter is empty"),
        ('name = "a"\nfilter = "a/#/b"', "stream[1].filter: expected a topic filter: # is not the whole last level"),
        ('name = "a"\nfilter = "$share/g/a"', "stream[1].filter: expected a topic filter that is not shared"),
        ('name = "a"\nfilter = "a"\npartitions = 0', "stream[1].partitions: expected an integer from 1 to 1024"),
        ('name = "a"\nfilter = "a"\npartitions = 1025', "stream[1].partitions: expected an integer from 1 to 1024"),
        (
            'name = "a"\nfilter = "a"\n[[stream]]\nname = "a"\nfilter = "b"',
            "stream[2].name: expected a name of its own, found a, as in stream[1]",
        ),
    ],
)
def test_what_cannot_be_a_stream_is_refused(file: Path, keys: str, mistake: str) -> None:
    (found,) = mistakes(file, f"[[stream]]\n{keys}")
    assert found.startswith(mistake)


def test_changed_streams_need_a_restart(file: Path) -> None:
    old = loaded(file, '[[stream]]\nname = "a"\nfilter = "a"')
    new = loaded(file, '[[stream]]\nname = "a"\nfilter = "b"')
    assert restart_needed(old, new) == ["stream"]
