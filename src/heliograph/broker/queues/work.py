"""A unit of work: puts, gets and publications of which all or none happen."""

from collections.abc import Callable
from typing import Any

from heliograph.broker.queues.refusal import Refusal

LIMIT = 10_000
"""Messages in one unit of work."""


class Work:
    """Made by `Queues.begin`. Handed to `Queue.put(work=...)` and `Queue.settle(work=...)`; or `publish` for topics."""

    def publish(self, count: int, action: Callable[[], Any]) -> Refusal | None:
        """Do this at the commit: a publication of so many messages. What it stores is part of the commit."""

    def commit(self, done: Callable[[Refusal | None], None]) -> None:
        """Do all of it. `done(None)` is called when it is safe, `done(refusal)` if nothing of it has happened."""

    def roll_back(self) -> None:
        """Forget the puts, and give the gets back to their places: each counts as a failed delivery."""
