"""Every kind of listener, with a real client of somebody else's on it."""

import re
import socket
import ssl
from pathlib import Path

import pytest

from certificates import Authority, trusting
from configurations import NO_PAGES, all_kinds, listener, tls_listener, with_client_certificates
from frames import BINARY, frame, open_websocket, read_frame
from heliograph.mqtt import Connect, Reason, encode
from paho_client import PahoClient
from plain_client import PlainClient
from running import PATIENCE, SOURCE, Serve


def echo(client: PahoClient, payload: bytes = b"echo") -> bytes:
    """Publish, and receive that."""
    client.subscribe("echo", 1)
    client.publish("echo", payload, 1)
    return client.message().payload


@pytest.mark.parametrize("scheme", ["mqtt", "mqtts", "ws", "wss", "unix"])
def test_a_client_is_served_by_every_kind(serve: Serve, every_listener: str, authority: Authority, scheme: str) -> None:
    server = serve(every_listener)
    context = trusting(authority) if scheme in {"mqtts", "wss"} else None
    transport = {"ws": "websockets", "wss": "websockets", "unix": "unix"}.get(scheme, "tcp")
    client = PahoClient(transport=transport, context=context)
    if scheme == "unix":
        client.connect(1, server.url("unix").removeprefix("unix:"))
    else:
        client.connect(server.port_of(scheme), "localhost" if context else "127.0.0.1")
    with client:
        assert echo(client, bytes(90_000)) == bytes(90_000)


@pytest.mark.parametrize("scheme", ["mqtt", "mqtts", "wss"])
def test_clients_are_served_where_there_is_no_epoll(
    serve: Serve, every_listener: str, authority: Authority, tmp_path: Path, scheme: str
) -> None:
    (tmp_path / "sitecustomize.py").write_text("import select\ndel select.epoll\n")
    server = serve(every_listener, PYTHONPATH=f"{tmp_path}:{SOURCE}")
    context = trusting(authority) if scheme != "mqtt" else None
    client = PahoClient(transport="websockets" if scheme == "wss" else "tcp", context=context)
    with client.connect(server.port_of(scheme), "localhost" if context else "127.0.0.1"):
        assert echo(client, bytes(4_000_000)) == bytes(4_000_000)


@pytest.mark.parametrize("scheme", ["mqtt", "mqtts", "ws", "wss"])
def test_connections_that_have_ended_leave_no_memory_behind(
    serve: Serve, every_listener: str, authority: Authority, scheme: str
) -> None:
    server = serve(every_listener)
    context = trusting(authority) if scheme in {"mqtts", "wss"} else None

    def come_and_go(times: int) -> int:
        for _ in range(times):
            with PlainClient(server.port_of(scheme), tls=context) as client:
                if scheme in {"ws", "wss"}:
                    open_websocket(server.port_of(scheme), client.socket)
                    client.socket.sendall(frame(encode(Connect(), 4)))
                    assert read_frame(client.socket) == (BINARY, b"\x20\x02\0\0")
                else:
                    client.connected()
        return server.memory()

    before = come_and_go(400)
    assert come_and_go(400) - before < 1 << 20


def test_every_interface_is_both_families_on_one_port(serve: Serve) -> None:
    server = serve('[[listener]]\nhost = "*"\nport = 0\nanonymous = true\n[http]\nhost = "*"\nport = 0\n')
    assert {address.rpartition(":")[0] for address in server.addresses} == {
        "mqtt://0.0.0.0", "mqtt://[::]", "http://0.0.0.0", "http://[::]",
    }  # fmt: skip
    assert len({address.rpartition(":")[2] for address in server.addresses}) == 2
    for host in ("127.0.0.1", "::1"):
        with PahoClient().connect(server.port, host) as client:
            assert echo(client) == b"echo"


def test_ipv6_alone(serve: Serve) -> None:
    server = serve(listener() + 'host = "::1"\n' + NO_PAGES)
    assert server.url("mqtt").startswith("mqtt://[::1]:")
    with PahoClient().connect(server.port, "::1") as client:
        assert echo(client) == b"echo"


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_both_versions_of_tls_are_spoken(serve: Serve, authority: Authority, version: ssl.TLSVersion) -> None:
    server = serve(tls_listener(authority) + NO_PAGES)
    context = trusting(authority)
    context.minimum_version = context.maximum_version = version
    with PlainClient(server.port_of("mqtts"), tls=context).connected() as client:
        assert isinstance(client.socket, ssl.SSLSocket)
        assert client.socket.version() == version.name.replace("_", ".")


def test_tls_older_than_wanted_is_refused(serve: Serve, authority: Authority) -> None:
    server = serve(tls_listener(authority) + 'tls_min = "1.3"\n' + NO_PAGES)
    context = trusting(authority)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    with (
        socket.create_connection(("127.0.0.1", server.port_of("mqtts")), PATIENCE) as connection,
        pytest.raises(ssl.SSLError),
    ):
        context.wrap_socket(connection, server_hostname="localhost")


def test_a_required_certificate_is_the_way_in(serve: Serve, authority: Authority) -> None:
    server = serve(with_client_certificates(authority, "required", "anonymous = false\n"))
    context = trusting(authority, authority.issue("lamp", "lamp"))
    with PlainClient(server.port_of("mqtts"), tls=context) as client:
        assert client.connect().reason == Reason.SUCCESS


def test_without_a_required_certificate_there_is_no_way_in(serve: Serve, authority: Authority, tmp_path: Path) -> None:
    server = serve(with_client_certificates(authority, "required"))
    stranger = Authority(tmp_path, "Somebody Else").issue("lamp", "lamp")
    for pair in (None, stranger):
        with pytest.raises(OSError):  # noqa: PT011, SIM117 - by TLS or by the network, in or after the handshake
            with PlainClient(server.port_of("mqtts"), tls=trusting(authority, pair)) as client:
                client.connect()


def test_an_optional_certificate_saves_the_password(serve: Serve, authority: Authority, tmp_path: Path) -> None:
    users = tmp_path / "users"
    users.write_text("")
    access = f'anonymous = false\n[access]\npassword_file = "{users}"\n'
    server = serve(with_client_certificates(authority, "optional", access))
    with PlainClient(server.port_of("mqtts"), tls=trusting(authority)) as client:
        assert client.connect().reason == Reason.NOT_AUTHORIZED
    context = trusting(authority, authority.issue("lamp", "lamp"))
    with PlainClient(server.port_of("mqtts"), tls=context) as client:
        assert client.connect().reason == Reason.SUCCESS


def test_a_certificate_that_names_no_user_is_not_enough(serve: Serve, authority: Authority) -> None:
    server = serve(with_client_certificates(authority, "required", "anonymous = false\n"))
    context = trusting(authority, authority.issue(None, "nameless"))
    with PlainClient(server.port_of("mqtts"), tls=context) as client:
        assert client.connect().reason == Reason.NOT_AUTHORIZED


def test_a_socket_file_left_behind_is_replaced(serve: Serve, tmp_path: Path) -> None:
    path = tmp_path / "mqtt.sock"
    config = f'[[listener]]\nkind = "unix"\npath = "{path}"\n{NO_PAGES}'
    serve(config).kill()
    assert path.is_socket()
    server = serve(config)
    with PlainClient(str(path)).connected():
        pass
    server.stop()
    assert not path.exists()


def test_a_socket_file_in_use_is_left_alone(serve: Serve, tmp_path: Path) -> None:
    path = tmp_path / "mqtt.sock"
    config = f'[[listener]]\nkind = "unix"\npath = "{path}"\n{NO_PAGES}'
    serve(config)
    second = serve(config, announced=False)
    assert second.ended() == 1
    assert second.log.text() == (
        f'helio serve: listener "unix:{path}": cannot listen: {path} is in use by another program or server; '
        "set path in its [[listener]] to another one"
    )
    with PlainClient(str(path)).connected():
        pass


# AMQP


AMQP_SASL = b"AMQP\x03\x01\x00\x00"


def amqp_listeners(authority: Authority) -> str:
    return all_kinds(authority.issue("server", "amqp-listeners"), "amqp")


def test_the_addresses_of_amqp_listeners_say_what_is_spoken_there(serve: Serve, authority: Authority) -> None:
    addresses = [re.sub(r":\d+", "", address) for address in serve(amqp_listeners(authority)).addresses]
    assert addresses[:4] == ["amqp://127.0.0.1", "amqps://127.0.0.1", "ws://127.0.0.1/amqp", "wss://127.0.0.1/amqp"]
    assert addresses[4].endswith("amqp.sock")


@pytest.mark.parametrize("scheme", ["amqp", "amqps", "unix"])
def test_an_amqp_client_is_served_by_every_kind(serve: Serve, authority: Authority, scheme: str) -> None:
    server = serve(amqp_listeners(authority))
    if scheme == "unix":
        sock = socket.socket(socket.AF_UNIX)
        sock.settimeout(PATIENCE)
        sock.connect(server.url("unix").removeprefix("unix:"))
    else:
        sock = socket.create_connection(("127.0.0.1", server.port_of(scheme)), PATIENCE)
    if scheme == "amqps":
        sock = trusting(authority).wrap_socket(sock, server_hostname="localhost")
    with sock:
        sock.sendall(AMQP_SASL)
        assert sock.recv(8) == AMQP_SASL


def test_who_speaks_mqtt_to_an_amqp_listener_is_told_what_is_spoken_there(serve: Serve) -> None:
    server = serve(listener(protocol="amqp") + NO_PAGES)
    with socket.create_connection(("127.0.0.1", server.port_of("amqp")), PATIENCE) as sock:
        sock.sendall(encode(Connect("c", 4), 4))
        assert sock.recv(100) == AMQP_SASL
        assert sock.recv(100) == b""


def test_an_amqp_client_that_says_nothing_is_cut_off(serve: Serve) -> None:
    server = serve(f"{listener(protocol='amqp')}[limits]\nconnect_timeout = 0.3\n{NO_PAGES}")
    with socket.create_connection(("127.0.0.1", server.port_of("amqp")), PATIENCE) as sock:
        assert sock.recv(100) == b""
