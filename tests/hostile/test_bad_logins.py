"""A flood of wrong passwords, each of which costs a slow hash, while others want to log in."""

import socket
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from configurations import PAGES, listener
from faults.amqp_peer import AmqpPeer
from heliograph.amqp.codec.frames import SASL_HEADER, sasl_frame
from heliograph.amqp.codec.performatives import SaslCode, SaslInit, SaslOutcome
from heliograph.mqtt import Connect, encode
from heliograph.server.access.passwords import PasswordFile
from hostile.bystander import PATIENT
from plain_client import PlainClient
from running import RunningServer, Serve

ATTACKS = 600
SOON = 5 * PATIENT
"""Two hashes and their turn, on a machine that runs other tests besides. The old way took 15 seconds."""
CONFIG = f"""
{listener(anonymous=False)}{listener(protocol="amqp", anonymous=False)}{PAGES}
[access]
password_file = "users"
"""


@pytest.fixture
def server(serve: Serve, tmp_path: Path) -> RunningServer:
    users = PasswordFile(tmp_path / "users")
    for name in ("alice", "bob", "carol", "dave"):
        users.set_password(name, f"{name}'s secret".encode())
    users.save()
    return serve(CONFIG)


def connection_from(address: str, port: int) -> socket.socket:
    sock = socket.socket()
    sock.settimeout(20)
    sock.bind((address, 0))
    sock.connect(("127.0.0.1", port))
    return sock


def mqtt_login(port: int, name: str, address: str) -> float:
    """Log in; how long it took."""
    began = time.monotonic()
    with PlainClient(connection_from(address, port)) as client:
        client.connected(f"{name} from {address}", username=name, password=f"{name}'s secret".encode())
    return time.monotonic() - began


def plain(user: str, password: str) -> bytes:
    return SASL_HEADER + sasl_frame(SaslInit("PLAIN", f"\0{user}\0{password}".encode()).encoded())


def amqp_login(port: int, name: str) -> float:
    began = time.monotonic()
    with AmqpPeer(port) as peer:
        peer.send_bytes(plain(name, f"{name}'s secret"))
        assert peer.wait_for(SaslOutcome).code is SaslCode.OK
    return time.monotonic() - began


@pytest.mark.parametrize("names", ["one name", "many names", "the good user's name"])
def test_good_users_of_mqtt_log_in_while_wrong_passwords_come(server: RunningServer, names: str) -> None:
    name = {"one name": "root", "many names": "user {}", "the good user's name": "alice"}[names]
    with ExitStack() as attackers:
        for number in range(ATTACKS):
            attacker = attackers.enter_context(connection_from("127.0.0.1", server.port))
            packet = Connect(f"a{number}", 5, username=name.format(number), password=b"guess %d" % number)
            attacker.sendall(encode(packet, 5))
        assert mqtt_login(server.port, "alice", "127.0.0.2") < SOON
        assert mqtt_login(server.port, "alice", "127.0.0.1") < SOON  # known by now
        assert mqtt_login(server.port, "bob", "127.0.0.1") < SOON
        assert mqtt_login(server.port, "carol", "127.0.0.3") < SOON
        assert amqp_login(server.port_of("amqp"), "dave") < SOON
    assert server.stats()["clients"]["refused"] > ATTACKS / 4


def test_good_users_of_amqp_log_in_while_wrong_passwords_come(server: RunningServer) -> None:
    port = server.port_of("amqp")
    with ExitStack() as attackers:
        for number in range(ATTACKS):
            attacker = attackers.enter_context(connection_from("127.0.0.1", port))
            attacker.sendall(plain(f"user {number}", "guess"))
        assert amqp_login(port, "alice") < SOON
        assert mqtt_login(server.port, "bob", "127.0.0.2") < SOON


def test_the_owner_logs_in_first_time_while_others_guess_from_the_same_address(server: RunningServer) -> None:
    with ExitStack() as attackers:
        for number in range(ATTACKS):
            attacker = attackers.enter_context(connection_from("127.0.0.1", server.port))
            attacker.sendall(encode(Connect(f"a{number}", 5, username="alice", password=b"guess %d" % number), 5))
        assert mqtt_login(server.port, "alice", "127.0.0.1") < SOON


def test_one_wrong_password_again_and_again_is_checked_once(server: RunningServer) -> None:
    began = time.monotonic()
    for number in range(200):
        with PlainClient(server.port) as client:
            assert client.connect(f"device {number}", username="alice", password=b"old").reason == 0x86
    assert time.monotonic() - began < 200 * 0.05  # what the hashes alone would take
