"""TLS for one client as a layer between its socket and what it says: bytes in, bytes out, no sockets."""

import ssl
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from heliograph.server.network.layered import LayeredOutlet
from heliograph.server.network.sockets import Receiver

# What a record carries at most. OpenSSL gives no more than that at once, and takes no more.
_RECORD = 16 << 10
# Bytes that OpenSSL gets at once: its buffers keep the size that they had to have once.
_FED = 32 << 10
# So many records are enough for a turn. What is fed at once may hold 1400, which take 2 ms, and then they are handled.
_MANY = 500


class Tls:
    """The server's end of one TLS connection, on buffers in memory."""

    __slots__ = ("_incoming", "_outgoing", "_session", "_untaken", "above", "outlet")

    above: Receiver
    """Takes what the client has said, once it has shaken hands."""

    def __init__(self, context: ssl.SSLContext, outlet: LayeredOutlet) -> None:
        self.outlet = outlet
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._session = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._untaken: list[bytes | memoryview] | None = None
        """What has come and has to wait until it is the client's turn again."""

    # The handshake

    def feed(self, data: bytes) -> None:
        """Bytes of the handshake have come."""
        self._incoming.write(data)

    def shake_hands(self) -> bool:
        """Do the next step of the handshake; whether it was the last. An OSError says why there cannot be any more."""
        try:
            self._session.do_handshake()
        except ssl.SSLWantReadError:
            return False
        return True

    def certificate(self) -> Mapping[str, Any] | None:
        """The certificate that the client has shown, verified."""
        return self._session.getpeercert()

    # Bytes in

    def receive(self, data: bytes) -> None:
        """Bytes have come from the socket: decrypt them, and hand on what there is."""
        if self._untaken is not None:
            self._untaken.append(data)
            self.outlet.stop_reading()  # whoever let it be read from did not know
            return
        pieces: list[bytes] = []
        goes_on = True
        if len(data) <= _FED:
            self._incoming.write(data)
            goes_on = self._decrypt(pieces, len(data))
        else:
            goes_on = self._decrypt_much(pieces, memoryview(data))
        if pieces:
            self.above.receive(pieces[0] if len(pieces) == 1 else b"".join(pieces))
        if self._outgoing.pending:  # new keys are answered with new keys
            self.outlet.speak()
        if not goes_on:
            self.outlet.end_when_taken()

    def _decrypt_much(self, pieces: list[bytes], data: memoryview) -> bool:
        """Decrypt what there is time for, however small its records are; whether there can be more."""
        for at in range(0, len(data), _FED):
            if len(pieces) > _MANY:
                self._untaken = [data[at:]]
                self.outlet.stop_reading()
                self.outlet.broker.slices.later(self, self._go_on)
                return True
            self._incoming.write(data[at : at + _FED])
            if not self._decrypt(pieces, _RECORD):
                return False
        return True

    def _go_on(self) -> None:
        """It is the client's turn again."""
        untaken, self._untaken = self._untaken or [], None
        self.outlet.go_on_reading()
        self.receive(b"".join(untaken))

    def _decrypt(self, pieces: list[bytes], size: int) -> bool:
        """Add what is whole to the pieces; whether there can be more. No record holds more than `size`, as a rule."""
        asked = min(size, _RECORD) or _RECORD
        try:
            # To ask for what is not there is an exception, which costs as much as decrypting a small record.
            while piece := self._session.read(asked):
                pieces.append(piece)
                if len(piece) < asked and not self._incoming.pending:
                    return True
                asked = _RECORD
        except ssl.SSLWantReadError:
            return True
        except ssl.SSLError:  # what OpenSSL has to say about it waits to be written
            return False
        self.outlet.left = True
        return False

    # Bytes out

    def encrypt(self, data: bytes | memoryview) -> bytes:
        """These bytes as records, behind whatever else the client has to be told."""
        write = self._session.write
        try:
            sent = write(data) if data else 0
            while sent < len(data):
                sent += write(memoryview(data)[sent:])
        except ssl.SSLError:  # the connection has failed, and its client is told
            if not self.outlet.finished:
                self.outlet.finish()
        return self._outgoing.read()

    def close_notify(self) -> bytes:
        """The last bytes: the alert that ends the connection."""
        with suppress(ssl.SSLError):  # it waits for the client's alert, or the handshake never succeeded
            self._session.unwrap()
        return self._outgoing.read()

    def drop(self) -> None:
        """The client has gone."""
        self._untaken = None
        self.outlet.broker.slices.drop(self)
