"""All queues of a broker: their names, what they are, and what happens to all of them.

Theory of operation
1. A name stands for a queue, an alias or a model (`definition`). Only a queue has messages (`find`). What is defined is
   in the log, but for temporary queues: these go with their creator.
2. Persistent messages gather in `writes` until the turn ends, and are shown to consumers when it is safe. All others
   are shown at once (`place`). A queue gets its place in the log with its first persistent message (`open_storage`).
3. A queue in which something may be handed out is *awake*. At the end of the turn (`end_turn`), and whenever more is
   safe, what is there is handed out; of very many queues, some later. Then writes go to the log, with what was settled
   meanwhile. Nothing that consumers do there may wait for another turn unseen: what wakes a queue again is handed out
   in the same turn.
4. Consumers that choose share one slice of time for each turn (`may_look`).
5. After a restart nothing is known of messages in the log. Whoever first looks into a queue has them loaded, for all
   queues at once, in slices (`loading`); meanwhile the log must not be compacted, for messages would move.
6. Queues know their neighbours only through this object; it knows bindings by a protocol (`QueueBindings`).
"""

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
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
from heliograph.broker.core.slices import SLICE, Steps
from heliograph.broker.core.timers import Timer
from heliograph.broker.queues import refusal
from heliograph.broker.queues.admission import Pattern, admit, unfit_for_all
from heliograph.broker.queues.dead_letters import move_to_dead_letters
from heliograph.broker.queues.entry import NOT_STORED, Entry, cost_of
from heliograph.broker.queues.loading import Loading
from heliograph.broker.queues.queue import Queue
from heliograph.broker.queues.queue_contents import QueueContents
from heliograph.broker.queues.queue_storage import Memory, QueueStorage
from heliograph.broker.queues.queue_writes import PutRuns, QueueWrites
from heliograph.broker.queues.refusal import STORED, TAKEN, NoSuchQueue, Put, Refusal, Refused
from heliograph.broker.queues.statistics import UnitOfWorkCounters
from heliograph.broker.queues.unit_of_work import LIMIT, UnitOfWork
from heliograph.broker.storage import record_kinds
from heliograph.broker.storage.queue_records import DELIVERIES_ROW, QueueRecords, queue_gone_record, queue_record
from heliograph.broker.storage.store import Store
from heliograph.broker.storage.turn import Turn
from heliograph.errors import Problem
from heliograph.log import ApplicationRecord, Cursor, Record

_QUEUE_COST = 5_000
"""Bytes of memory that a queue takes, its name aside."""

_HANDED_OUT_AT_ONCE = 500
"""Queues whose messages are handed out before it is seen how long others have waited."""

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
    """A binding, as far as the log has to know of it."""

    def fact(self) -> dict[str, Any]:
        """What the log is told of it."""


class QueueBindings(Protocol):
    """What queues are bound to."""

    def of(self, queue: Queue) -> Sequence[BindingOf]:
        """The bindings of a queue."""

    def forget(self, queue: Queue) -> None:
        """A queue is no more."""

    def restore(self, queue: Queue, facts: Sequence[dict[str, Any]]) -> None:
        """Bind a queue that was found in the log to what it was bound to."""


class Queues:
    """`broker.queues`. Definitions, and persistent messages, are in the log and are there again after a restart."""

    bindings: QueueBindings
    """To be set before there are queues."""

    def __init__(self, services: Services, turn: Turn, store: Store | None) -> None:
        self._services = services
        self._turn = turn
        self._store = store
        self._definitions: dict[str, QueueDefinition] = {}
        self._queues: dict[str, Queue] = {}
        self._by_creator: dict[object, dict[Queue, None]] = {}
        self._awake: dict[QueueContents, None] = {}
        self._shown: list[tuple[Queue, list[Entry]]] = []
        self._look_until = 0.0
        """Until when consumers may look for what they want in this turn; 0 if none has begun."""
        self.loading: Loading | None = None
        """While queues get to know what is in the log. It is not changed meanwhile, only added to."""
        self.memory = Memory(services.memory.account("queues", "persistent messages"))
        self.works = UnitOfWorkCounters()
        self.committing = False
        """Whether a unit of work is being written: nobody may see anything of it before all of it is safe."""
        self.dead_letter_queue = DEAD_LETTER_QUEUE
        """Takes the dead letters of queues that name no other place for them."""
        self.created_on_demand: Sequence[str] = ()
        """Patterns for the names of queues that are made when a client first uses them."""
        self.writes = QueueWrites(store, turn.held) if store is not None else None
        """Where persistent messages go; None for a broker that keeps everything in memory."""

    # What there is

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
        """What is defined under a name, an alias or model as such; NoSuchQueue if nothing is."""
        if name not in self._definitions:
            raise NoSuchQueue(name)
        return self._definitions[name]

    def is_defined(self, name: str) -> bool:
        """Whether something is defined under a name."""
        return name in self._definitions

    def definitions(self, *, internal: bool = False) -> list[QueueDefinition]:
        """All that is defined, by name; the server's own queues only if asked for."""
        found = [self._definitions[name] for name in sorted(self._definitions)]
        return found if internal else [one for one in found if not one.internal]

    def all(self) -> list[Queue]:
        """All queues that have messages of their own: no aliases, no models."""
        return list(self._queues.values())

    def is_servers(self, queue: Queue) -> bool:
        """Whether a queue is there for the server's own use: for dead letters."""
        return queue.name in _SYSTEM_NAMES or queue.name == self.dead_letter_queue

    # Changes

    def define(self, definition: QueueDefinition, *, creator: object = None) -> Queue | None:
        """Make a queue (which is returned), alias or model; Refused (`amqp:precondition-failed`) if the name is taken.

        A temporary queue goes with its creator (see `creator_gone`).
        """
        name = definition.name
        if name in self._definitions:
            raise Refused(refusal.PRECONDITION, f"there is a queue {name} already")
        if definition.temporary and definition.kind is QueueKind.LOCAL and creator is None:
            raise Problem(f"queue {name}: expected a creator for a temporary queue to go with, found none")
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
        if self.writes is not None and (fact := self._fact(definition)):
            self.writes.ledger.append_record(*fact)

    def _fact(self, definition: QueueDefinition) -> ApplicationRecord | None:
        if definition.temporary and definition.kind is QueueKind.LOCAL:
            return None
        queue = self._queues.get(definition.name)
        if queue is None:
            return queue_record(definition, 0, [])
        bindings = [binding.fact() for binding in self.bindings.of(queue)]
        return queue_record(definition, queue.storage.cursor.number if queue.storage else 0, bindings)

    def note(self, queue: Queue) -> None:
        """What the log has to know of a queue has changed."""
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
        """See to it that there is a queue, alias or model with these attributes: made, changed or left as it is."""
        known = self._definitions.get(definition.name)
        if known is None:
            self.define(definition)
        elif known != definition:
            self.alter(definition.name, **{f: getattr(definition, f) for f in definition.__slots__ if f != "name"})

    def delete(self, name: str, *, purge: bool = True) -> int:
        """Forget what is defined under a name, messages and all; how many of those there were.

        Without `purge`, a queue that has messages is refused. Consumers are told by `ended`.
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
            self._end(queue)  # its cursor goes last: there must never be a queue without the one it says it has
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
        """Refused if there are so many queues that clients get no more."""
        most = self._services.limits.queues
        if len(self._queues) >= most:
            raise Refused(refusal.FULL, f"there are {len(self._queues)} queues, and clients get no more than {most}")

    def create_dynamic(self, model: str, creator: object, name: str = "") -> Queue:
        """Make a queue after a model, with a name that nobody has: `name` is what it begins with."""
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
        """Forget the temporary queues of somebody who has gone."""
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
            # Queues that make the same of the messages share a record, and what is found out about them.
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
        """Show messages that need not be stored, and gather the others; whether there are any of those.

        The same ones have to be stored for all queues.
        """
        first = next(iter(runs.values()))
        if len(first) == 1:  # as with each message that comes on its own
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

    def load(self, queue: QueueContents) -> bool:
        """Get to know what is in the log for queues that nobody has looked into; whether this one is known now.

        Others are served meanwhile. Consumers of the queue are called when it is known.
        """
        assert self.writes is not None
        assert queue.storage is not None
        if self.loading is not None:
            self.loading.wanted[queue] = None
            return False
        unknown = [one for one in self._queues.values() if one.storage is not None and not one.storage.loaded]
        loading = self.loading = Loading(self.writes.ledger, self.memory, unknown)
        loading.wanted[queue] = None
        self._services.slices.begin(loading, self._load(loading), partial(self._look_further, loading))
        return queue.storage.loaded

    def _load(self, loading: Loading) -> Steps:
        try:
            for step in loading.steps():
                gc.freeze()  # the collector does not have to look at all these entries again and again
                yield step
        except Problem as problem:
            for queue in loading.wanted:
                self.unreadable(queue, str(problem))
        finally:
            self.loading = None

    def _look_further(self, loading: Loading) -> None:
        for queue in loading.wanted:
            if queue.storage is not None and queue.storage.loaded:  # or it would be tried again and again
                queue.look_further()

    def unreadable(self, queue: QueueContents, why: str) -> None:
        """Messages of a queue cannot be read back."""
        self._services.journal.unreadable(f"queue {queue.name}", why)

    def move_to_dead_letters(self, queue: Queue, entries: list[Entry], reason: str, *, backed_out: bool) -> bool:
        """See `dead_letters.move_to_dead_letters`."""
        return move_to_dead_letters(self, queue, entries, reason, backed_out=backed_out)

    def cursors(self) -> Iterator[Cursor]:
        """Where the messages of queues are in the log."""
        for queue in self._queues.values():
            if queue.storage is not None:
                yield queue.storage.cursor

    def note_defect(self, what: str) -> None:
        """Something unexpected has been raised, and is being handled."""
        self._services.defects.note(what)

    # Time and turns

    def now(self) -> int:
        """Milliseconds since 1970."""
        return int(self._services.wall() * 1000)

    def set_timer(self, when: int, action: Callable[[], None]) -> Timer:
        """Do something at a time in milliseconds since 1970."""
        services = self._services
        return services.timers.at(services.now() + (when - self.now()) / 1000, lambda _: action())

    def wake(self, queue: QueueContents) -> None:
        """There may be something to hand out at the end of the turn."""
        self._awake[queue] = None

    @property
    def awake(self) -> int:
        """How many queues may have something to hand out at the end of the turn."""
        return len(self._awake)

    def hand_out(self) -> None:
        """Give what there is in queues to those who want it; where there are very many, not in one turn."""
        until = 0.0
        while self._awake:
            awake, self._awake = list(self._awake), {}
            if not until and len(awake) >= _HANDED_OUT_AT_ONCE:
                until = self._services.now() + SLICE
            given = self._hand_out_of(awake, until)
            if given < len(awake):
                self._awake = dict.fromkeys(awake[given:]) | self._awake
                self.do_later(self, lambda: None)  # at the end of that turn it goes on
                break
        if self._shown:
            shown, self._shown = self._shown, []
            for queue, entries in shown:
                queue.let_go(entries)

    def _hand_out_of(self, queues: list[QueueContents], until: float) -> int:
        """Give what there is in these queues to those who want it, as long as there is time; of how many it was."""
        for number, queue in enumerate(queues, 1):
            try:
                queue.hand_out()
            except Exception:
                self.note_defect(f"messages of queue {queue.name} could not be handed out")
            if not number % _HANDED_OUT_AT_ONCE and self._services.now() > until:
                return number
        return len(queues)

    def may_look(self) -> bool:
        """Whether there is time left in this turn for those who choose among messages."""
        now = self._services.now()
        if not self._look_until:
            self._look_until = now + SLICE
        return now <= self._look_until

    def do_later(self, owner: object, action: Callable[[], None]) -> None:
        """Do this in another turn, once however often it is asked for."""
        slices = self._services.slices
        if not slices.is_working(owner):
            slices.later(owner, action)

    def do_in_slices(self, owner: object, steps: Steps) -> None:
        """Do this bit by bit."""
        self._services.slices.begin(owner, steps, lambda: None)

    def note_shown(self, queue: Queue, entries: list[Entry]) -> None:
        """Persistent messages that anybody may have now: if nobody takes them, they may have to leave memory."""
        self._shown.append((queue, entries))

    def end_turn(self) -> None:
        """Hand out what is there, and give what has gathered to the log. The broker calls it."""
        if self._awake or self._shown:
            self._look_until = 0.0
            self.hand_out()
        self._look_until = 0.0
        if self.writes is not None:
            if self.writes.ledger.halted:
                self.writes.forget_puts()
            else:
                self.writes.flush()

    def when_safe(self, action: Callable[[], None]) -> None:
        """Do this when the turn is safe."""
        assert self._store is not None
        self._turn.held.when_safe(action)

    def together(self) -> AbstractContextManager[None]:
        """All that is stored within is there after a crash, or nothing of it."""
        assert self._store is not None
        return self._turn.together()

    @property
    def trouble(self) -> Refusal | None:
        """Why no persistent message can be taken at present."""
        store = self._store
        if store is None or not store.trouble:
            return None
        text = f"messages cannot be stored at present: {store.trouble}"
        return Refusal(refusal.FULL if store.disk_full else refusal.INTERNAL, text)

    # Restarts

    def all_records(self) -> Iterator[ApplicationRecord]:
        """All that the log has to know, messages aside; the broker may go on meanwhile."""
        for name in list(self._definitions):
            definition = self._definitions.get(name)
            if definition is None or (fact := self._fact(definition)) is None:
                continue
            yield fact
            queue = self._queues.get(name)
            if queue is not None and queue.storage is not None and queue.storage.failed:
                rows = [DELIVERIES_ROW.pack(queue.storage.cursor.number, *row) for row in queue.storage.failed.items()]
                yield record_kinds.DELIVERIES, b"".join(rows)

    def recover(self, found: QueueRecords, failed: Callable[[Record, Exception], None]) -> set[int]:
        """Take up the queues that the log tells of; the numbers of their cursors. `failed` gets the ones that fail."""
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
                raise Problem(f"expected cursor {number} with its messages, found none")
            storage = QueueStorage(self.writes, cursor, self.memory, found.failed(cursor))
        queue = self._queues[name] = Queue(self, definition, storage)
        self.bindings.restore(queue, found.bindings(name))
        return {number} if number else set()

    def open(self, declared: Sequence[QueueDefinition]) -> None:
        """See to it that the server's own queues are there, and those of the configuration."""
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
            raise Problem(f"expected a local queue for dead letters, found {name} of kind {known.kind}")
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
