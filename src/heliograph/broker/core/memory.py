"""One memory budget for everything that clients can make the server keep, and an account for each owner.

Theory of operation
1. Whatever can pile up is charged to the account of its owner (a client, a queue) before it is kept, at about what it
   takes in memory: its bytes, and a fixed sum for the objects around them. What is passed on at once is not charged.
2. An account may not grow beyond what is still free in the budget (`has_room`). So one owner can have half of the
   budget, two a third each, and there is always room left for small and new owners.
3. Invariant: `budget.used` is the sum of `used` over all accounts. `add` and `refund` change both.
4. A `Hold` is a charge that belongs to one object, for example a span that is in many windows. It is refunded when the
   object is freed, whoever used it last; no count of users is needed.
5. Accounts with more than a thousandth of the budget are listed, which are at most about a thousand. `largest` searches
   only those.
"""

import os
from contextlib import suppress
from heapq import nlargest
from pathlib import Path

_WORTH_LISTING = 1000
_FOR_KNOWN = 8
_LEAST = 64 << 20
_CONTROL_GROUP = Path("/sys/fs/cgroup/memory.max")


def machine_share() -> int:
    """Half of the memory that this process may use: that of the machine or of its control group, whichever is less."""
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with suppress(OSError, ValueError):  # no such file, or "max"
        there = min(there, int(_CONTROL_GROUP.read_text()))
    return max(_LEAST, there // 2)


class Budget:
    """The memory that may be used for what clients make the server keep."""

    __slots__ = ("_listed", "limit", "refusals", "strangers", "used", "worth_listing")

    def __init__(self, limit: int = 0) -> None:
        """A limit of 0 bytes stands for half of the machine's memory."""
        self.used = 0
        self.refusals = 0
        """How often a charge was refused."""
        self._listed: set[Account] = set()
        self.set_limit(limit)
        self.strangers = Account(self, "connections", "not admitted yet")
        """The account for connections whose client is not known yet."""

    def set_limit(self, limit: int) -> None:
        """Change the limit. What is kept beyond a lower one stays."""
        self.limit = limit or machine_share()
        self.worth_listing = self.limit // _WORTH_LISTING

    def account(self, kind: str, name: str) -> "Account":
        """Make an account for an owner."""
        return Account(self, kind, name)

    def takes_newcomers(self, size: int) -> bool:
        """Whether there is room for another owner, who begins with `size` bytes.

        An eighth of the budget is reserved for existing owners: any number of new ones could use it up bit by bit.
        """
        if self.limit - self.used - size >= self.limit // _FOR_KNOWN:
            return True
        self.refusals += 1
        return False

    def largest(self, number: int) -> list["Account"]:
        """The largest accounts, largest first."""
        return nlargest(number, self._listed, key=lambda account: account.used)

    def note(self, account: "Account") -> None:
        """The account has changed: list it if it is large."""
        if account.used >= self.worth_listing:
            account.listed = True
            self._listed.add(account)
        elif account.listed:
            account.listed = False
            self._listed.discard(account)


class Account:
    """The memory of one owner."""

    __slots__ = ("budget", "kind", "listed", "name", "used")

    def __init__(self, budget: Budget, kind: str, name: str) -> None:
        self.budget = budget
        self.kind = kind
        self.name = name
        self.used = 0
        self.listed = False

    def has_room(self, size: int) -> bool:
        """Whether `size` bytes may be added. If not, a refusal is counted."""
        budget = self.budget
        if self.used + size <= budget.limit - budget.used - size:
            return True
        budget.refusals += 1
        return False

    def charge(self, size: int) -> bool:
        """Add `size` bytes; False without a change if there is no room."""
        if not self.has_room(size):
            return False
        self.add(size)
        return True

    def add(self, size: int) -> None:
        """Add bytes that are in use already and cannot be refused, or take away (negative)."""
        self.used += size
        self.budget.used += size
        if self.listed or self.used >= self.budget.worth_listing:
            self.budget.note(self)

    def refund(self, size: int) -> None:
        """Take `size` bytes away."""
        self.add(-size)

    def hold(self, size: int) -> "Hold | None":
        """Charge `size` bytes for as long as the returned object lives; None if there is no room."""
        return Hold(self, size) if self.has_room(size) else None


class Hold:
    """A charge that is refunded when this object is freed."""

    __slots__ = ("account", "size")

    def __init__(self, account: Account, size: int = 0) -> None:
        """Charge `size` bytes, whether there is room or not."""
        self.account = account
        self.size = size
        account.used += size  # `add` inline: this is done for every message in flight
        budget = account.budget
        budget.used += size
        if account.listed or account.used >= budget.worth_listing:
            budget.note(account)

    def set(self, size: int) -> bool:
        """Change the charge to `size` bytes, whether there is room or not. Returns whether there is."""
        more, self.size = size - self.size, size
        fits = more <= 0 or self.account.has_room(more)
        self.account.add(more)
        return fits

    def __del__(self) -> None:
        account = self.account
        account.used -= self.size
        account.budget.used -= self.size
        if account.listed:  # an account that shrinks can only leave the list
            account.budget.note(account)
