"""Who may connect: anonymous clients if the listener says so, users of the password file, holders of certificates."""

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Protocol

from heliograph.broker import Outlet, Verdict
from heliograph.mqtt import Reason
from heliograph.server.access.logins import Login, Turns, address_group
from heliograph.server.access.passwords import PasswordChecker
from heliograph.server.config.loading import Config
from heliograph.server.config.schema import ListenerConfig

log = logging.getLogger(__name__)

_CHECKED_AT_ONCE = 2
_SUCCESS = Reason.SUCCESS  # looking it up in its enumeration takes as long as the rest of letting a client in


class Connections(Protocol):
    """What checking passwords needs of the network."""

    def address_of(self, outlet: Outlet) -> str:
        """The address of a client, as text."""

    def is_open(self, outlet: Outlet) -> bool:
        """Whether the connection of a client is still there."""

    def soon(self) -> None:
        """Write to clients before the event loop waits again: there may be answers for them."""


class Credentials:
    """The password file in force, and the threads that check passwords against it, a few at a time and in turns."""

    def __init__(self, config: Config, connections: Connections) -> None:
        self.checker = PasswordChecker(config.access.password_file)
        self.has_passwords = config.access.password_file is not None
        self._connections = connections
        self._threads = ThreadPoolExecutor(max_workers=_CHECKED_AT_ONCE, thread_name_prefix="password")
        self._turns = Turns()
        self._in_hand = 0
        self._next_turn: asyncio.TimerHandle | None = None

    def reload(self, config: Config) -> None:
        """Use the password file as it is now; PasswordFileError leaves the old one in force."""
        self.checker.reload(config.access.password_file)
        self.has_passwords = config.access.password_file is not None

    def check(self, outlet: Outlet, name: str, password: bytes, verdict: Verdict) -> None:
        """Give the verdict on a name and password: at once if it is known, else when a thread has found out."""
        known = self.checker.known(name, password)
        if known is not None:
            _tell(verdict, name, right=known)
            return
        address = address_group(self._connections.address_of(outlet))
        refused = self._turns.add(Login(address, name, password, verdict, lambda: self._connections.is_open(outlet)))
        if refused is not None:
            refused.verdict(Reason.SERVER_BUSY, "too many logins at once", None)
        self._go_on()

    def _go_on(self) -> None:
        """Give threads that are idle their next login."""
        if self._next_turn is not None:
            self._next_turn.cancel()
            self._next_turn = None
        loop = asyncio.get_running_loop()
        while self._in_hand < _CHECKED_AT_ONCE and (login := self._turns.take(loop.time())) is not None:
            if not login.wanted():
                continue
            # It may have become known while this login waited: many devices can have one name and password.
            known = self.checker.known(login.user, login.password)
            if known is not None:
                _tell(login.verdict, login.user, right=known)
                continue
            self._in_hand += 1
            future = loop.run_in_executor(self._threads, self.checker.check, login.user, login.password)
            future.add_done_callback(partial(self._checked, login))
        if self._in_hand < _CHECKED_AT_ONCE and (turn := self._turns.next_turn()) is not None:
            self._next_turn = loop.call_at(turn, self._go_on)
        self._connections.soon()

    def _checked(self, login: Login, done: "asyncio.Future[bool]") -> None:
        self._in_hand -= 1
        if done.cancelled():
            return
        if done.exception() is not None:
            log.error("password check failed", exc_info=done.exception())
            login.verdict(Reason.UNSPECIFIED_ERROR, "the password could not be checked", None)
        else:
            if done.result():
                self._turns.failures.forget(login)
            else:
                self._turns.failures.add(login, asyncio.get_running_loop().time())
            _tell(login.verdict, login.user, right=done.result())
        self._go_on()

    def close(self) -> None:
        """Stop the threads."""
        if self._next_turn is not None:
            self._next_turn.cancel()
        self._threads.shutdown(wait=False, cancel_futures=True)


def _tell(verdict: Verdict, user: str, *, right: bool) -> None:
    if right:
        verdict(Reason.SUCCESS, "", user)
    else:
        verdict(Reason.BAD_USER_NAME_OR_PASSWORD, "wrong user name or password", None)


class ListenerAuthenticator:
    """The rules of one listener, for a client that showed no certificate."""

    __slots__ = ("credentials", "listener")

    def __init__(self, listener: ListenerConfig, credentials: Credentials) -> None:
        self.listener = listener
        self.credentials = credentials

    @property
    def anonymous(self) -> bool:
        """Whether clients without a user name are let in."""
        return self.listener.anonymous

    @property
    def proven_user(self) -> str | None:
        """None: this listener has no proof of who the client is."""
        return None

    def check(self, outlet: Outlet, user: str | None, password: bytes | None, verdict: Verdict) -> None:
        """Decide on a client, now or later."""
        if user is None and not self.listener.anonymous:
            verdict(Reason.NOT_AUTHORIZED, "this listener wants a user name and password", None)
        elif user is None or (self.listener.anonymous and not self.credentials.has_passwords):
            verdict(_SUCCESS, "", None)  # a name that is given all the same is nobody's word but the client's
        elif not self.credentials.has_passwords:
            verdict(Reason.NOT_AUTHORIZED, "this listener wants a client certificate", None)
        else:
            self.credentials.check(outlet, user, password or b"", verdict)


class CertificateAuthenticator:
    """The way in for a client whose verified certificate names the user."""

    __slots__ = ("proven_user",)
    anonymous = True

    def __init__(self, user: str) -> None:
        self.proven_user: str | None = user

    def check(self, _outlet: Outlet, _user: str | None, _password: bytes | None, verdict: Verdict) -> None:
        """The handshake has proved who the client is, whatever name it gives."""
        verdict(Reason.SUCCESS, "", self.proven_user)


class EncryptedOnlyAuthenticator:
    """Refuses, in its own protocol, a client that connects to an encrypted listener without TLS."""

    __slots__ = ()

    anonymous = True
    """It may say nothing about itself: whatever it says, others on the way can read."""
    proven_user: str | None = None

    def check(self, _outlet: Outlet, _user: str | None, _password: bytes | None, verdict: Verdict) -> None:
        """Refuse."""
        verdict(Reason.NOT_AUTHORIZED, "this listener wants TLS, and this connection is not encrypted", None)
