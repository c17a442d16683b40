"""TLS for one client as a layer between its socket and the layers above: bytes in, bytes out, no sockets.

**What it owns.** OpenSSL's session, its two memory buffers, and bytes of a read that one turn could not decrypt.

**Inbound.** A read is fed to OpenSSL in portions of `_FED` bytes, and all plain text of it goes up in one piece. If it
holds very many small records, the rest waits in `_untaken` for a slice, and the client is not read from; bytes that
come all the same are appended, so the order is kept.

**Outbound.** `encrypt` returns records; whatever OpenSSL wants to send itself (alerts, key updates) leaves with them.
"""

import ssl
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from heliograph.server.network.layered import LayeredOutlet
from heliograph.server.network.sockets import Receiver

# The most plain text in a record, and so the most that one call of OpenSSL reads or writes.
_RECORD = 16 << 10
# Bytes that are fed to OpenSSL at once: its buffers never shrink again.
_FED = 32 << 10
# Records for one turn. One portion of `_FED` bytes may hold 1400, which take 2 ms to decrypt, before they are handled.
_MANY = 500


class Tls:
    """The server's end of one TLS connection, on buffers in memory."""

    __slots__ = ("_incoming", "_outgoing", "_session", "_untaken", "above", "outlet")

    above: Receiver
    """The layer above, which gets plain text once the handshake is done."""

    def __init__(self, context: ssl.SSLContext, outlet: LayeredOutlet) -> None:
        self.outlet = outlet
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._session = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._untaken: list[bytes | memoryview] | None = None
        """Received bytes that wait for the client's next slice; None if there are none."""

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
            self.outlet.stop_reading()  # reading was resumed by something that does not know of `_untaken`
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
        """Decrypt until `_MANY` records are read; the rest waits for a slice. False if the connection has ended."""
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
        """Add the plain text of complete records to `pieces`; False if the connection has ended.

        `size` is the most that a record is expected to hold.
        """
        asked = min(size, _RECORD) or _RECORD
        try:
            # Reading when there is nothing raises an exception, which costs as much as decrypting a small record.
            while piece := self._session.read(asked):
                pieces.append(piece)
                if len(piece) < asked and not self._incoming.pending:
                    return True
                asked = _RECORD
        except ssl.SSLWantReadError:
            return True
        except ssl.SSLError:  # OpenSSL's alert is in `_outgoing`, and is sent with the next flush
            return False
        self.outlet.left = True
        return False

    # Bytes out

    def encrypt(self, data: bytes | memoryview) -> bytes:
        """These bytes as records, behind what OpenSSL itself has to send."""
        write = self._session.write
        try:
            sent = write(data) if data else 0
            while sent < len(data):
                sent += write(memoryview(data)[sent:])
        except ssl.SSLError:  # the connection has failed; an alert for the client is in `_outgoing`
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
