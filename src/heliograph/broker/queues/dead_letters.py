"""Dead letters: moving messages that could not be processed to another queue, with the reason, and back (redrive)."""

from collections import Counter
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Protocol

from heliograph.amqp import Timestamp, UInt
from heliograph.amqp.messages import (
    DEAD_LETTER_COUNT,
    DEAD_LETTER_QUEUE,
    DEAD_LETTER_REASON,
    DEAD_LETTER_TIME,
    UNREADABLE,
    read_message_annotations,
    with_annotations,
    without_annotations,
)
from heliograph.broker.core.queue_definition import DEAD_LETTER_QUEUE as SERVER_DEAD_LETTER_QUEUE
from heliograph.broker.errors import NoSuchQueue, Refusal
from heliograph.broker.queues.admission import admit
from heliograph.broker.queues.consumer import ACCEPTED
from heliograph.broker.queues.entry import NOT_PERSISTENT, NOT_STORED, WAITING, Entry, cost_of
from heliograph.broker.queues.queue import Queue
from heliograph.broker.queues.unit_of_work import LIMIT, UnitOfWork

_OURS = frozenset({DEAD_LETTER_REASON, DEAD_LETTER_QUEUE, DEAD_LETTER_TIME, DEAD_LETTER_COUNT})

_LOOK_AT_ONCE = 20
_MOVE_AT_ONCE = 200
"""Dead letters that are looked at, and sent back, in one step."""


class DeadLetterHost(Protocol):
    """All queues, as far as dead letters need them."""

    dead_letter_queue: str
    """Takes the dead letters of queues that name no other place for them."""

    @property
    def trouble(self) -> Refusal | None:
        """Why no persistent message can be taken at present."""

    def now(self) -> int:
        """Milliseconds since 1970."""

    def find(self, name: str) -> Queue:
        """The queue of this name; NoSuchQueue if there is none."""

    def open_storage(self, queue: Queue) -> None:
        """Give a queue a place for persistent messages in the log, unless it has one."""

    def begin(self, *, limit: int = LIMIT, moves: bool = False) -> UnitOfWork:
        """A new unit of work."""

    def note_defect(self, what: str) -> None:
        """Something unexpected has been raised, and is being handled."""


def move_to_dead_letters(
    queues: DeadLetterHost, queue: Queue, entries: list[Entry], reason: str, *, backed_out: bool
) -> bool:
    """Move locked messages to the dead-letter queue of their queue; False if there is none for them now."""
    target = _place_for_dead_letters(queues, queue, len(entries), backed_out=backed_out)
    if target is None or queues.trouble is not None or queue.fetch(entries) is None:
        return False
    now = queues.now()
    letters = []
    for entry in entries:
        assert entry.payload is not None
        written = {
            DEAD_LETTER_REASON: reason,
            DEAD_LETTER_QUEUE: queue.name,
            DEAD_LETTER_TIME: Timestamp(now),
            DEAD_LETTER_COUNT: UInt(entry.deliveries),
        }
        try:
            payload = with_annotations(entry.payload, written)
        except UNREADABLE:  # perhaps it was rejected because it is malformed: move it as it is
            payload = entry.payload
        offset = NOT_PERSISTENT
        if entry.offset >= 0 and target.keeps:
            offset = NOT_STORED
            queues.open_storage(target)
        letters.append(Entry(payload, len(payload), entry.priority, entry.expires, 0, now, offset))
    if not _move(queues, queue, entries, target, letters):
        return False
    queue.counters.dead_lettered += len(entries)
    return True


def _place_for_dead_letters(queues: DeadLetterHost, queue: Queue, number: int, *, backed_out: bool) -> Queue | None:
    """The backout queue for messages that failed too often, else the queue's dead-letter queue, else the server's."""
    definition = queue.definition
    names = [definition.backout_queue] if backed_out else []
    for name in [*names, definition.dead_letter_queue, queues.dead_letter_queue]:
        try:
            found = queues.find(name) if name else None
        except NoSuchQueue:
            continue
        if found is not None and found is not queue and _is_for_all(found) and found.takes(number):
            return found
    # The last resort takes everything, full or not: otherwise messages would be lost or redelivered for ever.
    last = queues.find(SERVER_DEAD_LETTER_QUEUE)
    return None if last is queue else last


def _is_for_all(queue: Queue) -> bool:
    """Whether it belongs to no client: temporary queues and subscriptions must not get messages of others."""
    return not (queue.definition.temporary or queue.definition.internal)


def _move(queues: DeadLetterHost, queue: Queue, entries: list[Entry], to: Queue, copies: list[Entry]) -> bool:
    """Move locked messages to another queue, in one unit of work; False if they stay locked."""
    work = queues.begin(limit=max(LIMIT, 2 * len(entries)), moves=True)
    work.add_puts(to, copies)
    to.note_put(copies, cost_of(copies))
    work.add_settled(queue, entries, ACCEPTED, None)
    refused: list[Refusal | None] = []
    try:
        work.commit(refused.append)
    except Exception:
        queues.note_defect(f"messages of queue {queue.name} could not be moved to {to.name}")
        return False
    return not any(refused)


# Redrive.


@dataclass(slots=True)
class Redriven:
    """The result of a redrive."""

    moved: int = 0
    left: Counter[str] = field(default_factory=Counter)
    """Why some stayed, and how many."""


def redrive(
    queues: DeadLetterHost, queue: Queue, most: int = 0, origin: str = ""
) -> Generator[bool | None, None, Redriven]:
    """Send dead letters back to their queues, oldest first, at most `most` (0: all), and only those from `origin`.

    The annotations of dead letters are removed, and failed deliveries are counted from 0 again.
    """
    yield from queue.load_in_steps()
    result = Redriven()
    if (trouble := queues.trouble) is not None:
        result.left[trouble.text] = queue.waiting
        return result
    by_origin: dict[str, list[tuple[Entry, bytes]]] = {}
    found = 0
    for looked, entry in enumerate(queue.browse(), 1):
        if not looked % _LOOK_AT_ONCE:
            yield None
        if entry.state != WAITING or queue.fetch([entry]) is None:  # taken by a consumer in a turn in between
            continue
        assert entry.payload is not None
        try:
            name = read_message_annotations(entry.payload).get(DEAD_LETTER_QUEUE)
            payload = without_annotations(entry.payload, _OURS)
        except UNREADABLE:
            name, payload = None, entry.payload
        if origin and name != origin:
            continue
        if not isinstance(name, str):
            result.left["it does not say where it came from"] += 1
            continue
        by_origin.setdefault(name, []).append((entry, payload))
        found += 1
        if found == most:
            break
    for name, letters in by_origin.items():
        for at in range(0, len(letters), _MOVE_AT_ONCE):
            still_there = [letter for letter in letters[at : at + _MOVE_AT_ONCE] if letter[0].state == WAITING]
            _send_back(queues, queue, name, still_there, result)
            yield None
    return result


def _send_back(
    queues: DeadLetterHost, queue: Queue, name: str, letters: list[tuple[Entry, bytes]], result: Redriven
) -> None:
    try:
        home = queues.find(name)
    except NoSuchQueue as missing:
        result.left[missing.refusal.text] += len(letters)
        return
    copies, refused = admit(home, [payload for _, payload in letters], queues)
    for why in refused.values():
        result.left[why.text] += 1
    entries = [entry for place, (entry, _) in enumerate(letters) if place not in refused]
    for copy, entry in zip(copies, entries, strict=True):
        if entry.offset >= 0 and home.keeps:
            copy.offset = NOT_STORED
            queues.open_storage(home)
    if entries:
        queue.lock(entries)
        if _move(queues, queue, entries, home, copies):
            result.moved += len(entries)
        else:
            queue.unlock(entries)
            result.left["they could not be moved"] += len(entries)
