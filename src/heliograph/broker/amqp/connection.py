"""One AMQP client's connection: bytes in, calls on queues and topics, bytes out. No sockets here.

The engine implements the protocol; this module handles its events. Frames to send gather in the engine, and go to the
outlet once, at the end of the turn.
"""

from collections import deque
from collections.abc import Callable
from functools import partial
from math import isinf
from weakref import WeakKeyDictionary

from heliograph.amqp import (
    Attach,
    Attached,
    Authenticate,
    Begin,
    Begun,
    Closed,
    Detached,
    Ended,
    Error,
    Event,
    Flowed,
    Link,
    Open,
    Opened,
    Session,
    Settled,
    Transfers,
    conditions,
)
from heliograph.amqp import Connection as Engine
from heliograph.broker.amqp.attaching import attach
from heliograph.broker.amqp.host import ESTABLISHMENT_FAILED, AmqpHost, cost_of, error_in_open
from heliograph.broker.amqp.outgoing import Outgoing
from heliograph.broker.amqp.peer import BYTES_AT_ONCE, AmqpPeer
from heliograph.broker.amqp.states import Departure
from heliograph.broker.core.interfaces import Authenticator
from heliograph.broker.core.memory import Hold
from heliograph.broker.core.outlet import Outlet
from heliograph.broker.core.slices import SLICE, Portions, Steps
from heliograph.broker.core.timers import Timer
from heliograph.broker.queues.refusal import Put, PutSteps
from heliograph.mqtt import Reason

_SMALL = 16 << 10
"""Bytes of a client that are handled before the time is looked at."""

# What has come of a message or frame is charged from so many bytes on; less is part of what a connection takes.
_WORTH_CHARGING = 4096


class AmqpConnection(AmqpPeer):
    """The server's end of the conversation with one AMQP client."""

    __slots__ = (
        "_hold",
        "_holds",
        "_last",
        "_parts",
        "_portions",
        "_timer",
        "_unhandled",
        "_waits",
        "authenticator",
        "heard",
        "opened",
        "user",
    )

    def __init__(self, host: AmqpHost, outlet: Outlet, authenticator: Authenticator) -> None:
        super().__init__(host, outlet, Engine(host.options(authenticator), server=True))
        self.authenticator = authenticator
        self.user: str | None = None
        self.opened = False
        self._hold: Hold | None = None
        self._holds: WeakKeyDictionary[Session | Link, Hold] = WeakKeyDictionary()
        self._parts: Hold | None = None
        self.heard = self.broker.now()
        self._last: type[Event] | None = None
        """The client's last event, for log messages."""
        self._portions = Portions(self.broker, _SMALL)
        self._waits = False
        """Other work is done before more bytes of this client are handled."""
        self._unhandled: deque[Callable[[], None]] = deque()
        """Actions that are put off until then."""
        self._timer: Timer | None = self.broker.timers.at(
            self.broker.now() + self.broker.limits.connect_timeout, self._opened_in_time, outlet
        )

    def describe(self) -> dict[str, str]:
        """Who the client is and what it has sent last, for people."""
        return {"client": self.container_id, "protocol": "AMQP 1.0", "sent": self._last.__name__ if self._last else ""}

    # Bytes in

    def receive(self, data: bytes) -> None:
        """Bytes have come from the client."""
        if self.ended:
            return
        self.heard = self.broker.now()
        if len(data) <= _SMALL and self._portions.waiting is None:
            self.take_portion(data)
        else:
            self._portions.take(data, self)

    def take_portion(self, data: bytes) -> bool:
        """Take what there is time for; whether more is wanted."""
        engine = self.engine
        self._handle(engine.receive(data, self.heard))
        if engine.unfinished or engine.rest.size or self._parts is not None:
            self._charge_parts(engine.waiting)
        return not self.ended

    def have_taken(self) -> None:
        """Nothing to do at the end of the portions of a turn."""

    def _charge_parts(self, size: int) -> None:
        """Charge memory for `size` bytes of incomplete frames and messages."""
        if size < _WORTH_CHARGING:
            self._parts = None
        elif self._parts is None:
            self._parts = self.account.hold(size)
            if self._parts is None:
                self._end_for_want_of_memory()
        elif not self._parts.size // 2 <= size <= self._parts.size and not self._parts.set(size):
            self._end_for_want_of_memory()

    def _charge(self, what: Session | Link, began: Begin | Attach | None) -> bool:
        """Charge a session or link for as long as the engine has it. Returns whether there is room."""
        hold = self._holds[what] = Hold(self.account)
        if began is None or hold.set(cost_of(began)):
            return True
        self._end_for_want_of_memory()
        return False

    def _end_for_want_of_memory(self) -> None:
        text = "there is no memory for what this client makes the server keep"
        self._end(Error(condition=conditions.RESOURCE_LIMIT_EXCEEDED, description=text), text)

    def _handle(self, events: list[Event]) -> None:
        self.talk()
        began = self.broker.now() if len(events) > 1 else 0.0
        if events:
            self._last = type(events[-1])
        for number, event in enumerate(events, 1):
            # The frequent events first.
            if type(event) is Transfers:
                if event.link.context is not None:
                    event.link.context.take(event.deliveries)
                    if self._waits:
                        self._unhandled.append(partial(self._handle, events[number:]))
                        return
            elif type(event) is Settled:
                if isinstance(event.link.context, Outgoing):
                    event.link.context.settled(event.first, event.last, event.state, settled=event.settled)
            elif type(event) is Flowed:
                if isinstance(event.link.context, Outgoing):
                    event.link.context.serve()
            else:
                self._handle_rare(event)
                if self.ended:  # the rest of what the client sent is ignored
                    return
                if number < len(events) and self.broker.now() - began > SLICE:
                    self._unhandled.append(partial(self._handle, events[number:]))
                    self._wait()
                    self.broker.slices.later(self, self._go_on)
                    return
        if self._stalled:
            self._serve_stalled()

    def in_order(self, action: Callable[[], None]) -> None:
        """Do this after everything that the client sent before."""
        if self._waits:
            self._unhandled.append(action)
        else:
            action()

    def _wait(self) -> None:
        """Take nothing more from the client for now."""
        self._waits = True
        self._portions.pause(self)

    def _go_on(self) -> None:
        """The client's turn has come again."""
        self._waits = False
        while self._unhandled and not self._waits and not self.ended:
            self._unhandled.popleft()()
        if not self._waits and not self.ended:
            self._portions.resume(self)

    def put_in_steps(self, steps: PutSteps, done: Callable[[Put], None]) -> None:
        """Put messages of this client in slices; `done` gets the result."""
        self._wait()
        self.broker.wide.begin(self._put_in_steps(steps, done))

    def _put_in_steps(self, steps: PutSteps, done: Callable[[Put], None]) -> Steps:
        put = yield from steps
        if self.ended:
            return
        self.talk()
        done(put)
        self._go_on()

    def _handle_rare(self, event: Event) -> None:
        match event:
            case Authenticate():
                self._authenticate(event)
            case Opened():
                self._open(event.open)
            case Begun():
                self._charge(event.session, event.session.remote)
            case Attached():
                if self._charge(event.link, event.link.remote):
                    attach(self, event.link)
            case Detached():
                self._detached(event.link, closed=event.closed)
            case Ended():
                for link in [link for link in self.links if link.session is event.session]:
                    self._link_gone(link, Departure.DETACHED)
                self._holds.pop(event.session, None)
            case Closed():
                self._closed(event.error)

    # The beginning

    def _authenticate(self, event: Authenticate) -> None:
        anonymous = event.mechanism == "ANONYMOUS"
        claimed = self.authenticator.proven_user or (None if anonymous else event.user)
        password = None if event.password is None else event.password.encode()
        self.authenticator.check(self.outlet, claimed, password, partial(self._admit, claimed))

    def _admit(self, claimed: str | None, reason: Reason, text: str, user: str | None) -> None:
        if self.ended:  # the client has gone meanwhile
            return
        if reason is not Reason.SUCCESS:
            self.broker.stats.refused += 1
            self.broker.journal.refused(self.outlet, reason.name, text, claimed_user=claimed)
        self.user = user
        self._handle(self.engine.authenticated(reason is Reason.SUCCESS, text, busy=reason is Reason.SERVER_BUSY))

    def _open(self, asked: Open) -> None:
        error = error_in_open(self.host, asked)
        if error is not None:
            self.broker.stats.refused += 1
            self.broker.journal.refused(
                self.outlet, error.condition, error.description or "", client=asked.container_id, user=self.user
            )
            self.engine.open(properties={ESTABLISHMENT_FAILED: True})
            self.engine.close(error)
            self._finish()
            return
        self.container_id = asked.container_id
        self.account = self.outlet.account = self.broker.memory.account("client", asked.container_id)
        self._hold = Hold(self.account, cost_of(asked))
        self.host.containers.setdefault(asked.container_id, []).append(self)
        self.opened = self.outlet.connected = self.outlet.open = True
        self.writable_bytes = BYTES_AT_ONCE
        self.broker.stats.admitted()
        self.broker.journal.admitted(self.outlet, asked.container_id, amqp="1.0", user=self.user)
        self.engine.open()
        self.broker.timers.cancel(self._timer)
        self._tick(self.broker.now())

    # Links

    def _detached(self, link: Link, *, closed: bool) -> None:
        changed = self._link_gone(link, Departure.CLOSED if closed else Departure.DETACHED)
        if changed and self.broker.store is not None:
            self.broker.turn.held.when_safe(partial(self._answer_detach, link, closed=closed))
        else:
            link.detach(closed=closed)

    def _answer_detach(self, link: Link, *, closed: bool) -> None:
        link.detach(closed=closed)
        self.talk()

    def _link_gone(self, link: Link, how: Departure) -> bool:
        """Whether the end of the link has changed something that must be safe before the client is told."""
        context = link.context
        self.forget(link)
        if context is None:
            return False
        changed: bool = context.gone(how)
        self.broker.queues.creator_gone(link)
        return changed

    # Bytes out

    def flush(self) -> None:
        """The turn ends: what there is to write goes to the outlet."""
        self._talking = False
        self._answers = None  # those of the next turn are to wait for that turn's safety
        engine, outlet = self.engine, self.outlet
        engine.flush()
        if engine.output:
            self.broker.turn.look_at(outlet)
            outlet.chunks += engine.output
            engine.output = []
        if self.ended:
            engine.abandon()
            if not outlet.finished:
                outlet.finished = True
                self.broker.turn.look_at(outlet)

    def _serve_stalled(self) -> None:
        for outgoing in [one for one in self._stalled if not one.link.pending]:
            self._stalled.discard(outgoing)
            outgoing.serve()

    def go_on(self) -> None:
        """The outlet was full: if it has been written, deliver more."""
        if self.outlet.chunks or self._talking:
            self.host.note_full(self)
        elif self.outlet.open:
            self.talk()
            self._serve_all()

    def _serve_all(self) -> None:
        for link in list(self.links):
            if isinstance(link.context, Outgoing):
                link.context.serve()

    def pause(self) -> None:
        """The client does not read fast enough: messages for it stay in their queues from now on."""
        self.outlet.open = False
        self.writable_bytes = 0

    def resume(self) -> None:
        """The client can take more."""
        if self.opened and not self.ended:
            self.outlet.open = True
            self.writable_bytes = BYTES_AT_ONCE
            self.talk()
            self._serve_all()

    # The end

    def end(self, reason: Reason, text: str) -> None:
        """End the connection from this side, and tell the client why."""
        self._end(Error(condition=conditions.CONNECTION_FORCED, description=text), text)

    def _end(self, error: Error, why: str) -> None:
        if self.ended:
            return
        self.engine.close(error)
        self._leave(Departure.LOST, why)
        self._finish()

    def _closed(self, error: Error | None) -> None:
        """The client has closed, or has broken the rules and was told so."""
        self.outlet.left = error is None
        if error is not None and self.opened:
            self.broker.stats.protocol_errors += 1
        why = "client disconnected" if error is None else f"{error.condition}: {error.description or ''}"
        self._leave(Departure.LOST if error is not None else Departure.DISCONNECTED, why)
        self._finish()

    def lost(self) -> None:
        """The network connection is gone."""
        self._leave(Departure.LOST, "connection lost")
        self.engine.abandon()
        self._finish()

    def _leave(self, how: Departure, why: str) -> None:
        """Release everything that the client has: transactions, links and locked messages."""
        if not self.opened:
            return
        self.opened = self.outlet.connected = self.outlet.open = False
        self.writable_bytes = 0
        self.broker.stats.connected -= 1
        self.broker.journal.ended(self.container_id, why)
        here = self.host.containers[self.container_id]
        here.remove(self)
        if not here:
            del self.host.containers[self.container_id]
        self.transactions.roll_back_all()
        self.broker.slices.begin(object(), self._leave_links(list(self.links), how), lambda: None)

    def _leave_links(self, links: list[Link], how: Departure) -> Steps:
        """End the links in slices: a client can have thousands.

        They get no messages meanwhile (`writable_bytes` is 0).
        """
        for link in links:
            try:
                self._link_gone(link, how)
            except Exception:  # messages of the other links must not stay locked
                self.broker.defects.note("the end of a link")
            yield None

    def _finish(self) -> None:
        self.ended = True
        self._holds.clear()
        self._hold = self._parts = None
        self._portions.drop()
        self.broker.slices.drop(self)
        self._unhandled.clear()
        self._stalled.clear()
        self.broker.timers.cancel(self._timer)
        self.talk()

    # Time-outs

    def _opened_in_time(self, _now: float) -> None:
        if not self.opened:
            self._end(Error(condition=conditions.RESOURCE_LIMIT_EXCEEDED, description="no open in time"), "no open")

    def _tick(self, now: float) -> None:
        events, due = self.engine.tick(now)
        self._handle(events)
        if not self.ended and not isinf(due):
            self._timer = self.broker.timers.at(due, self._tick, outlet=self.outlet)
