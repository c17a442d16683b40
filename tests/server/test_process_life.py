"""The life of the process: start, mistakes, stop, and what systemd is told."""

import contextlib
import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from configurations import PLAIN
from heliograph.mqtt import Publish, Reason
from plain_client import PlainClient
from running import PATIENCE, Serve, environment, helio


def fails(*words: str) -> str:
    """Run `helio serve`, which must fail with status 1 and say why; what it says."""
    ended = subprocess.run(
        helio("serve", *words), env=environment(), capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert ended.returncode == 1
    assert ended.stdout == ""
    assert "Traceback" not in ended.stderr
    return ended.stderr


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ("[limits]\npacket_size = -1\n", r"limits\.packet_size: expected .*, found -1"),
        ("[limits]\npacket_size = true\n", r"limits\.packet_size: expected .*, found true"),
        ("[limits]\npaket_size = 1\n", r"limits\.paket_size: .*"),
        ('[[listener]]\nport = "1883"\n', r'listener\[1\]\.port: expected .*, found "1883"'),
        ("[[listener]]\nport = 65536\n", r"listener\[1\]\.port: expected .*, found 65536"),
        ('[[listener]]\nkind = "udp"\n', r'listener\[1\]\.kind: expected .*, found "udp"'),
        ('[[listener]]\nkind = "tls"\n', r"listener\[1\]\.cert: expected .*, found none"),
        ('[[listener]]\nkind = "unix"\n', r"listener\[1\]\.path: expected .*, found none"),
        ('[[listener]]\nhost = "a b"\n', r'listener\[1\]\.host: expected .*, found "a b"'),
        ('[[listener]]\nhost = "0.0.0.0"\n', r"listener\[1\]: nobody could connect .*"),
        ('[log]\nlevel = "loud"\n', r'log\.level: expected .*, found "loud"'),
        ("[limits\n", r"1:8: Expected .*"),
    ],
)
def test_a_mistake_is_told_with_file_key_expected_and_found(tmp_path: Path, config: str, said: str) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text(config)
    assert re.match(f"helio serve: {re.escape(str(file))}: ?{said}\n", fails("--config", str(file)))


def test_every_mistake_is_told_at_once(tmp_path: Path) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text("[limits]\npacket_size = -1\nsessions = 0\n[http]\nport = -1\n")
    said = fails("--config", str(file))
    assert all(key in said for key in ("limits.packet_size", "limits.sessions", "http.port"))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert str(tmp_path / "none.toml") in fails("--config", str(tmp_path / "none.toml"))


def test_a_password_file_that_is_not_one(tmp_path: Path) -> None:
    (tmp_path / "users").write_text("alice:secret\n")
    (tmp_path / "wrong.toml").write_text(f'{PLAIN}[access]\npassword_file = "users"\n')
    said = fails("--config", str(tmp_path / "wrong.toml"))
    assert f"{tmp_path / 'users'}:1: expected" in said
    assert "secret" not in said


def test_a_certificate_that_is_not_one(tmp_path: Path) -> None:
    (tmp_path / "cert.pem").write_text("nonsense")
    (tmp_path / "wrong.toml").write_text('[[listener]]\nkind = "tls"\nport = 0\ncert = "cert.pem"\nkey = "cert.pem"\n')
    assert f"expected a certificate in {tmp_path / 'cert.pem'}" in fails("--config", str(tmp_path / "wrong.toml"))


@pytest.mark.parametrize(
    "where", ['[[listener]]\nname = "authenticator"\nport = {}\n', "[[listener]]\nport = 0\n[http]\nport = {}\n"]
)
def test_a_port_in_use_is_told_with_its_address_and_the_key(tmp_path: Path, where: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        (tmp_path / "config.toml").write_text(where.format(port))
        said = fails("--config", str(tmp_path / "config.toml"))
    name, table = ('listener "authenticator"', "its [[listener]]") if "authenticator" in where else ("http", "[http]")
    why = f"127.0.0.1:{port} is in use by another program or server; set port in {table} to another one"
    assert said == f"helio serve: {name}: cannot listen: {why}\n"


def test_an_address_of_another_machine(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('[[listener]]\nhost = "192.0.2.1"\nanonymous = true\n')
    assert fails("--config", str(tmp_path / "config.toml")) == (
        'helio serve: listener "tcp:192.0.2.1:1883": cannot listen: this machine does not have the address '
        "192.0.2.1:1883; set host in its [[listener]] to another one\n"
    )


def test_the_banner_names_every_address(serve: Serve, every_listener: str) -> None:
    server = serve(every_listener)
    kinds = [re.sub(r"\d{4,5}", "PORT", address) for address in server.addresses]
    path = server.url("unix").removeprefix("unix:")
    assert kinds == [
        "mqtt://127.0.0.1:PORT",
        "mqtts://127.0.0.1:PORT",
        "ws://127.0.0.1:PORT/mqtt",
        "wss://127.0.0.1:PORT/mqtt",
        re.sub(r"\d{4,5}", "PORT", f"unix:{path}"),
        "http://127.0.0.1:PORT/",
    ]


def test_the_banner_shows_commands_that_work(serve: Serve) -> None:
    server = serve()
    commands = [line.strip() for line in server.banner.text().splitlines() if line.startswith("  helio ")]
    sub, pub = (re.findall(r"'[^']*'|\S+", command)[1:] for command in commands)
    receiver = subprocess.Popen(
        helio(*[word.strip("'") for word in sub], "-C", "1", "-d"),
        env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert receiver.stderr
    while "SUBACK" not in receiver.stderr.readline():
        assert receiver.poll() is None
    subprocess.run(helio(*[word.strip("'") for word in pub]), env=environment(), timeout=PATIENCE, check=True)
    out, _ = receiver.communicate(timeout=PATIENCE)
    assert out == "hello/world it works\n"


# The end


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_clients_are_told_when_the_server_stops(serve: Serve, number: signal.Signals) -> None:
    server = serve()
    with PlainClient(server.port, 5).connected() as new, PlainClient(server.port, 4).connected() as old:
        server.stop(number)
        assert new.goodbye().reason == Reason.SERVER_SHUTTING_DOWN
        with pytest.raises(ConnectionError):
            old.receive()


def test_what_was_sent_before_the_stop_arrives_whole(serve: Serve) -> None:
    server = serve()
    with PlainClient(server.port).connected() as subscriber, PlainClient(server.port).connected() as publisher:
        subscriber.subscribe("news")
        for number in range(30):
            publisher.publish("news", b"%d" % number + bytes(100_000))
        server.send_signal(signal.SIGTERM)
        server.log.wait_for("stopping")
        numbers = []
        while isinstance(packet := subscriber.receive(), Publish):
            assert len(packet.payload) > 100_000
            numbers.append(int(packet.payload.rstrip(b"\0")))
        assert packet.reason == Reason.SERVER_SHUTTING_DOWN
        assert numbers == list(range(len(numbers)))
        server.stop()


def test_a_client_that_does_not_read_cannot_hold_up_the_end(serve: Serve, every_listener: str) -> None:
    server = serve(every_listener)
    half_open = [socket.create_connection(("127.0.0.1", server.port_of(s)), PATIENCE) for s in ("mqtts", "ws", "http")]
    with PlainClient(server.port).connected() as deaf, PlainClient(server.port).connected() as publisher:
        deaf.subscribe("news")
        for _ in range(20):
            publisher.publish("news", bytes(1 << 20))
        server.stop()
    for connection in half_open:
        connection.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_more_signals_change_nothing(serve: Serve, number: signal.Signals) -> None:
    server = serve()
    server.send_signal(signal.SIGTERM)
    server.log.wait_for("stopping")
    while server.process.poll() is None:
        server.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.process.wait(0.002)
    server.stop()


# systemd


@pytest.fixture
def systemd(tmp_path: Path) -> Iterator[socket.socket]:
    """The end of the notification socket that systemd holds."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.settimeout(PATIENCE)
        receiver.bind(str(tmp_path / "notify"))
        yield receiver


def test_systemd_is_told_of_start_reload_and_stop(serve: Serve, systemd: socket.socket) -> None:
    server = serve(NOTIFY_SOCKET=systemd.getsockname())
    assert systemd.recv(4096) == b"READY=1"
    server.reload()
    assert re.fullmatch(rb"RELOADING=1\nMONOTONIC_USEC=\d+", systemd.recv(4096))
    assert systemd.recv(4096) == b"READY=1"
    server.stop()
    assert systemd.recv(4096) == b"STOPPING=1"


def test_systemd_is_told_that_a_failed_reload_is_over(serve: Serve, systemd: socket.socket) -> None:
    server = serve(NOTIFY_SOCKET=systemd.getsockname())
    assert systemd.recv(4096) == b"READY=1"
    server.config.write_text("nonsense")
    server.send_signal(signal.SIGHUP)
    assert systemd.recv(4096).startswith(b"RELOADING=1")
    assert systemd.recv(4096) == b"READY=1"


def test_systemd_gets_signs_of_life(serve: Serve, systemd: socket.socket) -> None:
    serve(NOTIFY_SOCKET=systemd.getsockname(), WATCHDOG_USEC="500000")
    messages = [systemd.recv(4096) for _ in range(4)]
    assert messages.count(b"WATCHDOG=1") == 3


def test_systemd_hears_nothing_of_a_server_that_cannot_start(tmp_path: Path, systemd: socket.socket) -> None:
    (tmp_path / "wrong.toml").write_text("[limits]\nsessions = 0\n")
    ended = subprocess.run(
        helio("serve", "--config", str(tmp_path / "wrong.toml")),
        env=environment(NOTIFY_SOCKET=systemd.getsockname()), capture_output=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert ended.returncode == 1
    systemd.setblocking(False)
    with pytest.raises(BlockingIOError):
        systemd.recv(4096)
