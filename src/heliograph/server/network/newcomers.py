"""Clients of encrypted listeners who have not shaken hands yet."""

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


class Newcomer:
    """Stands where the conversation of the client will be.

    A handshake takes as much time as a hundred messages, and thousands may come together, after a restart for example.
    So its steps are work in slices: others are served in between. Somebody who speaks without TLS, because he forgot to
    say that he wants it, is let through to be told so in his own protocol.
    """

    __slots__ = ("_begin", "_context", "_outlet", "_over", "_refused", "_timer", "heard")

    def __init__(
        self,
        outlet: LayeredOutlet,
        context: SSLContext,
        begin: Callable[[LayeredOutlet, Authenticator | None], None],
        refused: Callable[[LayeredOutlet, Exception], None],
    ) -> None:
        """`begin` gets the client with its authenticator, or None if its certificate tells which.

        `refused` gets the reason why not.
        """
        self._outlet = outlet
        self._context = context
        self._begin = begin
        self._refused = refused
        self._over = False
        broker = outlet.broker
        self.heard = broker.now()
        self._timer = broker.timers.at(self.heard + broker.limits.connect_timeout, self._time_is_up, outlet)

    def describe(self) -> dict[str, str]:
        """What the client has sent last, for people: nobody knows who it is."""
        return {"client": "", "protocol": "TLS", "sent": "handshake"}

    def receive(self, data: bytes) -> None:
        """Bytes have come from the client."""
        outlet = self._outlet
        self.heard = outlet.broker.now()
        if outlet.tls is None:
            if data[0] != _TLS_HANDSHAKE:
                self._let_in(EncryptedOnlyAuthenticator())
                outlet.above.receive(data)
                return
            outlet.tls = Tls(self._context, outlet)
        outlet.tls.feed(data)
        outlet.stop_reading()
        if not outlet.broker.slices.is_working(self):
            outlet.broker.slices.later(self, self._step)

    def _step(self) -> None:
        outlet = self._outlet
        tls = outlet.tls
        assert tls is not None
        try:
            done = tls.shake_hands()
        except OSError as error:
            self._refuse(error)
            return
        outlet.speak()
        outlet.go_on_reading()
        if done:
            self._let_in(None)
            tls.receive(b"")  # the first words may have come with the last step

    def _let_in(self, authenticator: Authenticator | None) -> None:
        self._close()
        self._begin(self._outlet, authenticator)

    def _refuse(self, error: Exception) -> None:
        self._close()
        self._refused(self._outlet, error)
        self._outlet.finish()

    def _time_is_up(self, _now: float) -> None:
        if self._outlet.tls is None:  # not a word: somebody looks whether the port is open
            self._outlet.gone()
        else:
            self._refuse(TimeoutError())

    def _close(self) -> None:
        self._over = True
        self._outlet.broker.timers.cancel(self._timer)
        self._outlet.broker.slices.drop(self)

    # The rest of what a conversation can do

    def pause(self) -> None:
        """Nothing is sent to it but its handshake."""

    def resume(self) -> None:
        """As for `pause`."""

    def end(self, _reason: Reason, _text: str) -> None:
        """End the connection from this side: there is no protocol yet to say why."""
        self._close()
        self._outlet.finish()

    def lost(self) -> None:
        """The network connection is gone."""
        if not self._over and self._outlet.tls is not None:
            self._refused(self._outlet, ConnectionResetError(errno.ECONNRESET, os.strerror(errno.ECONNRESET)))
        self._close()
