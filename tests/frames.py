"""WebSocket by hand: for tests that send what no WebSocket library would."""

import os
import socket

from running import PATIENCE

TEXT, BINARY, CLOSE, PING, PONG = 0x1, 0x2, 0x8, 0x9, 0xA
KEY = "dGhlIHNhbXBsZSBub25jZQ=="


def request(port: int, *, path: str = "/mqtt", protocol: str | None = "mqtt", **changes: str | None) -> bytes:
    """The opening handshake; `changes` replace headers (written with underscores) or, as None, leave them out."""
    headers = {
        "Host": f"127.0.0.1:{port}",
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Key": KEY,
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Protocol": protocol,
        **{name.replace("_", "-"): value for name, value in changes.items()},
    }
    lines = [f"{name}: {value}" for name, value in headers.items() if value is not None]
    return "\r\n".join([f"GET {path} HTTP/1.1", *lines, "", ""]).encode()


def frame(payload: bytes, opcode: int = BINARY, *, masked: bool = True, final: bool = True) -> bytes:
    """One frame."""
    size, mark = len(payload), 0x80 if masked else 0
    head = bytes([opcode | (0x80 if final else 0)])
    if size < 126:
        head += bytes([mark | size])
    elif size < 1 << 16:
        head += bytes([mark | 126]) + size.to_bytes(2, "big")
    else:
        head += bytes([mark | 127]) + size.to_bytes(8, "big")
    if not masked:
        return head + payload
    mask = os.urandom(4)
    return head + mask + bytes(byte ^ mask[index % 4] for index, byte in enumerate(payload))


def read_frame(connection: socket.socket) -> tuple[int, bytes]:
    """The next frame from a server: its opcode and payload."""
    opcode, size = _exactly(connection, 2)
    if size > 125:
        size = int.from_bytes(_exactly(connection, 2 if size == 126 else 8), "big")
    return opcode & 0x0F, _exactly(connection, size)


def read_head(connection: socket.socket) -> str:
    """The status line and headers of the server's answer."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += _exactly(connection, 1)
    return head.decode()


def open_websocket(port: int, connection: socket.socket | None = None) -> socket.socket:
    """A connection that has shaken hands."""
    connection = connection or socket.create_connection(("127.0.0.1", port), PATIENCE)
    connection.sendall(request(port))
    assert read_head(connection).startswith("HTTP/1.1 101 ")
    return connection


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            raise ConnectionError("the server closed the connection")
        data += more
    return data
