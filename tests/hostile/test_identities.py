"""Clients that say they are somebody else, or forget to encrypt: what they are told, and what is logged."""

import socket
from pathlib import Path

import pytest

from certificates import Authority, trusting
from configurations import NO_PAGES, listener, tls_listener, with_client_certificates
from faults.amqp_peer import AmqpPeer
from heliograph.amqp.codec.frames import AMQP_HEADER, SASL_HEADER, sasl_frame
from heliograph.amqp.codec.performatives import Close, SaslCode, SaslInit, SaslOutcome
from heliograph.mqtt import Reason
from heliograph.server.access.passwords import PasswordFile
from plain_client import PlainClient
from running import Serve


def test_the_log_names_the_user_of_the_certificate_and_not_the_one_that_is_claimed(
    serve: Serve, authority: Authority
) -> None:
    server = serve(with_client_certificates(authority, "required", "anonymous = false\n"))
    context = trusting(authority, authority.issue("lamp", "lamp"))
    with PlainClient(server.port_of("mqtts"), tls=context).connected("c1", username="root", password=b"any"):
        line = server.log.wait_for("client connected")
    assert " user=lamp" in line
    assert " claimed_user=root" in line


def test_the_log_names_nobody_where_nothing_is_proved(serve: Serve) -> None:
    server = serve(listener() + NO_PAGES)
    with PlainClient(server.port).connected("c1", username="root", password=b"any"):
        line = server.log.wait_for("client connected")
    assert " user=" not in line
    assert " claimed_user=root" in line


def test_a_refused_login_is_logged_with_who_it_was_said_to_be(serve: Serve, tmp_path: Path) -> None:
    users = PasswordFile(tmp_path / "users")
    users.set_password("alice", b"secret")
    users.save()
    rules = 'anonymous = false\n[access]\npassword_file = "users"\n'
    server = serve(f"{listener()}{rules}{NO_PAGES}")
    with PlainClient(server.port) as client:
        here = client.socket.getsockname()[1]
        assert client.connect("c1", username="alice", password=b"guess").reason == Reason.BAD_USER_NAME_OR_PASSWORD
    line = server.log.wait_for("client refused")
    for field in ("client=c1", "claimed_user=alice", f"peer=127.0.0.1:{here}", "reason=BAD_USER_NAME_OR_PASSWORD"):
        assert f" {field}" in line


def test_a_handshake_that_fails_is_logged_with_its_reason(serve: Serve, authority: Authority, tmp_path: Path) -> None:
    server = serve(with_client_certificates(authority, "required"))
    stranger = Authority(tmp_path, "Somebody Else").issue("lamp", "lamp")
    with pytest.raises(OSError), PlainClient(server.port_of("mqtts"), tls=trusting(authority, stranger)) as client:  # noqa: PT011 - by TLS or by the network
        client.connect()
    line = server.log.wait_for("client refused")
    assert "certificate not accepted" in line
    assert " peer=127.0.0.1:" in line


@pytest.mark.parametrize("version", [3, 4, 5])
def test_an_mqtt_client_without_tls_on_a_tls_port_is_told_so(serve: Serve, authority: Authority, version: int) -> None:
    server = serve(tls_listener(authority) + NO_PAGES)
    with PlainClient(server.port_of("mqtts"), version=version) as client:
        answer = client.connect("c1", username="alice")
    assert answer.reason == (Reason.NOT_AUTHORIZED if version == 5 else 5)
    if version == 5:
        assert "TLS" in answer.properties["reason_string"]
    assert "wants TLS" in server.log.wait_for("client refused")
    assert "client=c1" in server.log.text()


def test_an_amqp_client_without_tls_on_a_tls_port_is_told_so(serve: Serve, authority: Authority) -> None:
    listener = tls_listener(authority) + 'protocol = "amqp"\n'
    server = serve(listener + NO_PAGES)
    port = server.port_of("amqps")
    with AmqpPeer(port) as peer:
        peer.send_bytes(SASL_HEADER + sasl_frame(SaslInit("PLAIN", b"\0alice\0secret").encoded()))
        assert peer.wait_for(SaslOutcome).code is SaslCode.AUTH
    with AmqpPeer(port) as peer:
        peer.send_bytes(AMQP_HEADER)
        error = peer.wait_for(Close).error
    assert error is not None
    assert error.description is not None
    assert "TLS" in error.description


def test_whoever_only_looks_whether_a_tls_port_is_open_is_not_logged(serve: Serve, authority: Authority) -> None:
    server = serve(tls_listener(authority) + NO_PAGES)
    socket.create_connection(("127.0.0.1", server.port_of("mqtts"))).close()
    with PlainClient(server.port_of("mqtts"), tls=trusting(authority)).connected():
        pass
    assert "client refused" not in server.log.text()
