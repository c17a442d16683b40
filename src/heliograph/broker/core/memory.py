"""One budget for all memory that clients can fill, and who has how much of it.

Theory of operation
1. Whatever can pile up is charged to the account of its owner (a client, a queue) before it is kept, at about what it
   takes in memory: its bytes, and a fixed sum for the objects around them. What is passed on at once is not charged.
2. Nobody gets more than what is still free. So one owner can have half of the budget, two can have a third each, and
   whoever is new or modest finds room though others take all that they can get.
3. A `Hold` is a charge that belongs to one object: it is refunded when that object is, whoever was the last to use it.
4. Owners of more than a thousandth of the budget are listed, which cannot be more than a thousand or so. The largest
   are found among them.
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
    """Half of the memory that there is for this process: that of the machine, or of its control group."""
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with suppress(OSError, ValueError):  # no such file, or "max"
        there = min(there, int(_CONTROL_GROUP.read_text()))
    return max(_LEAST, there // 2)


class Budget:
    """All memory that may be used for what clients make the server keep."""

    __slots__ = ("_listed", "limit", "refusals", "strangers", "used", "worth_listing")

    def __init__(self, limit: int = 0) -> None:
        """A limit of 0 bytes stands for half of the machine's memory."""
        self.used = 0
        self.refusals = 0
        """How often there was no room."""
        self._listed: set[Account] = set()
        self.set_limit(limit)
        self.strangers = Account(self, "connections", "not admitted yet")
        """For what comes from clients of whom nobody knows who they are."""

    def set_limit(self, limit: int) -> None:
        """Another limit counts from now on; what is kept beyond it stays."""
        self.limit = limit or machine_share()
        self.worth_listing = self.limit // _WORTH_LISTING

    def account(self, kind: str, name: str) -> "Account":
        """An account for an owner, who keeps it."""
        return Account(self, kind, name)

    def takes_newcomers(self, size: int) -> bool:
        """Whether there is room for another owner, who begins with so many bytes.

        The last of the budget is left to those who are there: owners without number could take all of it bit by bit.
        """
        if self.limit - self.used - size >= self.limit // _FOR_KNOWN:
            return True
        self.refusals += 1
        return False

    def largest(self, number: int) -> list["Account"]:
        """Those who own most, largest first."""
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
    """What one owner has."""

    __slots__ = ("budget", "kind", "listed", "name", "used")

    def __init__(self, budget: Budget, kind: str, name: str) -> None:
        self.budget = budget
        self.kind = kind
        self.name = name
        self.used = 0
        self.listed = False

    def has_room(self, size: int) -> bool:
        """Whether so many bytes may be added; somebody is about to be refused if not."""
        budget = self.budget
        if self.used + size <= budget.limit - budget.used - size:
            return True
        budget.refusals += 1
        return False

    def charge(self, size: int) -> bool:
        """Add so many bytes; False, and nothing happens, if there is no room."""
        if not self.has_room(size):
            return False
        self.add(size)
        return True

    def add(self, size: int) -> None:
        """Add what is there already and cannot be refused, or take away."""
        self.used += size
        self.budget.used += size
        if self.listed or self.used >= self.budget.worth_listing:
            self.budget.note(self)

    def refund(self, size: int) -> None:
        """So many bytes are free again."""
        self.add(-size)

    def hold(self, size: int) -> "Hold | None":
        """Charge so many bytes for as long as the answer lives; None if there is no room."""
        return Hold(self, size) if self.has_room(size) else None


class Hold:
    """A charge that is refunded when nobody has it any more."""

    __slots__ = ("account", "size")

    def __init__(self, account: Account, size: int = 0) -> None:
        """Charged whether there is room or not."""
        self.account = account
        self.size = size
        account.used += size  # as `add` does; this is done for every message that is on its way
        budget = account.budget
        budget.used += size
        if account.listed or account.used >= budget.worth_listing:
            budget.note(account)

    def set(self, size: int) -> bool:
        """It is so many bytes now, whether there is room or not; whether there is."""
        more, self.size = size - self.size, size
        fits = more <= 0 or self.account.has_room(more)
        self.account.add(more)
        return fits

    def __del__(self) -> None:
        account = self.account
        account.used -= self.size
        account.budget.used -= self.size
        if account.listed:  # nobody gets onto the list by having less
            account.budget.note(account)
