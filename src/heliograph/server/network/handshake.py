"""The TLS handshake of a client of an encrypted listener, before its conversation begins.

    first byte -> no TLS: a conversation that refuses the client in its own protocol
               -> TLS: steps, as bytes come -> done: the conversation | failed or too slow: refused

A `Handshake` is the outlet's `connection` until it begins the conversation, refuses the client, or the connection is
lost; each of these closes it first (`_close`), which cancels its timer and its slice. A step is expensive, so it runs
as work in slices, and the client is not read from until it is done.
"""

import errno
import os
from collections.abc import Callable
from ssl import SSLContext

from heliograph.broker import Authenticator
from heliograph.mqtt import Reason
from heliograph.server.access.authentication import EncryptedOnlyAuthenticator
from heliograph.server.network.layered import LayeredOutlet
from heliograph.server.network.tls import Tls

_TLS_HANDSHAKE = 0x16


Begin = Callable[[LayeredOutlet, Tls | None, Authenticator | None], None]
"""Begins the conversation of a client. The authenticator is None if the client's certificate decides."""


class Handshake:
    """Stands in for the conversation of the client until the handshake is done.

    A handshake takes as much time as a hundred messages, and thousands may come together, after a restart for example.
    So its steps are work in slices: other clients are served in between. A client that does not use TLS gets a
    conversation with an authenticator that refuses it, so that it learns why in its own protocol.
    """

    __slots__ = ("_begin", "_context", "_outlet", "_over", "_refused", "_timer", "_tls", "heard")

    def __init__(
        self,
        outlet: LayeredOutlet,
        context: SSLContext,
        begin: Begin,
        refused: Callable[[LayeredOutlet, Exception], None],
    ) -> None:
        """`begin` is called when the conversation can begin, `refused` with the reason why it cannot."""
        self._outlet = outlet
        self._context = context
        self._tls: Tls | None = None
        self._begin = begin
        self._refused = refused
        self._over = False
        broker = outlet.broker
        self.heard = broker.now()
        self._timer = broker.timers.at(self.heard + broker.limits.connect_timeout, self._timed_out, outlet)

    def describe(self) -> dict[str, str]:
        """A description of the client for log lines; its name is not known yet."""
        return {"client": "", "protocol": "TLS", "sent": "handshake"}

    def receive(self, data: bytes) -> None:
        """Bytes have come from the client."""
        outlet = self._outlet
        self.heard = outlet.broker.now()
        tls = self._tls
        if tls is None:
            if data[0] != _TLS_HANDSHAKE:
                self._begin_conversation(EncryptedOnlyAuthenticator())
                outlet.above.receive(data)
                return
            outlet.tls = self._tls = tls = Tls(self._context, outlet)
        tls.feed(data)
        outlet.stop_reading()
        if not outlet.broker.slices.is_working(self):
            outlet.broker.slices.later(self, self._step)

    def _step(self) -> None:
        outlet = self._outlet
        tls = self._tls
        assert tls is not None
        try:
            done = tls.shake_hands()
        except OSError as error:
            self._refuse(error)
            return
        outlet.speak()
        outlet.go_on_reading()
        if done:
            self._begin_conversation(None)
            tls.receive(b"")  # the last step's bytes may contain application data

    def _begin_conversation(self, authenticator: Authenticator | None) -> None:
        self._close()
        self._begin(self._outlet, self._tls, authenticator)

    def _refuse(self, error: Exception) -> None:
        self._close()
        self._refused(self._outlet, error)
        self._outlet.finish()

    def _timed_out(self, _now: float) -> None:
        if self._tls is None:  # no byte was received, as from a port check: not worth a warning
            self._outlet.gone()
        else:
            self._refuse(TimeoutError())

    def _close(self) -> None:
        self._over = True
        self._outlet.broker.timers.cancel(self._timer)
        self._outlet.broker.slices.drop(self)

    # The other methods of a conversation

    def pause(self) -> None:
        """There are no messages to hold back."""

    def resume(self) -> None:
        """As for `pause`."""

    def end(self, _reason: Reason, _text: str) -> None:
        """End the connection from this side: there is no protocol yet to say why."""
        self._close()
        self._outlet.finish()

    def lost(self) -> None:
        """The network connection is gone."""
        if not self._over and self._tls is not None:
            self._refused(self._outlet, ConnectionResetError(errno.ECONNRESET, os.strerror(errno.ECONNRESET)))
        self._close()
