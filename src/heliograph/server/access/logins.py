"""Whose password is checked next: fair turns, so that a flood of wrong passwords does not keep others from logging in.

Addresses take turns, and so do the users of an address. A new address or user comes first: one that floods is not new
for long, so a good login passes all that a flood has left waiting. Addresses and users that have failed several times
get fewer turns. They are never locked out: that would let an attacker lock out others.
"""

import ipaddress
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass

from heliograph.broker import Verdict
from heliograph.common.bounded_dict import BoundedDict

MOST_WAITING = 400
"""Checking a password takes some 50 ms of a core, by design. Past this many waiting, more would only wait in vain."""
FORGOTTEN_AFTER = 60.0
"""Seconds without a failure after which earlier ones count no more."""
_MOST_REMEMBERED = 10_000


@dataclass(frozen=True, slots=True)
class _Patience:
    """How many failures cost nothing, and how many seconds pass before the next turn after each further one."""

    free: int
    pause: float


# An address may be that of many, behind one router: it is slowed down later, and less, than a single user there.
_WITH_ADDRESS = _Patience(10, 0.1)
_WITH_USER = _Patience(3, 0.5)


@dataclass(frozen=True, slots=True, eq=False)
class Login:
    """A user name and password that wait to be checked."""

    address: str
    user: str
    password: bytes
    verdict: Verdict
    wanted: Callable[[], bool]
    """Whether the client is still there."""


def address_group(peer: str) -> str:
    """What counts as one address: of IPv6 the first 64 bits, as one machine can have all that share these."""
    host = peer.rpartition(":")[0] or peer
    try:
        ip = ipaddress.ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return host  # all clients of Unix sockets are one
    if isinstance(ip, ipaddress.IPv6Address):
        return str(ip.ipv4_mapped or ipaddress.ip_network((ip, 64), strict=False))
    return str(ip)


class Failures:
    """How often each address, and each user of an address, failed lately. Of no more than the latest few thousand."""

    def __init__(self) -> None:
        self._latest: BoundedDict[tuple[str, ...], tuple[int, float]] = BoundedDict(_MOST_REMEMBERED)

    def add(self, login: Login, now: float) -> None:
        """A password was wrong."""
        for key in ((login.address,), (login.address, login.user)):
            count, last = self._latest.pop(key, (0, now))
            self._latest[key] = (count + 1 if now - last < FORGOTTEN_AFTER else 1), now

    def forget(self, login: Login) -> None:
        """A password was right: this user has no failures there any more. The address keeps its own."""
        self._latest.pop((login.address, login.user), None)

    def turn_of_address(self, address: str) -> float:
        """The time from which an address may have its next turn."""
        return self._turn((address,), _WITH_ADDRESS)

    def turn_of_user(self, address: str, user: str) -> float:
        """The time from which a user of an address may have their next turn."""
        return self._turn((address, user), _WITH_USER)

    def _turn(self, key: tuple[str, ...], patience: _Patience) -> float:
        count, last = self._latest.get(key, (0, 0.0))
        return last + patience.pause if count > patience.free else 0.0


class Turns:
    """The logins that wait, and which of them is next."""

    def __init__(self, most: int = MOST_WAITING) -> None:
        self.failures = Failures()
        self._most = most
        self._size = 0
        self._waiting: OrderedDict[str, OrderedDict[str, deque[Login]]] = OrderedDict()
        """By address and user, in the order of turns; of one user, the oldest login first."""

    def __len__(self) -> int:
        return self._size

    def add(self, login: Login) -> Login | None:
        """Wait for a turn; the login that gives way if that makes too many."""
        if login.address not in self._waiting:
            self._waiting[login.address] = OrderedDict()
            self._waiting.move_to_end(login.address, last=False)
        users = self._waiting[login.address]
        if login.user not in users:
            users[login.user] = deque()
            users.move_to_end(login.user, last=False)
        users[login.user].append(login)
        self._size += 1
        return self._longest_waiting() if self._size > self._most else None

    def take(self, now: float) -> Login | None:
        """The login whose turn it is, the newest of its user; None if no login may have its turn yet."""
        for address, users in self._waiting.items():
            if self.failures.turn_of_address(address) > now:
                continue
            for user in users:
                if self.failures.turn_of_user(address, user) <= now:
                    return self._remove(address, user, newest=True)
        return None

    def next_turn(self) -> float | None:
        """When the next waiting login may have its turn; None if none waits."""
        times = [
            max(self.failures.turn_of_address(address), self.failures.turn_of_user(address, user))
            for address, users in self._waiting.items()
            for user in users
        ]
        return min(times, default=None)

    def _longest_waiting(self) -> Login:
        """Take out the oldest login of whoever has most of them waiting; among equals, of who had their turn last."""
        address = max(reversed(self._waiting), key=lambda one: sum(map(len, self._waiting[one].values())))
        users = self._waiting[address]
        return self._remove(address, max(reversed(users), key=lambda one: len(users[one])), newest=False)

    def _remove(self, address: str, user: str, *, newest: bool) -> Login:
        users = self._waiting[address]
        login = users[user].pop() if newest else users[user].popleft()
        self._size -= 1
        # The next ones come first now, those of this user and address last.
        if users[user]:
            users.move_to_end(user)
        else:
            del users[user]
        if users:
            self._waiting.move_to_end(address)
        else:
            del self._waiting[address]
        return login
