"""Admission: messages that are put become entries of a queue, or are refused one by one."""

from collections.abc import Sequence
from typing import Protocol

from heliograph.amqp.messages import ENTRY_CHECK_FROM, Peeked, peek_run, too_many_entries, with_durable_and_priority
from heliograph.broker.core.memory import Account
from heliograph.broker.core.queue_definition import STANDARD_PRIORITY, QueueDefinition
from heliograph.broker.errors import Refusal
from heliograph.broker.queues import refusal
from heliograph.broker.queues.entry import ENTRY_COST, NOT_PERSISTENT, NOT_STORED, Entry, cost_of
from heliograph.broker.queues.statistics import Counters


class AdmittingQueue(Protocol):
    """A queue that messages are put into."""

    definition: QueueDefinition
    depth: int
    deleted: bool
    keeps: bool
    account: Account
    counters: Counters

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def storage(self) -> object:
        """Its storage in the log; None before the first persistent message."""

    def open_storage(self) -> object:
        """Make its storage in the log, unless it has one."""


class Admissions(Protocol):
    """All queues, as far as admission needs them."""

    def now(self) -> int:
        """Milliseconds since 1970."""

    @property
    def trouble(self) -> Refusal | None:
        """Why no persistent message can be taken at present."""


class Pattern:
    """The entries that one queue has made of messages.

    Queues with the same defaults make equal ones, so they copy it.
    """

    __slots__ = ("_fields", "_longest", "_number", "_size", "cost", "stored")

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._fields = [(e.payload, e.size, e.priority, e.expires, e.deliver_at, e.put_at, e.offset) for e in entries]
        self._number = len(entries)
        self._longest = max([entry.size for entry in entries])
        self._size = ENTRY_COST * len(entries) + sum([entry.size for entry in entries])
        self.cost = cost_of(entries)
        self.stored = any(entry.offset == NOT_STORED for entry in entries)
        """Whether some of them have to be stored."""

    def fits(self, queue: AdmittingQueue) -> bool:
        """Whether a queue takes all of them, as far as their sizes tell; `admit` is for the others."""
        definition = queue.definition
        return (
            definition.put_enabled
            and not queue.deleted
            and self._longest <= definition.max_message_length
            and self._number <= definition.max_depth - queue.depth
            and not (self.stored and queue.storage is None)
            and queue.account.has_room(self._size)
        )

    def entries(self) -> list[Entry]:
        """Entries for another queue."""
        return [Entry(*fields) for fields in self._fields]


def admit(
    queue: AdmittingQueue,
    messages: Sequence[bytes],
    queues: Admissions,
    *,
    patient: bool = False,
    unfit: dict[int, Refusal] | None = None,
) -> tuple[list[Entry], dict[int, Refusal]]:
    """Make entries of messages. Returns them, and the refusals by index of the message.

    With `patient`, messages that cannot be stored at present are taken. `unfit` is the result of `unfit_for_all`, if
    known. ProtocolError if one of them is no message.
    """
    definition = queue.definition
    entries, to_store = _entries(queue, messages, queues)
    refused: dict[int, Refusal] = {}
    longest = max(map(len, messages), default=0)
    if (
        len(messages) > definition.max_depth - queue.depth
        or not definition.put_enabled
        or queue.deleted
        or longest > definition.max_message_length
    ):
        refused = _refusals(queue, messages)
    elif not queue.account.has_room(ENTRY_COST * len(messages) + sum(map(len, messages))):
        why = Refusal(refusal.FULL, f"there is no memory for more messages in queue {queue.name}")
        refused = dict.fromkeys(range(len(messages)), why)
    if longest > ENTRY_CHECK_FROM:
        refused |= unfit_for_all(messages) if unfit is None else unfit
    if to_store and not patient and (trouble := queues.trouble) is not None:
        for place, entry in enumerate(entries):
            if entry.offset == NOT_STORED:
                refused.setdefault(place, trouble)
    if refused:
        entries = [entry for place, entry in enumerate(entries) if place not in refused]
        queue.counters.refused += len(refused)
    return entries, refused


def unfit_for_all(messages: Sequence[bytes]) -> dict[int, Refusal]:
    """Messages that no queue takes, whatever its attributes. This is slow, so it is done once for all queues."""
    return {
        place: Refusal(refusal.NOT_ALLOWED, why)
        for place, message in enumerate(messages)
        if len(message) > ENTRY_CHECK_FROM and (why := too_many_entries(message))
    }


def _entries(queue: AdmittingQueue, messages: Sequence[bytes], queues: Admissions) -> tuple[list[Entry], bool]:
    """Entries of messages, and whether some of these have to be stored."""
    definition, keeps, now = queue.definition, queue.keeps, queues.now()
    entries = []
    to_store = False
    last: Peeked | None = None
    for payload, seen in zip(messages, peek_run(messages), strict=True):
        if seen is not last:  # messages of one sender are mostly alike: then `peek_run` returns the same object
            last = seen
            durable, priority, expires, deliver_at, is_told = _circumstances(seen, definition, now)
            offset = NOT_PERSISTENT
            if durable and keeps:
                offset, to_store = NOT_STORED, True
                if queue.storage is None:
                    queue.open_storage()
        if is_told:
            payload = with_durable_and_priority(payload, durable, priority)
        entries.append(Entry(payload, len(payload), priority, expires, deliver_at, now, offset))
    return entries, to_store


def _circumstances(seen: Peeked, definition: QueueDefinition, now: int) -> tuple[bool, int, int, int, bool]:
    """Persistence, priority, expiry, delivery time, and whether the header must be rewritten with the first two.

    Where the message does not say, the defaults of the queue apply.
    """
    durable, priority, ttl, _, _, deliver_at, delay, expires = seen
    is_told = False
    if durable is None:
        durable = is_told = definition.default_persistence
    if priority is None:
        priority = definition.default_priority or STANDARD_PRIORITY
        is_told |= priority != STANDARD_PRIORITY
    if delay:
        deliver_at = now + delay
    if ttl:
        expires = now + ttl
    longest_life = definition.max_ttl_ms
    if longest_life and not 0 < expires <= now + longest_life:
        expires = now + longest_life
    return durable, priority, expires, deliver_at, is_told


def _refusals(queue: AdmittingQueue, messages: Sequence[bytes]) -> dict[int, Refusal]:
    definition, name = queue.definition, queue.name
    if queue.deleted:
        why = Refusal(refusal.DELETED, f"queue {name} has been deleted")
        return dict.fromkeys(range(len(messages)), why)
    if not definition.put_enabled:
        why = Refusal(refusal.NOT_ALLOWED, f"queue {name} is not enabled for puts")
        return dict.fromkeys(range(len(messages)), why)
    refused = {}
    longest = definition.max_message_length
    room = max(0, definition.max_depth - queue.depth)
    for place, message in enumerate(messages):
        if len(message) > longest:
            text = f"queue {name} takes messages of up to {longest} bytes, this one has {len(message)}"
            refused[place] = Refusal(refusal.TOO_LONG, text)
        elif not room:
            text = f"queue {name} is full: it has {max(queue.depth, definition.max_depth)} messages"
            refused[place] = Refusal(refusal.FULL, text)
        else:
            room -= 1
    return refused
