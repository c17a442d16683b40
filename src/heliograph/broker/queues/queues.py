"""All queues of a broker: names and definitions, putting to several queues, and recovery.

Theory of operation
1. A name stands for a queue, an alias or a model (`definition`). Only a queue has messages (`find`). Definitions are in
   the log, except those of temporary queues, which are deleted with their creator.
2. Persistent messages gather in `writes` until the turn ends, and become visible to consumers when it is safe. All
   others are visible at once (`place`). A queue gets a cursor with its first persistent message (`open_storage`).
3. The work of each turn is in `queue_turns`.
4. Queues know each other only through this object. It knows bindings by a protocol (`QueueBindings`).
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Protocol

from heliograph.broker.core.memory import Account
from heliograph.broker.core.queue_definition import (
    DEAD_LETTER_QUEUE,
    MOST_MESSAGES,
    TEMPORARY_MODEL,
    QueueDefinition,
    QueueKind,
)
from heliograph.broker.core.services import Services
from heliograph.broker.errors import InvalidQueue, MalformedObject, NoSuchQueue, Refused
from heliograph.broker.queues import refusal
from heliograph.broker.queues.admission import Pattern, admit, unfit_for_all
from heliograph.broker.queues.dead_letters import move_to_dead_letters
from heliograph.broker.queues.entry import NOT_STORED, Entry, cost_of
from heliograph.broker.queues.queue import Queue
from heliograph.broker.queues.queue_storage import QueueStorage
from heliograph.broker.queues.queue_turns import QueueTurns
from heliograph.broker.queues.queue_writes import PutRuns
from heliograph.broker.queues.refusal import STORED, TAKEN, Put
from heliograph.broker.queues.statistics import UnitOfWorkCounters
from heliograph.broker.queues.unit_of_work import LIMIT, UnitOfWork
from heliograph.broker.storage import record_kinds
from heliograph.broker.storage.queue_records import DELIVERIES_ROW, QueueRecords, queue_gone_record, queue_record
from heliograph.broker.storage.store import Store
from heliograph.broker.storage.turn import Turn
from heliograph.log import ApplicationRecord, Cursor, Record

_QUEUE_COST = 5_000
"""Bytes of memory that a queue takes, without its name."""

SYSTEM_QUEUES = (
    QueueDefinition(
        DEAD_LETTER_QUEUE,
        description="messages that nobody could use",
        max_depth=MOST_MESSAGES,
        max_message_length=256 << 20,
    ),
    QueueDefinition(
        TEMPORARY_MODEL, QueueKind.MODEL, description="what temporary queues are made after", temporary=True
    ),
)


_SYSTEM_NAMES = {one.name for one in SYSTEM_QUEUES}


class BindingOf(Protocol):
    """A binding, as far as the record of its queue needs it."""

    def fields(self) -> dict[str, Any]:
        """Its form in the record of the queue."""


class QueueBindings(Protocol):
    """What queues are bound to."""

    def of(self, queue: Queue) -> Sequence[BindingOf]:
        """The bindings of a queue."""

    def forget(self, queue: Queue) -> None:
        """Remove all bindings of a queue that was deleted."""

    def restore(self, queue: Queue, facts: Sequence[dict[str, Any]]) -> None:
        """Restore the bindings of a queue that was found in the log."""


class Queues(QueueTurns):
    """`broker.queues`. Definitions, and persistent messages, are in the log and are there again after a restart."""

    bindings: QueueBindings
    """To be set before there are queues."""

    def __init__(self, services: Services, turn: Turn, store: Store | None) -> None:
        super().__init__(services, turn, store)
        self._definitions: dict[str, QueueDefinition] = {}
        self._by_creator: dict[object, dict[Queue, None]] = {}
        self.works = UnitOfWorkCounters()
        self.committing = False
        """Whether a unit of work is being written: nothing of it may become visible before all of it is safe."""
        self.dead_letter_queue = DEAD_LETTER_QUEUE
        """The dead-letter queue of queues that name no other."""
        self.created_on_demand: Sequence[str] = ()
        """Patterns for the names of queues that are made when a client first uses them."""

    # Looking up.

    def find(self, name: str) -> Queue:
        """The queue of this name, or behind this alias; NoSuchQueue if there is none, or it is a model."""
        queue = self._queues.get(name)
        if queue is None:
            definition = self._definitions.get(name)
            if definition is not None and definition.kind is QueueKind.ALIAS:
                queue = self._queues.get(definition.target)
            if queue is None:
                raise NoSuchQueue(name)
        return queue

    def definition(self, name: str) -> QueueDefinition:
        """The definition of a name, which may be an alias or model; NoSuchQueue if there is none."""
        if name not in self._definitions:
            raise NoSuchQueue(name)
        return self._definitions[name]

    def is_defined(self, name: str) -> bool:
        """Whether something is defined under a name."""
        return name in self._definitions

    def definitions(self, *, internal: bool = False) -> list[QueueDefinition]:
        """All definitions, sorted by name; with `internal`, those of the server's own queues too."""
        found = [self._definitions[name] for name in sorted(self._definitions)]
        return found if internal else [one for one in found if not one.internal]

    def all(self) -> list[Queue]:
        """All queues that have messages of their own: no aliases, no models."""
        return list(self._queues.values())

    def is_servers(self, queue: Queue) -> bool:
        """Whether a queue belongs to the server: it is for dead letters."""
        return queue.name in _SYSTEM_NAMES or queue.name == self.dead_letter_queue

    # Changes.

    def define(self, definition: QueueDefinition, *, creator: object = None) -> Queue | None:
        """Make a queue (which is returned), alias or model; Refused (`amqp:precondition-failed`) if the name is taken.

        A temporary queue goes with its creator (see `creator_gone`).
        """
        name = definition.name
        if name in self._definitions:
            raise Refused(refusal.PRECONDITION, f"there is a queue {name} already")
        if definition.temporary and definition.kind is QueueKind.LOCAL and creator is None:
            raise InvalidQueue(f"queue {name}: expected a creator for a temporary queue to go with, found none")
        if not self._services.memory.takes_newcomers(_QUEUE_COST + 2 * len(name)):
            raise Refused(refusal.FULL, f"there is no memory for queue {name}")
        self._definitions[name] = definition
        queue = None
        if definition.kind is QueueKind.LOCAL:
            queue = self._queues[name] = Queue(self, definition, None, creator)
            if definition.temporary:
                self._by_creator.setdefault(creator, {})[queue] = None
        self._note(definition)
        return queue

    def account_for(self, name: str) -> Account:
        """The account of a new queue, charged for the queue itself."""
        account = self._services.memory.account("queue", name)
        account.add(_QUEUE_COST + 2 * len(name))
        return account

    def open_storage(self, queue: Queue) -> None:
        """A queue gets persistent messages: give it a place for them in the log, unless it has one."""
        if queue.storage is None:
            assert self.writes is not None
            queue.storage = QueueStorage(self.writes, self.writes.ledger.new_cursor(), self.memory)
            self._note(queue.definition)

    def _note(self, definition: QueueDefinition) -> None:
        if self.writes is not None and (fact := self._record(definition)):
            self.writes.ledger.append_record(*fact)

    def _record(self, definition: QueueDefinition) -> ApplicationRecord | None:
        if definition.temporary and definition.kind is QueueKind.LOCAL:
            return None
        queue = self._queues.get(definition.name)
        if queue is None:
            return queue_record(definition, 0, [])
        bindings = [binding.fields() for binding in self.bindings.of(queue)]
        return queue_record(definition, queue.storage.cursor.number if queue.storage else 0, bindings)

    def note(self, queue: Queue) -> None:
        """Write the record of a queue, because something in it has changed."""
        self._note(queue.definition)

    def alter(self, name: str, **changes: Any) -> QueueDefinition:
        """Change attributes; a Problem if they make no sense, Refused if they cannot be changed now."""
        before = self.definition(name)
        definition = before.replace(**changes)
        for field in ("name", "kind", "temporary"):
            if getattr(before, field) != getattr(definition, field):
                raise Refused(refusal.NOT_ALLOWED, f"queue {name}: {field} cannot be changed")
        queue = self._queues.get(name)
        if queue is not None:
            if definition.order is not before.order and queue.depth:
                raise Refused(refusal.NOT_ALLOWED, f"queue {name}: order can be changed only while it is empty")
            queue.alter(definition)
        self._definitions[name] = definition
        self._note(definition)
        return definition

    def declare(self, definition: QueueDefinition) -> None:
        """Make or change a queue, alias or model so that it has these attributes."""
        known = self._definitions.get(definition.name)
        if known is None:
            self.define(definition)
        elif known != definition:
            self.alter(definition.name, **{f: getattr(definition, f) for f in definition.__slots__ if f != "name"})

    def delete(self, name: str, *, purge: bool = True) -> int:
        """Delete a definition, with its messages. Returns how many messages there were.

        Without `purge`, a queue that has messages is refused. `ended` is called for its consumers.
        """
        definition = self.definition(name)
        if name in _SYSTEM_NAMES:
            raise Refused(refusal.NOT_ALLOWED, f"queue {name} belongs to the server")
        queue = self._queues.get(name)
        depth = queue.depth if queue is not None else 0
        if depth and not purge:
            raise Refused(refusal.PRECONDITION, f"queue {name} has {depth} messages")
        del self._definitions[name]
        if self.writes is not None and not (definition.temporary and definition.kind is QueueKind.LOCAL):
            self.writes.ledger.append_record(*queue_gone_record(name))
        if queue is not None:
            self._end(queue)  # its cursor is dropped last: the log must never have a queue whose cursor is missing
        return depth

    def _end(self, queue: Queue) -> None:
        del self._queues[queue.name]
        self.bindings.forget(queue)
        self._awake.pop(queue, None)
        if queue.creator is not None and (made := self._by_creator.get(queue.creator)):
            made.pop(queue, None)
            if not made:
                del self._by_creator[queue.creator]
        queue.end()
        if self.writes is not None and queue.storage is not None:
            self.writes.ledger.drop_cursor(queue.storage.cursor)

    def check_room(self) -> None:
        """Refused if the limit of queues for clients is reached."""
        most = self._services.limits.queues
        if len(self._queues) >= most:
            raise Refused(refusal.FULL, f"there are {len(self._queues)} queues, and clients get no more than {most}")

    def create_dynamic(self, model: str, creator: object, name: str = "") -> Queue:
        """Make a queue after a model, with a unique name that begins with `name`."""
        after = self.definition(model)
        if after.kind is not QueueKind.MODEL:
            raise Refused(refusal.NOT_ALLOWED, f"queue {model} is no model")
        self.check_room()
        prefix = (name or "DYNAMIC")[:30]
        while (full := f"{prefix}.{self._services.new_identifier().upper()}") in self._definitions:
            pass
        queue = self.define(after.replace(name=full, kind=QueueKind.LOCAL), creator=creator)
        assert queue is not None
        return queue

    def creator_gone(self, creator: object) -> None:
        """Delete the temporary queues of a creator that is gone."""
        for queue in list(self._by_creator.get(creator, ())):
            self.delete(queue.name)

    # Messages

    def put(self, queues: Sequence[Queue], messages: Sequence[bytes], *, patient: bool = False) -> list[Put]:
        """Put the same messages into several queues; a body is stored once. One answer for each queue."""
        if len(queues) == 1:
            return [queues[0].put(messages, patient=patient)]
        answers = []
        alike: dict[tuple[object, ...], PutRuns] = {}
        patterns: dict[tuple[object, ...], Pattern] = {}
        unfit = unfit_for_all(messages)
        for queue in queues:
            # Queues with the same defaults share a record, and the work of making entries.
            definition = queue.definition
            same = (definition.default_persistence, definition.default_priority, definition.max_ttl, queue.keeps)
            pattern = patterns.get(same)
            if pattern is not None and pattern.fits(queue):
                entries = pattern.entries()
                queue.note_put(entries, pattern.cost)
                answers.append(STORED if pattern.stored else TAKEN)
                alike[same][queue] = entries
                continue
            entries, refused = admit(queue, messages, self, patient=patient, unfit=unfit)
            queue.note_put(entries, cost_of(entries))
            if not refused:
                pattern = patterns[same] = Pattern(entries)
            stored = any(entry.offset == NOT_STORED for entry in entries)
            answers.append(Put(refused, stored))
            if entries:
                alike.setdefault((*same, *refused), {})[queue] = entries
        for runs in alike.values():
            self.place(runs)
        return answers

    def place(self, runs: PutRuns) -> bool:
        """Make messages visible that need not be stored, and gather the others. Returns whether there are others.

        The same messages must be persistent for all queues.
        """
        first = next(iter(runs.values()))
        if len(first) == 1:  # fast path for single messages
            number = 1 if first[0].offset == NOT_STORED else 0
        else:
            number = sum([entry.offset == NOT_STORED for entry in first])
        if number < len(first):
            for queue, entries in runs.items():
                others = [entry for entry in entries if entry.offset != NOT_STORED] if number else entries
                if self.committing:
                    self.when_safe(partial(queue.show, others))
                else:
                    queue.show(others)
        if not number:
            return False
        assert self.writes is not None
        if number < len(first):
            runs = {
                queue: [entry for entry in entries if entry.offset == NOT_STORED] for queue, entries in runs.items()
            }
        self.writes.put(runs)
        return True

    def begin(self, *, limit: int = LIMIT, moves: bool = False, account: Account | None = None) -> UnitOfWork:
        """A new unit of work; what it has to keep is charged to an account. Refused if there is no memory for it."""
        return UnitOfWork(self, limit, moves=moves, account=account)

    def move_to_dead_letters(self, queue: Queue, entries: list[Entry], reason: str, *, backed_out: bool) -> bool:
        """See `dead_letters.move_to_dead_letters`."""
        return move_to_dead_letters(self, queue, entries, reason, backed_out=backed_out)

    def cursors(self) -> Iterator[Cursor]:
        """The cursors of all queues."""
        for queue in self._queues.values():
            if queue.storage is not None:
                yield queue.storage.cursor

    # Restarts.

    def all_records(self) -> Iterator[ApplicationRecord]:
        """The records of all queues for a checkpoint, without messages. Queues may change between two of them."""
        for name in list(self._definitions):
            definition = self._definitions.get(name)
            if definition is None or (fact := self._record(definition)) is None:
                continue
            yield fact
            queue = self._queues.get(name)
            if queue is not None and queue.storage is not None and queue.storage.failed:
                rows = [DELIVERIES_ROW.pack(queue.storage.cursor.number, *row) for row in queue.storage.failed.items()]
                yield record_kinds.DELIVERIES, b"".join(rows)

    def recover(self, found: QueueRecords, failed: Callable[[Record, Exception], None]) -> set[int]:
        """Open the queues found in the log. Returns the numbers of their cursors; failures are passed to `failed`."""
        owned = set()
        for name in found.names():
            try:
                owned |= self._recover(name, found)
            except Exception as error:
                if queue := self._queues.pop(name, None):
                    self.bindings.forget(queue)
                self._definitions.pop(name, None)
                failed(found.records[name], error)
                found.forget(name)
        return owned

    def _recover(self, name: str, found: QueueRecords) -> set[int]:
        assert self.writes is not None
        definition, number = found.definition(name)
        self._definitions[name] = definition
        if definition.kind is not QueueKind.LOCAL:
            return set()
        storage = None
        if number:
            cursor = self.writes.ledger.cursors.get(number)
            if cursor is None:
                raise MalformedObject(f"expected cursor {number} with its messages, found none")
            storage = QueueStorage(self.writes, cursor, self.memory, found.failed(cursor))
        queue = self._queues[name] = Queue(self, definition, storage)
        self.bindings.restore(queue, found.bindings(name))
        return {number} if number else set()

    def open(self, declared: Sequence[QueueDefinition]) -> None:
        """Make the server's own queues and those of the configuration, unless they exist."""
        for definition in SYSTEM_QUEUES:
            if definition.name not in self._definitions:
                self.define(definition)
        for definition in declared:
            self.declare(definition)

    def open_dead_letter_queue(self, name: str) -> None:
        """Have dead letters go to this queue, which is made if it is not there; a Problem if it cannot be one.

        In place of the queue that is always there, an administrator may have chosen another (`send_dead_letters`).
        """
        known = self._definitions.get(name)
        if known is not None and known.kind is not QueueKind.LOCAL:
            raise InvalidQueue(f"expected a local queue for dead letters, found {name} of kind {known.kind}")
        if known is None:
            self.define(SYSTEM_QUEUES[0].replace(name=name))
        self.dead_letter_queue = name
        chosen = self._definitions[DEAD_LETTER_QUEUE].dead_letter_queue if name == DEAD_LETTER_QUEUE else ""
        if chosen in self._queues:
            self.dead_letter_queue = chosen

    def send_dead_letters(self, name: str) -> None:
        """Have dead letters go to this queue, after a restart as well; "" is the queue that is always there.

        It is remembered as the place for dead letters of that queue.
        """
        if name in {"", DEAD_LETTER_QUEUE}:
            name = DEAD_LETTER_QUEUE
        elif self.find(name).definition.temporary or self.find(name).definition.internal:
            raise Refused(refusal.NOT_ALLOWED, f"queue {name} belongs to a client")
        name = self.find(name).name
        self.alter(DEAD_LETTER_QUEUE, dead_letter_queue="" if name == DEAD_LETTER_QUEUE else name)
        self.dead_letter_queue = name
