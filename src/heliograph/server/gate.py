"""Who may connect: anonymous clients if the listener says so, users of the password file, holders of certificates."""

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor

from heliograph.broker.gate import Verdict
from heliograph.mqtt.reasons import Reason
from heliograph.server.config import Config
from heliograph.server.config_tables import ListenerConfig
from heliograph.server.passwords import PasswordChecker
from heliograph.server.writing import Writer

log = logging.getLogger(__name__)

# Checking a password takes some 50 ms of a core, by design. Past this many waiting, more would only wait in vain.
_MOST_WAITING = 400


class Credentials:
    """The password file in force, and the threads that check passwords against it."""

    def __init__(self, config: Config, writer: Writer) -> None:
        self.checker = PasswordChecker(config.access.password_file)
        self.has_passwords = config.access.password_file is not None
        self._writer = writer
        self._threads = ThreadPoolExecutor(max_workers=2, thread_name_prefix="password")
        self._waiting = 0

    def reload(self, config: Config) -> None:
        """Use the password file as it is now; a Problem leaves the old one in force."""
        self.checker.reload(config.access.password_file)
        self.has_passwords = config.access.password_file is not None

    def check(self, name: str, password: bytes, verdict: Verdict) -> None:
        """Give the verdict on a name and password: at once if it was right a while ago, else when a thread knows."""
        if self.checker.known(name, password):
            verdict(Reason.SUCCESS, "")
        elif self._waiting >= _MOST_WAITING:
            verdict(Reason.SERVER_BUSY, "too many logins at once")
        else:
            self._waiting += 1
            future = asyncio.get_running_loop().run_in_executor(self._threads, self.checker.check, name, password)
            future.add_done_callback(lambda done: self._checked(done, verdict))

    def _checked(self, done: "asyncio.Future[bool]", verdict: Verdict) -> None:
        self._waiting -= 1
        if done.cancelled():
            return
        if done.exception() is not None:
            log.error("password check failed", exc_info=done.exception())
            verdict(Reason.UNSPECIFIED_ERROR, "the password could not be checked")
        elif done.result():
            verdict(Reason.SUCCESS, "")
        else:
            verdict(Reason.BAD_USER_NAME_OR_PASSWORD, "wrong user name or password")
        self._writer.soon()

    def close(self) -> None:
        """Stop the threads."""
        self._threads.shutdown(wait=False, cancel_futures=True)


class ListenerGate:
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
        """Nobody has been proved to be anybody here."""
        return None

    def check(self, user: str | None, password: bytes | None, verdict: Verdict) -> None:
        """Decide on a client, now or later."""
        if user is None and not self.listener.anonymous:
            verdict(Reason.NOT_AUTHORIZED, "this listener wants a user name and password")
        elif user is None or (self.listener.anonymous and not self.credentials.has_passwords):
            verdict(Reason.SUCCESS, "")
        elif not self.credentials.has_passwords:
            verdict(Reason.NOT_AUTHORIZED, "this listener wants a client certificate")
        else:
            self.credentials.check(user, password or b"", verdict)


class CertificateGate:
    """The way in for a client whose verified certificate names the user."""

    __slots__ = ("proven_user",)
    anonymous = True

    def __init__(self, user: str) -> None:
        self.proven_user: str | None = user

    def check(self, _user: str | None, _password: bytes | None, verdict: Verdict) -> None:
        """The handshake has proved who the client is."""
        verdict(Reason.SUCCESS, "")
