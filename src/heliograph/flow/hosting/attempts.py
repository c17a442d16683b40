"""What a host remembers about messages until their redelivery: failed attempts and refused effects."""

import threading
from collections.abc import Hashable, Sequence

from heliograph.common.backoff import Backoff
from heliograph.common.bounded_dict import BoundedDict
from heliograph.flow.engine.compiled_flow import Refusals
from heliograph.flow.formats.envelope import Envelope
from heliograph.flow.hosting.rules import Step

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
"""Seconds between attempts: each pause is twice the one before."""
ATTEMPTS = 3
"""For what has no backout count, such as records of files and requests."""
_MOST_MESSAGES = 10000
_MOST_REFUSALS = 1000
_MANY_EFFECTS = 2000
_SHARED = 1
"""Failures that may be those of another message in the same batch: a message with so few is taken alone."""


class Attempts:
    """How often messages have failed in this flow. Shared by all threads of a process.

    The server may count one more: when a process dies, its whole batch has failed in the eyes of the server. And it
    may count less: a message with a failure path is tried up to twice the threshold, and the server would put it away.
    """

    def __init__(self) -> None:
        self._counts: BoundedDict[bytes, int] = BoundedDict(_MOST_MESSAGES)
        self._lock = threading.Lock()

    def of(self, envelope: Envelope) -> int:
        """How often this message has failed, as far as this flow and the server know."""
        return max(self._counts.get(envelope.message_id, 0), envelope.backout_count - _SHARED)

    def suspect(self, envelopes: Sequence[Envelope]) -> bool:
        """Whether any of these messages may have failed before."""
        if any(envelope.backout_count for envelope in envelopes):
            return True
        counts = self._counts
        return bool(counts) and any(envelope.message_id in counts for envelope in envelopes)

    def failed(self, message_id: bytes) -> None:
        """Count a failure. Messages without an identifier are counted by the server only."""
        if not message_id:
            return
        with self._lock:
            self._counts[message_id] = self._counts.get(message_id, 0) + 1

    def forget(self, message_id: bytes) -> None:
        """Forget a message that is done."""
        if self._counts:
            self._counts.pop(message_id, None)


def may_be_put_away(envelope: Envelope, threshold: int) -> bool:
    """Whether the server, with this threshold for the queue, would put a message away that failed once more.

    The flow may have a path for it, so the server is not told. A message without an identifier is counted by the
    server alone. A threshold of 0 means that the server puts nothing away.
    """
    return 0 < threshold <= envelope.backout_count + 1 and bool(envelope.message_id)


class RefusalMemory:
    """What was refused, by message (or whatever is tried again)."""

    def __init__(self) -> None:
        self._refusals: BoundedDict[Hashable, Refusals] = BoundedDict(_MOST_REFUSALS)

    def take(self, key: Hashable) -> Refusals | None:
        """Return the refusals for the next attempt."""
        return self._refusals.pop(key, None) if self._refusals else None

    def add(self, key: Hashable, known: Refusals, refused: Refusals) -> bool:
        """Keep what was refused in an attempt that knew of `known`. False if the flow was told all of it before."""
        self._refusals[key] = {**known, **refused}
        return is_new(refused, known)


def is_new(refused: Refusals, known: Refusals) -> bool:
    """Whether any of this was refused for the first time: then the flow has not been told of it yet."""
    return not refused.keys() <= known.keys()


class BatchSize:
    """The size of batches from a queue: one message for a while after a failed batch, otherwise the maximum."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._one_by_one = 0
        """How many messages are still taken one by one."""

    @property
    def most(self) -> int:
        """How many to take next."""
        return 1 if self._one_by_one else self._most

    def nothing_there(self) -> None:
        """The messages that were given back have been taken by others."""
        self._one_by_one = 0

    def take_one_by_one(self, count: int) -> None:
        """`count` messages were given back."""
        self._one_by_one = max(self._one_by_one, count)

    def after(self, step: Step, messages: int, effects: int = 0) -> None:
        """A batch has ended; if it had many effects, the next batches are smaller."""
        if step is Step.ONE_BY_ONE:
            self.take_one_by_one(messages)
        elif step is Step.BACK_OUT:
            self.take_one_by_one(1)
        elif step.is_done:
            self._one_by_one = max(0, self._one_by_one - 1)
            if effects > _MANY_EFFECTS:
                self._most = max(1, self._most * _MANY_EFFECTS // effects)


class Waiting:
    """How long to wait before the next attempt, and when to give up."""

    def __init__(self, patience: float | None = None) -> None:
        """`patience` is how many seconds after the first failure there are attempts; None: for ever."""
        self._patience = patience
        self._since = 0.0
        self._backoff = Backoff(FIRST_PAUSE, LONGEST_PAUSE)

    @property
    def has_begun(self) -> bool:
        """Whether the last attempt failed, too."""
        return not self._backoff.is_first

    def pause(self, now: float) -> float | None:
        """An attempt has failed now: seconds until the next; None if there is no patience left."""
        if self._backoff.is_first:
            self._since = now
        elif self._patience is not None and now - self._since > self._patience:
            return None
        return self._backoff.pause()

    def over(self) -> None:
        """An attempt succeeded."""
        self._backoff.succeeded()
