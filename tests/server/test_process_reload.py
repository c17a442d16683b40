"""SIGHUP: what changes for whom, and what a mistake leaves as it was."""

import signal
import socket
import ssl
from pathlib import Path

from certificates import Authority, Pair
from configurations import PAGES, PLAIN, listener
from heliograph.mqtt import PingReq, PingResp, Reason
from heliograph.server.access.passwords import Cost, PasswordFile
from plain_client import PlainClient
from running import RunningServer, Serve

CHEAP = Cost(n=16, r=8, p=1)


def write_users(path: Path, **passwords: str) -> None:
    """A password file with hashes that are quick to check."""
    file = PasswordFile(path)
    for name, password in passwords.items():
        file.set_password(name, password.encode(), CHEAP)
    file.save()


def reload_in_vain(server: RunningServer, config: str | None = None) -> str:
    """Reload with something that is wrong; what the log says."""
    if config is not None:
        server.config.write_text(config)
    server.send_signal(signal.SIGHUP)
    return server.log.wait_for("reload failed, the old configuration stays in force")


def is_alive(client: PlainClient) -> bool:
    client.send(PingReq())
    return isinstance(client.receive(), PingResp)


def certificate_shown(server: RunningServer, authority: Authority) -> dict[str, object]:
    context = ssl.create_default_context(cafile=authority.cert)
    with PlainClient(server.port_of("mqtts"), tls=context).connected() as client:
        assert isinstance(client.socket, ssl.SSLSocket)
        return client.socket.getpeercert() or {}


def tls_listener(pair: Pair) -> str:
    return listener("tls", pair=pair) + PAGES


def test_a_renewed_certificate_counts_for_new_connections_and_ends_no_old_one(
    serve: Serve, authority: Authority
) -> None:
    server = serve(tls_listener(authority.issue("before", "renewed")))
    context = ssl.create_default_context(cafile=authority.cert)
    with PlainClient(server.port_of("mqtts"), tls=context).connected() as client:
        assert certificate_shown(server, authority)["subject"] == ((("commonName", "before"),),)
        authority.issue("after", "renewed")
        server.reload()
        assert certificate_shown(server, authority)["subject"] == ((("commonName", "after"),),)
        assert is_alive(client)


def test_a_broken_certificate_leaves_the_old_one_in_force(serve: Serve, authority: Authority) -> None:
    pair = authority.issue("before", "broken")
    server = serve(tls_listener(pair))
    pair.cert.write_text("nonsense")
    assert str(pair.cert) in reload_in_vain(server)
    assert certificate_shown(server, authority)["subject"] == ((("commonName", "before"),),)


def test_a_broken_file_changes_nothing(serve: Serve) -> None:
    server = serve()
    with PlainClient(server.port).connected() as client:
        line = reload_in_vain(server, PLAIN + "[limits]\npacket_size = -1\n")
        assert "limits.packet_size: expected" in line
        assert is_alive(client)
    server.reload(PLAIN)


def test_limits_change_at_once(serve: Serve) -> None:
    server = serve()
    with PlainClient(server.port).connected() as client:
        assert client.subscribe("a", "b", "c") == (0, 0, 0)
        server.reload(PLAIN + "[limits]\nsubscriptions_per_client = 4\nconnections = 1\n")
        assert client.subscribe("d", "e") == (0, Reason.QUOTA_EXCEEDED)
        with PlainClient(server.port) as another:
            assert another.connect().reason == Reason.QUOTA_EXCEEDED


def test_the_level_of_the_log_changes_at_once(serve: Serve) -> None:
    server = serve(PLAIN + '[log]\nlevel = "warning"\n')
    with PlainClient(server.port).connected("unseen"):
        server.config.write_text(PLAIN + '[log]\nformat = "json"\n')
        server.send_signal(signal.SIGHUP)
        assert '"message": "configuration reloaded"' in server.log.wait_for("configuration reloaded")
    with PlainClient(server.port).connected("seen"):
        assert '"client": "seen"' in server.log.wait_for("client connected")
    assert '"client connected"' not in server.log.text().partition("configuration reloaded")[0]


def test_users_come_and_go_with_a_reload(serve: Serve, tmp_path: Path) -> None:
    users = tmp_path / "users"
    write_users(users, alice="one")
    server = serve(f'[access]\npassword_file = "{users}"\n{PLAIN}')

    def reason(name: str, password: bytes) -> int:
        with PlainClient(server.port) as client:
            return client.connect(username=name, password=password).reason

    with PlainClient(server.port).connected(username="alice", password=b"one") as client:
        write_users(users, alice="two", bob="three")
        assert reason("alice", b"one") == Reason.SUCCESS
        server.reload()
        assert reason("alice", b"one") == Reason.BAD_USER_NAME_OR_PASSWORD
        assert reason("alice", b"two") == Reason.SUCCESS
        assert reason("bob", b"three") == Reason.SUCCESS
        assert is_alive(client)


def test_a_mistake_anywhere_changes_nothing_anywhere(serve: Serve, authority: Authority, tmp_path: Path) -> None:
    users, first, second = tmp_path / "users", authority.issue("before", "first"), authority.issue("second", "second")
    write_users(users, alice="one")
    listeners = listener("tls", pair=first) + listener("tls", pair=second)
    server = serve(f'{listeners}[access]\npassword_file = "{users}"\n{PAGES}')
    write_users(users, alice="two")
    authority.issue("after", "first")
    second.key.write_text("nonsense")
    reload_in_vain(server)
    assert certificate_shown(server, authority)["subject"] == ((("commonName", "before"),),)
    with PlainClient(server.port_of("mqtts"), tls=ssl.create_default_context(cafile=authority.cert)) as client:
        assert client.connect(username="alice", password=b"one").reason == Reason.SUCCESS


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


def test_rules_stay_with_their_listener_when_another_is_put_before_it(serve: Serve, tmp_path: Path) -> None:
    users = tmp_path / "users"
    write_users(users, alice="one")
    guarded = listener(port=free_port(), anonymous=False)
    rest = f'[access]\npassword_file = "{users}"\n{PAGES}'
    server = serve(guarded + rest)
    server.reload(listener(port=free_port(), anonymous=True) + guarded + rest)
    server.log.wait_for("needs a restart")
    with PlainClient(server.port) as client:
        assert client.connect().reason == Reason.NOT_AUTHORIZED


def test_a_socket_file_that_is_to_change_with_a_restart_is_still_removed(serve: Serve, tmp_path: Path) -> None:
    old, new = tmp_path / "old.sock", tmp_path / "new.sock"
    server = serve(f'[[listener]]\nkind = "unix"\npath = "{old}"\n{PAGES}')
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(new))
        server.reload(f'[[listener]]\nkind = "unix"\npath = "{new}"\n{PAGES}')
        assert "listener[1].path" in server.log.wait_for("needs a restart")
        with PlainClient(str(old)).connected():
            pass
        server.stop()
    assert not old.exists()
    assert new.exists()


def test_what_needs_a_restart_is_said_and_the_rest_is_done(serve: Serve) -> None:
    server = serve()
    server.reload(f"{listener(port=free_port())}{PAGES}[limits]\nsubscriptions_per_client = 1\n")
    assert "listener[1].port has changed; the change needs a restart" in server.log.wait_for("restart")
    with PlainClient(server.port).connected() as client:
        assert client.subscribe("a", "b") == (0, Reason.QUOTA_EXCEEDED)
