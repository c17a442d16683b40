"""Programs that use queues through Qpid Proton, so that a mistake of our own client cannot hide one of the server."""

import threading
import time
from typing import Any

from proton import Delivery, Endpoint, Message
from proton.handlers import MessagingHandler, TransactionHandler
from proton.reactor import Container, DurableSubscription

from faults.durable_clients import LONG
from faults.queues.clients import DEFECTION, MOMENT
from faults.queues.history import Fate, Put
from faults.queues.world import Notes, Numbers, World, body_of, colour_of, is_topic
from interop.proton_client import Capability

PATIENCE = 0.1
"""Seconds after which a unit of work goes on with fewer messages than it could have."""


class ProtonProgram(threading.Thread):
    """One program: a container for each connection."""

    def __init__(self, name: str, world: World) -> None:
        super().__init__(name=name, daemon=True)
        self.world = world
        self.random = world.random(name)
        self.numbers = Numbers(name)
        self.done = 0
        self.ready = False
        self.crash: BaseException | None = None
        self.ending = threading.Event()

    def end(self) -> None:
        """Close everything in good order."""
        self.ending.set()
        self.join(LONG)

    def conversation(self) -> "Conversation":
        """What is done with one connection."""
        raise AssertionError("each program says what it does")

    def run(self) -> None:
        try:
            while not self.ending.is_set():
                if self.world.up.wait(MOMENT):
                    container = Container(self.conversation())
                    container.container_id = f"proton-{self.name}"
                    container.run()
        except BaseException as crash:
            self.crash = crash
            self.world.news.tell()
            raise


class Conversation(MessagingHandler):
    """One connection. It looks every now and then whether it is to end."""

    def __init__(self, program: Any, **options: Any) -> None:
        super().__init__(**options)
        self.program = program
        self.world: World = program.world
        self.life = self.world.history.life
        self.connection: Any = None
        self.container: Any = None

    def on_start(self, event: Any) -> None:
        self.container = event.container
        self.connection = event.container.connect(self.world.url, reconnect=False, heartbeat=0)
        self.begin()
        self.container.schedule(MOMENT, self)

    def begin(self) -> None:
        """Make the links."""

    def begin_unit(self) -> Notes:
        """Write down what happens from now on."""
        return self.world.unit(self.program.name, self.life)

    def on_connection_opened(self, event: Any) -> None:
        if self.world.history.life != self.life:
            self.connection.close()  # it is not known to which of the two this connection leads

    def on_link_opened(self, event: Any) -> None:
        self.program.ready = True
        self.world.news.tell()

    def on_timer_task(self, event: Any) -> None:
        if self.program.ending.is_set():
            self.connection.close()
        else:
            self.tick()
            self.container.schedule(MOMENT, self)

    def tick(self) -> None:
        """A moment has passed."""

    def on_transport_error(self, event: Any) -> None:
        """The server was killed, or is not there yet."""

    def on_transport_closed(self, event: Any) -> None:
        # Whoever ended it, and how: without this the timer would keep the container going.
        self.lost()
        self.container.stop()

    def lost(self) -> None:
        """The connection is gone."""

    def sender(self, address: str) -> Any:
        option = Capability("topic" if is_topic(address) else "queue")
        return self.container.create_sender(self.connection, address, options=option)


class ProtonMover(ProtonProgram):
    """Gets messages from a queue, if it has one, and puts others elsewhere, in one unit of work."""

    def __init__(self, name: str, world: World, source: str, targets: list[str]) -> None:
        super().__init__(name, world)
        self.source, self.targets = source, targets

    def conversation(self) -> "Conversation":
        return _Moving(self)


class _Moving(Conversation, TransactionHandler):
    program: ProtonMover

    def __init__(self, program: ProtonMover) -> None:
        super().__init__(program, auto_accept=False, prefetch=0)
        self._receiver: Any = None
        self._senders: dict[str, Any] = {}
        self._transaction: Any = None
        self._notes: Notes | None = None
        self._got: list[Delivery] = []
        self._early: list[tuple[Delivery, Message]] = []
        """What came after the end of the unit of work that asked for it."""
        self._wanted = 0
        self._began = 0.0
        self._settles_early = program.random.random() < 0.5

    def begin(self) -> None:
        self._senders = {target: self.sender(target) for target in self.program.targets}
        if self.program.source:
            self._receiver = self.container.create_receiver(self.connection, self.program.source)
        self._declare()

    def _declare(self) -> None:
        self.container.declare_transaction(self.connection, handler=self, settle_before_discharge=self._settles_early)

    def on_transaction_declared(self, event: Any) -> None:
        self._transaction = event.transaction
        self._notes = self.begin_unit()
        self._got = []
        self._wanted = self.program.random.randint(1, 6)
        self._began = time.monotonic()
        early, self._early = self._early, []
        for delivery, message in early:
            self._take(self._notes, delivery, message)
        if self._receiver is not None:
            self._receiver.flow(max(0, self._wanted - len(early) - self._receiver.credit))

    def on_message(self, event: Any) -> None:
        if self._transaction is None or self._notes is None:
            self._early.append((event.delivery, event.message))
        else:
            self._take(self._notes, event.delivery, event.message)
            self._go_on()

    def _take(self, notes: Notes, delivery: Delivery, message: Message) -> None:
        notes.got(self.program.source, message.body, message.delivery_count)
        self._got.append(delivery)

    def tick(self) -> None:
        self._go_on()

    def _go_on(self) -> None:
        """End the unit of work if all is there that was asked for, or has been waited for long enough."""
        if self._transaction is None or self._notes is None:
            return
        late = time.monotonic() > self._began + PATIENCE
        if self._receiver is not None and len(self._got) < self._wanted and not (late and self._got):
            return
        if self._receiver is None and (self.world.finishing.is_set() or not late):
            return
        chosen = [self.program.random.choice(self.program.targets) for _ in range(len(self._got) or self._wanted)]
        if any(self._senders[target].credit < len(chosen) for target in chosen):
            return
        self._end(self._transaction, self._notes, chosen)

    def _end(self, transaction: Any, notes: Notes, targets: list[str]) -> None:
        for delivery in self._got:
            transaction.accept(delivery)
        for target in targets:
            put = self.program.numbers.next(target)
            notes.put(put)
            transaction.send(self._senders[target], message_of(put))
        self._transaction = None
        quiet = self.world.finishing.is_set()
        chance = self.program.random.random()
        if chance < DEFECTION and not quiet:
            notes.unit.deserted = True
            self.connection.close()
        elif chance < 0.2 and not quiet:
            transaction.abort()
        else:
            notes.unit.fate = Fate.IN_DOUBT
            transaction.commit()

    def on_transaction_committed(self, event: Any) -> None:
        self.program.done += 1
        self._over(Fate.DONE)

    def on_transaction_aborted(self, event: Any) -> None:
        self._over(Fate.UNDONE)

    def on_transaction_commit_failed(self, event: Any) -> None:
        self._over(Fate.UNDONE)

    def _over(self, fate: Fate) -> None:
        notes, self._notes = self._notes, None
        assert notes is not None
        notes.end(fate)
        self._declare()

    def lost(self) -> None:
        notes, self._notes = self._notes, None
        if notes is not None:
            notes.unit.blameless = self._transaction is not None  # else all that it got has been accepted in its unit
            notes.end(notes.unit.fate)


class ProtonProducer(ProtonProgram):
    """Sends persistent messages outside of transactions."""

    def __init__(self, name: str, world: World, address: str) -> None:
        super().__init__(name, world)
        self.address = address

    def conversation(self) -> "Conversation":
        return _Sending(self)


class _Sending(Conversation):
    program: ProtonProducer

    def __init__(self, program: ProtonProducer) -> None:
        super().__init__(program)
        self._unsettled: dict[str, Notes] = {}

    def begin(self) -> None:
        self._sender = self.sender(self.program.address)

    def tick(self) -> None:
        if self.world.finishing.is_set():
            return
        for _ in range(min(self._sender.credit, 5)):
            put = self.program.numbers.next(self.program.address)
            notes = self.begin_unit()
            notes.put(put)
            notes.unit.fate = Fate.IN_DOUBT
            self._unsettled[self._sender.send(message_of(put)).tag] = notes

    def on_accepted(self, event: Any) -> None:
        self.program.done += 1
        self._unsettled.pop(event.delivery.tag).end(Fate.DONE)

    def on_rejected(self, event: Any) -> None:
        self._unsettled.pop(event.delivery.tag).end(Fate.UNDONE)

    def on_released(self, event: Any) -> None:
        self._unsettled.pop(event.delivery.tag).end(Fate.UNDONE)

    def lost(self) -> None:
        for notes in self._unsettled.values():
            notes.end(Fate.IN_DOUBT)
        self._unsettled.clear()


class ProtonTaker(ProtonProgram):
    """Accepts what comes from a queue, or from a durable subscription to all topics."""

    def __init__(self, name: str, world: World, address: str, *, place: str = "") -> None:
        super().__init__(name, world)
        self.address, self.place = address, place

    def conversation(self) -> "Conversation":
        return _Taking(self)


class _Taking(Conversation):
    program: ProtonTaker

    def __init__(self, program: ProtonTaker) -> None:
        super().__init__(program, prefetch=20, auto_accept=False)

    def begin(self) -> None:
        address, options = self.program.address, []
        if is_topic(address):
            options = [Capability("topic"), DurableSubscription()]
        self.container.create_receiver(self.connection, address, name=self.program.name, options=options)

    def on_message(self, event: Any) -> None:
        if event.connection.state & Endpoint.LOCAL_CLOSED:
            return  # nothing is sent behind the close: the server will not be told, and gives it to somebody else
        notes = self.begin_unit()
        message = event.message
        notes.got(self.program.place or self.program.address, message.body, message.delivery_count)
        self.program.done += 1
        notes.end(Fate.TOLD)
        self.accept(event.delivery)  # here and nowhere else: nothing is accepted that was not written down


def message_of(put: Put) -> Message:
    return Message(body=body_of(put), durable=put.persistent, properties={"colour": colour_of(put.number)})
