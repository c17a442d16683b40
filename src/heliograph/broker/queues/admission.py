"""What a queue lets in: messages become entries, or are refused one by one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from heliograph.amqp.glance import Glance, glances, with_manner
from heliograph.broker.queues import refusal
from heliograph.broker.queues.definition import STANDARD_PRIORITY, QueueDefinition
from heliograph.broker.queues.entry import ENTRY_COST, NOT_PERSISTENT, NOT_STORED, Entry
from heliograph.broker.queues.message_view import SURELY_FEW_ENTRIES, too_many_entries
from heliograph.broker.queues.refusal import Refusal

if TYPE_CHECKING:
    from heliograph.broker.queues.queue import Queue
    from heliograph.broker.queues.queues import Queues


def admit(
    queue: "Queue", messages: Sequence[bytes], queues: "Queues", *, patient: bool = False
) -> tuple[list[Entry], dict[int, Refusal]]:
    """Make entries of the messages that may come in, and say which may not and why, by their place in the run.

    With `patient`, those that cannot be stored at present may. ProtocolError if one of them is no message.
    """
    definition = queue.definition
    entries = _entries(queue, messages, queues)
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
    if longest > SURELY_FEW_ENTRIES:
        refused |= _with_too_many_entries(messages)
    if not patient and (trouble := queues.trouble) is not None:
        for place, entry in enumerate(entries):
            if entry.offset == NOT_STORED:
                refused.setdefault(place, trouble)
    if refused:
        entries = [entry for place, entry in enumerate(entries) if place not in refused]
        queue.counters.refused += len(refused)
    return entries, refused


def _with_too_many_entries(messages: Sequence[bytes]) -> dict[int, Refusal]:
    return {
        place: Refusal(refusal.NOT_ALLOWED, why)
        for place, message in enumerate(messages)
        if len(message) > SURELY_FEW_ENTRIES and (why := too_many_entries(message))
    }


def _entries(queue: "Queue", messages: Sequence[bytes], queues: "Queues") -> list[Entry]:
    definition, keeps, now = queue.definition, queue.keeps, queues.now()
    entries = []
    last: Glance | None = None
    for payload, seen in zip(messages, glances(messages), strict=True):
        if seen is not last:  # those of one sender are mostly alike
            last = seen
            durable, priority, expires, deliver_at, is_told = _circumstances(seen, definition, now)
            offset = NOT_PERSISTENT
            if durable and keeps:
                offset = NOT_STORED
                if queue.shelf is None:
                    queues.open_shelf(queue)
        if is_told:
            payload = with_manner(payload, durable, priority)
        entries.append(Entry(queue, payload, len(payload), priority, expires, deliver_at, now, offset))
    return entries


def _circumstances(seen: Glance, definition: QueueDefinition, now: int) -> tuple[bool, int, int, int, bool]:
    """Persistence, priority, end of life and time of delivery, and whether its receiver has to be told the first two.

    Where a message does not say, the queue's defaults count.
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
    longest_life = definition.max_ttl
    if longest_life and not 0 < expires <= now + longest_life:
        expires = now + longest_life
    return durable, priority, expires, deliver_at, is_told


def _refusals(queue: "Queue", messages: Sequence[bytes]) -> dict[int, Refusal]:
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
