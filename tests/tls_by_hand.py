"""The client's end of TLS by hand: for tests that stop in the middle, or send records of any size they like."""

import socket
import ssl
from contextlib import suppress
from types import TracebackType
from typing import Self

from running import PATIENCE


class TlsByHand:
    """One connection. Nothing is sent or read but when it is said so."""

    def __init__(self, port: int, context: ssl.SSLContext, session: ssl.SSLSession | None = None) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE)
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.incoming, self.outgoing, server_hostname="localhost", session=session)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.socket.close()

    def step(self) -> bytes:
        """Go on with the handshake as far as it goes; what the server has to get now."""
        with suppress(ssl.SSLWantReadError):
            self.tls.do_handshake()
        return self.outgoing.read()

    def take(self) -> bool:
        """Read from the socket; False if the server has closed it."""
        data = self.socket.recv(1 << 18)
        self.incoming.write(data)
        return bool(data)

    def shaken(self, by: int = 1 << 16) -> Self:
        """Shake hands, sending so many bytes at a time."""
        while True:
            try:
                self.tls.do_handshake()
            except ssl.SSLWantReadError:
                self.flush(by)
                assert self.take(), "the server closed the connection"
            else:
                self.flush(by)
                return self

    def flush(self, by: int = 1 << 16) -> None:
        """Send what has been encrypted, so many bytes at a time."""
        data = self.outgoing.read()
        for at in range(0, len(data), by):
            self.socket.sendall(data[at : at + by])

    def encrypt(self, *pieces: bytes) -> bytes:
        """These, each in records of its own, for `socket.sendall`."""
        for piece in pieces:
            left = memoryview(piece)
            while left:
                left = left[self.tls.write(left) :]
        return self.outgoing.read()

    def send(self, *pieces: bytes) -> None:
        """Send these, each in records of its own."""
        self.socket.sendall(self.encrypt(*pieces))

    def receive(self, size: int = 1 << 16) -> bytes:
        """What the server says; nothing when it has said farewell. ConnectionError if it goes without that."""
        while True:
            try:
                return self.tls.read(size)
            except ssl.SSLZeroReturnError:
                return b""
            except ssl.SSLWantReadError:
                if not self.take():
                    raise ConnectionError("the server went without a farewell") from None

    def exactly(self, size: int) -> bytes:
        """So many bytes of what the server says."""
        data = b""
        while len(data) < size:
            more = self.receive(size - len(data))
            assert more, "the server has said farewell"
            data += more
        return data

    def farewell(self) -> bytes:
        """What says that nothing more will come."""
        with suppress(ssl.SSLWantReadError):
            self.tls.unwrap()
        return self.outgoing.read()
