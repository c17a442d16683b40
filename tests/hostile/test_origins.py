"""Web pages of strangers, in a browser on this machine, that want to use the server behind the user's back."""

import socket
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from configurations import PAGES, listener
from heliograph.server.access.passwords import Cost, PasswordFile
from running import PATIENCE, RunningServer, Serve

LISTED = "https://app.example.com"
CONFIG = f"""
{listener("ws")}
origins = ["{LISTED}"]
{listener("ws", "amqp")}
{listener("ws", anonymous=False)}
name = "guarded"
[access]
password_file = "users"
{PAGES}
hosts = ["broker.example.com"]
"""
ACCEPTED, FORBIDDEN = "101", "403"


@pytest.fixture
def server(serve: Serve, tmp_path: Path) -> RunningServer:
    users = PasswordFile(tmp_path / "users")
    users.set_password("alice", b"secret", Cost(n=16))
    users.save()
    return serve(CONFIG)


def ports(server: RunningServer) -> list[int]:
    return [int(address.split(":")[2].split("/")[0]) for address in server.addresses if address.startswith("ws")]


def handshake(port: int, path: str, *headers: str) -> str:
    """The status with which the server answers a browser that wants to open a WebSocket."""
    lines = [
        f"GET {path} HTTP/1.1",
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
        f"Sec-WebSocket-Protocol: {path.strip('/')}",
        *headers,
    ]
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as client:
        client.sendall("\r\n".join([*lines, "", ""]).encode())
        return client.recv(4096).decode().split()[1]


def test_a_page_of_a_stranger_cannot_open_a_websocket(server: RunningServer) -> None:
    for port, path in zip(ports(server), ("/mqtt", "/amqp", "/mqtt"), strict=True):
        host = f"Host: 127.0.0.1:{port}"
        for origin in (
            "https://evil.example",
            "http://127.0.0.1:3000",
            f"http://127.0.0.1:{port}.evil.example",
            "null",
        ):
            assert handshake(port, path, host, f"Origin: {origin}") == FORBIDDEN
        assert handshake(port, path, host, f"Origin: {LISTED}", "Origin: https://evil.example") == FORBIDDEN
    server.log.wait_for(
        "WebSocket connection refused: origin not allowed listener=ws:127.0.0.1:0 origin=https://evil.example"
    )


def test_a_name_that_leads_here_does_not_make_a_page_ours(server: RunningServer) -> None:
    anonymous, _, guarded = ports(server)
    rebound = "Host: evil.example:{0}", "Origin: http://evil.example:{0}"
    assert handshake(anonymous, "/mqtt", *(line.format(anonymous) for line in rebound)) == FORBIDDEN
    # There a page needs a password, and programs of others that name an origin may come by any name of the server.
    assert handshake(guarded, "/mqtt", *(line.format(guarded) for line in rebound)) == ACCEPTED


def test_programs_listed_pages_and_the_listeners_own_address_are_let_in(server: RunningServer) -> None:
    port = ports(server)[0]
    assert handshake(port, "/mqtt", f"Host: 127.0.0.1:{port}") == ACCEPTED
    assert handshake(port, "/mqtt", "Host: any.name.at.all") == ACCEPTED
    assert handshake(port, "/mqtt", f"Host: 127.0.0.1:{port}", f"Origin: {LISTED}") == ACCEPTED
    for name in ("127.0.0.1", "localhost", socket.gethostname()):
        assert handshake(port, "/mqtt", f"Host: {name}:{port}", f"Origin: http://{name}:{port}") == ACCEPTED


def test_origins_change_with_a_reload(server: RunningServer) -> None:
    port = ports(server)[0]
    headers = f"Host: 127.0.0.1:{port}", "Origin: https://new.example"
    assert handshake(port, "/mqtt", *headers) == FORBIDDEN
    server.reload(CONFIG.replace(LISTED, "https://new.example"))
    assert handshake(port, "/mqtt", *headers) == ACCEPTED


def page(server: RunningServer, host: str, method: str = "GET") -> int:
    request = urllib.request.Request(server.url("http") + "stats", headers={"Host": host}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            status: int = answer.status
            return status
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def test_pages_are_not_served_by_a_name_that_is_not_the_servers(server: RunningServer) -> None:
    for host in ("evil.example", "evil.example:15880", "localhost.evil.example"):
        assert page(server, host) == 421
        assert page(server, host, "PUT") == 421
    for host in ("localhost", "127.0.0.1:1", "[::1]", socket.gethostname(), "broker.example.com:443"):
        assert page(server, host) == 200
    server.log.wait_for("request refused: its Host header is not a name of this server host=evil.example")
