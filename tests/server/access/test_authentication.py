"""Who is let in: passwords, and clients without a name."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from configurations import PLAIN, listener
from heliograph.mqtt import Connect, Publish, Reason, Subscribe, Subscription
from heliograph.server.access.passwords import Cost, PasswordFile
from plain_client import PlainClient
from running import RunningServer, servers

GUARDED = listener(anonymous=False) + 'name = "guarded"\n'


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server with a listener for users only, then one for everyone; alice is a user."""
    folder: Path = tmp_path_factory.mktemp("access")
    users = PasswordFile(folder / "users")
    users.set_password("alice", b"secret", Cost(n=16))
    users.save()
    with servers(folder) as start:
        yield start(f'{GUARDED}{PLAIN}[access]\npassword_file = "users"\n')


def answer(port: int, version: int, name: str | None, password: bytes | None) -> int:
    with PlainClient(port, version) as client:
        reason = client.connect("somebody", username=name, password=password).reason
        assert reason == 0 or client.is_closed()
        return reason


@pytest.mark.parametrize(
    ("name", "password", "old", "new"),
    [
        pytest.param("alice", b"secret", 0, Reason.SUCCESS, id="right"),
        pytest.param("alice", b"wrong", 4, Reason.BAD_USER_NAME_OR_PASSWORD, id="wrong password"),
        pytest.param("alice", None, 4, Reason.BAD_USER_NAME_OR_PASSWORD, id="no password"),
        pytest.param("alice", b"", 4, Reason.BAD_USER_NAME_OR_PASSWORD, id="empty password"),
        pytest.param("mallory", b"secret", 4, Reason.BAD_USER_NAME_OR_PASSWORD, id="unknown user"),
        pytest.param("", b"secret", 4, Reason.BAD_USER_NAME_OR_PASSWORD, id="empty name"),
        pytest.param(None, None, 5, Reason.NOT_AUTHORIZED, id="anonymous"),
    ],
)
def test_only_the_right_password_opens(
    server: RunningServer, name: str | None, password: bytes | None, old: int, new: Reason
) -> None:
    port = server.port_of("mqtt")
    for _ in range(2):  # what was right or wrong once is so again
        assert answer(port, 3, name, password) == old
        assert answer(port, 4, name, password) == old
        assert answer(port, 5, name, password) == new


def test_where_anyone_may_come_a_wrong_password_is_still_wrong(server: RunningServer) -> None:
    port = int(server.addresses[1].rpartition(":")[2])
    assert answer(port, 4, None, None) == 0
    assert answer(port, 4, "alice", b"wrong") == 4


def test_packets_sent_right_behind_connect_wait_for_the_verdict(server: RunningServer) -> None:
    with PlainClient(server.port).connected(username="alice", password=b"secret") as watcher:
        watcher.subscribe("eager")
        for password in (b"wrong", b"secret"):
            with PlainClient(server.port) as client:
                client.send(
                    Connect("eager", 5, username="alice", password=password),
                    Subscribe(1, (Subscription("eager"),)),
                    Publish("eager", password),
                )
                if password == b"wrong":
                    assert client.receive().reason == Reason.BAD_USER_NAME_OR_PASSWORD
                    assert client.is_closed()
                else:
                    assert [type(client.receive()).__name__ for _ in range(3)] == ["ConnAck", "SubAck", "Publish"]
        assert watcher.receive() == Publish("eager", b"secret")
