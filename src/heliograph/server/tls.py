"""TLS for one client as a layer between its socket and what it says: bytes in, bytes out, no sockets."""

import ssl
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from heliograph.broker.portions import Portions

if TYPE_CHECKING:
    from heliograph.server.layered import LayeredOutlet
    from heliograph.server.sockets import Receiver

# What a record carries at most. OpenSSL gives no more than that at once, and takes no more.
_RECORD = 16 << 10
# Bytes of the smallest records that do not take long: some 700 records.
_SMALL = 16 << 10
# Whoever has sent large records may go on with the smallest ones, and these must not take long either. Besides,
# OpenSSL's buffers keep the size that they had to have once.
_LARGE = 64 << 10


class Tls:
    """The server's end of one TLS connection, on buffers in memory."""

    __slots__ = ("_incoming", "_outgoing", "_portions", "_session", "above", "outlet")

    above: "Receiver"
    """Takes what the client has said, once it has shaken hands."""

    def __init__(self, context: ssl.SSLContext, outlet: "LayeredOutlet") -> None:
        self.outlet = outlet
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._session = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._portions = Portions(outlet.broker, _SMALL, _LARGE)

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
        """Bytes have come from the socket."""
        if len(data) <= _SMALL and self._portions.waiting is None:
            self.take_portion(data)
        else:
            self._portions.take(data, self)

    def take_portion(self, data: bytes) -> bool:
        """Decrypt, and hand on what there is; whether more is wanted."""
        pieces: list[bytes] = []
        self._incoming.write(data)
        goes_on = self._decrypt(pieces, len(data))
        if pieces:
            self.above.receive(pieces[0] if len(pieces) == 1 else b"".join(pieces))
        if self._outgoing.pending:  # new keys are answered with new keys
            self.outlet.speak()
        if not goes_on:
            self.outlet.end_when_taken()
        return goes_on

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

    def have_taken(self) -> None:
        """So much for this turn."""

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

    def farewell(self) -> bytes:
        """The last bytes: nothing comes behind them."""
        with suppress(ssl.SSLError):  # it wants to see the client's farewell, or there never was a good handshake
            self._session.unwrap()
        return self._outgoing.read()

    def drop(self) -> None:
        """The client has gone."""
        self._portions.drop()
