"""Links in WebSocket frames (RFC 6455), and the choice of a link by transport."""

import base64
import hashlib
import os
import select
import ssl
from collections.abc import Callable

import numpy as np

from heliograph.lab.errors import ClientFailed
from heliograph.lab.load.link import Inbox, Link
from heliograph.lab.load.plan import Address, Transport

_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_BINARY, _CLOSE, _PING, _PONG = 0x82, 0x88, 0x89, 0x8A
_FINAL_DATA = frozenset({0x80, _BINARY, 0x00, 0x02})  # whole or continued binary messages
_RAW = 64 * 1024


class WebSocketLink(Link):
    """A link whose bytes travel in frames: what is written at once is one frame."""

    __slots__ = ("_address", "_key", "_mask", "_protocol", "_raw", "_room")

    def __init__(self, address: Address, tls: ssl.SSLContext | None, poller: select.epoll, protocol: str) -> None:
        """`protocol` is what goes through it, as WebSocket calls that."""
        self._address = address
        self._protocol = protocol
        self._key = base64.b64encode(os.urandom(16))
        self._mask = os.urandom(4)
        self._raw = b""
        super().__init__(address, tls, poller)

    def _opened(self) -> bool:
        if not self._raw:  # the first call: ask; later ones read the answer
            request = (
                f"GET {self._address.path} HTTP/1.1\r\nHost: {self._address.host}:{self._address.port}\r\n"
                "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                f"Sec-WebSocket-Protocol: {self._protocol}\r\nSec-WebSocket-Key: {self._key.decode()}\r\n\r\n"
            )
            super().write(request.encode())
            self._raw = b"\n"  # asked
            return False
        room = memoryview(bytearray(4096))
        self._raw += room[: self._read(room)]
        head, found, rest = self._raw.partition(b"\r\n\r\n")
        if not found:
            return False
        accept = base64.b64encode(hashlib.sha1(self._key + _GUID, usedforsecurity=False).digest())
        if b" 101 " not in head or accept not in head:
            raise ClientFailed(f"no WebSocket: {head.splitlines()[1].decode(errors='replace')}")
        self._raw = rest
        return True

    def receive(self, inbox: Inbox) -> tuple[memoryview, bool]:
        """As for other links; the frames are gone from what arrives."""
        room = memoryview(bytearray(_RAW))
        got = self._read(room)
        raw = self._raw + room[:got]
        parts, at = [self._kept], 0
        while (frame := _frame(raw, at)) is not None:
            first, start, end = frame
            if first in _FINAL_DATA:
                parts.append(raw[start:end])
            else:
                self._control(first, raw[start:end])
            at = end
        self._raw = raw[at:]
        return memoryview(bytearray().join(parts)), got > 0 and self._tls

    def _control(self, first: int, body: bytes) -> None:
        if first == _CLOSE:
            raise ClientFailed(f"the broker closed the WebSocket: {int.from_bytes(body[:2])} {body[2:].decode()}")
        if first == _PING:
            self._frame_out(_PONG, body)

    def write(self, data: bytes | memoryview, *, lasting: bool = False) -> None:
        """Send as one frame."""
        self._frame_out(_BINARY, data)

    def _frame_out(self, first: int, data: bytes | memoryview) -> None:
        size = len(data)
        if size < 126:
            head = bytes((first, 0x80 | size))
        elif size < 1 << 16:
            head = bytes((first, 0xFE)) + size.to_bytes(2)
        else:
            head = bytes((first, 0xFF)) + size.to_bytes(8)
        super().write(head + self._mask + _masked(data, self._mask))


def _masked(data: bytes | memoryview, mask: bytes) -> bytes:
    padded = np.zeros(-(-len(data) // 4) * 4, np.uint8)
    padded[: len(data)] = np.frombuffer(data, np.uint8)
    padded.view(np.uint32)[:] ^= np.frombuffer(mask, np.uint32)
    return padded.tobytes()[: len(data)]


def _frame(raw: bytes, at: int) -> tuple[int, int, int] | None:
    """First byte of the frame at `at`, and where its body starts and ends; None if it is not whole."""
    if len(raw) < at + 2:
        return None
    size, start = raw[at + 1] & 0x7F, at + 2
    if size >= 126:
        wide = 2 if size == 126 else 8
        if len(raw) < start + wide:
            return None
        size = int.from_bytes(raw[start : start + wide])
        start += wide
    if len(raw) < start + size:
        return None
    return raw[at], start, start + size


def links_to(address: Address, transport: Transport, poller: select.epoll, protocol: str) -> Callable[[], Link]:
    """What opens links to this address over this transport; `protocol` is its name in WebSocket."""
    tls = address.tls_context() if transport in {"tls", "wss"} else None
    if transport in {"ws", "wss"}:
        return lambda: WebSocketLink(address, tls, poller, protocol)
    return lambda: Link(address, tls, poller)
