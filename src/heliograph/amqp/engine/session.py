"""A session: a window for frames each way, and links."""

from itertools import count
from typing import TYPE_CHECKING, Any, Final

from heliograph.amqp import conditions
from heliograph.amqp.codec.frames import amqp_frame
from heliograph.amqp.codec.performatives import (
    MAX_UINT,
    RECEIVER,
    Attach,
    Begin,
    Coordinator,
    DeliveryState,
    Detach,
    End,
    Error,
    Flow,
    ReceiverSettleMode,
    SenderSettleMode,
    Source,
    Target,
    Transfer,
)
from heliograph.amqp.codec.values import Composite
from heliograph.amqp.engine.dispositions import Dispositions
from heliograph.amqp.engine.events import Ended, Event, Settled
from heliograph.amqp.engine.flowing import encode_flow
from heliograph.amqp.engine.link import DEFAULT_MAX_MESSAGE_SIZE, Link
from heliograph.amqp.engine.outgoing import Outgoing
from heliograph.amqp.engine.receiver import Receiver
from heliograph.amqp.engine.sender import Sender
from heliograph.amqp.engine.serial import SERIAL_HALF, serial_rest
from heliograph.amqp.engine.unsettled import Unsettled
from heliograph.amqp.errors import Fatal, InvalidField, ProtocolError
from heliograph.common.pieces import Piece
from heliograph.errors import Problem

if TYPE_CHECKING:
    from heliograph.amqp.engine.connection import Connection

WINDOW: Final = 8192  # frames that the peer may send before it must hear from us; memory is bounded by credit
_HALF: Final = WINDOW // 2
_FORGOTTEN: Final = Begin(None, 0, 0, 0)  # what the peer said of a session that is over


class Session:
    """Made by `Connection.begin`, or by the peer (`Begun`). Methods named `on_...` are for the engine."""

    def __init__(self, connection: "Connection", channel: int) -> None:
        self.connection = connection
        self.channel = channel  # ours
        self.links: list[Link] = []  # all that are attached or being attached
        self.remote: Begin | None = None  # the peer's begin
        self.gone = False  # ended by one side or the other, or the connection is over
        self.ending = False  # our end has gone out
        self.told = False  # the owner knows that it is gone
        self.context: Any = None  # for the owner
        self.outgoing = Outgoing(self)
        self.outgoing_unsettled = Unsettled()
        self.incoming = Unsettled()
        self.incoming_window = WINDOW
        self.next_incoming = 0  # the standard's next-incoming-id
        self.next_delivery: int | None = None  # the lowest number that the peer's next delivery may have
        self.dispositions = Dispositions(self)
        self._handles: dict[int, Link] = {}
        self._free_from = 0
        self._remote_handles: dict[int, Link] = {}
        self._awaited: dict[tuple[str, bool], Link] = {}  # attached by us, not answered yet

    def attach_sender(
        self,
        name: str,
        target: Target | Coordinator,
        *,
        source: Source | None = None,
        snd_settle_mode: SenderSettleMode = SenderSettleMode.MIXED,
        rcv_settle_mode: ReceiverSettleMode = ReceiverSettleMode.FIRST,
        properties: dict[Any, Any] | None = None,
        offered_capabilities: tuple[str, ...] = (),
        desired_capabilities: tuple[str, ...] = (),
    ) -> Sender:
        """Begin a link on which we send; `Attached` is the peer's answer. `Problem` when it allows no more links."""
        link = Sender(self, name, self._free_handle())
        link.source = source or Source()
        link.target = target
        link.snd_settle_mode, link.rcv_settle_mode = snd_settle_mode, rcv_settle_mode
        self._begin_link(link)
        link.send_attach(
            properties=properties, offered_capabilities=offered_capabilities, desired_capabilities=desired_capabilities
        )
        return link

    def attach_receiver(
        self,
        name: str,
        source: Source | None,
        *,
        target: Target | None = None,
        snd_settle_mode: SenderSettleMode = SenderSettleMode.MIXED,
        rcv_settle_mode: ReceiverSettleMode = ReceiverSettleMode.FIRST,
        max_message_size: int = DEFAULT_MAX_MESSAGE_SIZE,
        properties: dict[Any, Any] | None = None,
        offered_capabilities: tuple[str, ...] = (),
        desired_capabilities: tuple[str, ...] = (),
    ) -> Receiver:
        """Begin a link on which we receive (a null source asks what is behind the name). Give credit with `flow`."""
        link = Receiver(self, name, self._free_handle())
        link.source = source
        link.target = target or Target()
        link.snd_settle_mode, link.rcv_settle_mode = snd_settle_mode, rcv_settle_mode
        self._begin_link(link)
        link.send_attach(
            max_message_size=max_message_size,
            properties=properties,
            offered_capabilities=offered_capabilities,
            desired_capabilities=desired_capabilities,
        )
        return link

    def end(self, error: Error | None = None) -> None:
        """End the session and all its links; `Ended` is the peer's answer."""
        if not self.ending and not self.connection.gone:
            self.connection.flush()
            self.ending = True
            self.leave()
            self.write(End(error))

    def _begin_link(self, link: Link) -> None:
        if self.gone:
            raise Problem(f"the session of the link {link.name!r} is over")
        key = (link.name, link.role)
        if key in self.connection.names:
            raise Problem(f"a link {link.name!r} of this connection is attached already")
        self.connection.names[key] = link
        self._handles[link.handle] = link
        self._awaited[key] = link
        self.links.append(link)

    def _free_handle(self) -> int:
        # All below where the last one was found are taken, until one of them becomes free.
        handle = self._free_from = next(number for number in count(self._free_from) if number not in self._handles)
        highest = self.connection.options.handle_max
        if self.remote is not None:
            highest = min(highest, self.remote.handle_max)
        if handle > highest:
            raise Problem(f"there can be {highest + 1} links in a session")
        return handle

    # What the engine does with it.

    def write(self, performative: Composite) -> None:
        """Send a performative on our channel."""
        self.connection.write(amqp_frame(self.channel, performative.encoded()))

    def write_begin(self, answer_to: int | None, properties: dict[str, Any] | None = None) -> None:
        """Send our begin."""
        handle_max = self.connection.options.handle_max
        self.write(Begin(answer_to, 0, WINDOW, MAX_UINT >> 1, handle_max, properties=properties))

    def write_flow(self, link: Link | None = None, *, echo: bool = False) -> None:
        """Tell the peer our windows and, for a link, its credit."""
        self.incoming_window = WINDOW
        self.connection.write(encode_flow(self, link, echo))

    def leave(self) -> None:
        """Nothing goes in or out any more."""
        self.gone = True
        for link in self.links:
            link.gone = True
            self.connection.names.pop((link.name, link.role), None)
            if isinstance(link, Receiver):
                link.drop_unfinished()
        self.outgoing_unsettled = Unsettled()
        self.incoming = Unsettled()
        self.outgoing = Outgoing(self)
        # What comes from now on is for nobody. Links and sessions that know each other would wait for the collector.
        for known in (self.links, self._handles, self._remote_handles, self._awaited):
            known.clear()
        if self.remote is not None:
            self.remote = _FORGOTTEN

    def fail(self, condition: str, text: str, events: list[Event]) -> None:
        """End because of what the peer did."""
        error = Error(condition, text)
        if not self.told:
            self.told = True
            events.append(Ended(self, error))
        self.end(error)

    def forget(self, link: Link) -> None:
        """A link is gone, and what it had unsettled or waiting."""
        self.connection.names.pop((link.name, link.role), None)
        if link in self.links:
            self.links.remove(link)
        if isinstance(link, Sender):
            self.outgoing_unsettled.forget(link)
            self.outgoing.forget(link)
        else:
            self.incoming.forget(link)

    def on_left(self, link: Link) -> None:
        """Our detach has gone out, or the peer's came in: with both, the handle is free again."""
        if link.detaching and link.left_by_peer:
            self._handles.pop(link.handle, None)
            self._free_from = min(self._free_from, link.handle)

    def on_begin(self, begin: Begin) -> None:
        """The peer's begin: the first, or the answer to ours."""
        self.remote = begin
        self.next_incoming = begin.next_outgoing_id
        self.outgoing.window = begin.incoming_window
        self.outgoing.pump()

    def on_end(self, end: End, events: list[Event]) -> None:
        """The peer's end: the first, or the answer to ours."""
        if not self.ending:
            self.ending = True
            self.leave()
            self.write(End())
        if not self.told:
            self.told = True
            events.append(Ended(self, end.error))

    def on_attach(self, attach: Attach, events: list[Event]) -> None:
        """The peer's attach: a new link, a stolen one, or the answer to ours."""
        if attach.handle > self.connection.options.handle_max:
            text = f"the highest handle here is {self.connection.options.handle_max}, not {attach.handle}"
            raise Fatal(conditions.CONNECTION_FRAMING_ERROR, text)
        if attach.handle in self._remote_handles:
            raise ProtocolError(conditions.SESSION_HANDLE_IN_USE, f"handle {attach.handle} is attached already")
        key = (attach.name, not attach.role)
        link = self._awaited.pop(key, None)
        if link is None:
            before = self.connection.names.get(key)
            if before is not None:
                before.on_stolen(events)
            link = self._new_link(attach)
            self.connection.names[key] = link
            self._handles[link.handle] = link
            self.links.append(link)
        self._remote_handles[attach.handle] = link
        link.on_attach(attach, events)

    def _new_link(self, attach: Attach) -> Link:
        try:
            handle = self._free_handle()
        except Problem as problem:
            raise ProtocolError(conditions.RESOURCE_LIMIT_EXCEEDED, str(problem)) from None
        kind = Sender if attach.role == RECEIVER else Receiver
        return kind(self, attach.name, handle)

    def on_flow(self, flow: Flow, events: list[Event]) -> None:
        """Windows, and credit of a link."""
        seen = 0 if flow.next_incoming_id is None else flow.next_incoming_id  # null: before it had our begin
        self.outgoing.window = serial_rest(seen, flow.incoming_window, self.outgoing.next_transfer)
        if flow.handle is not None:
            link = self._link(flow.handle)
            if not link.gone:
                link.on_flow(flow, events)
        elif flow.echo:
            self.write_flow()
        self.outgoing.pump()

    def on_transfer(self, transfer: Transfer, payload: Piece, events: list[Event]) -> Receiver:
        """A transfer of any shape; the plain ones are taken by `transfer_runs`."""
        self.took(1)
        link = self._link(transfer.handle)
        if not isinstance(link, Receiver):
            raise ProtocolError(conditions.NOT_ALLOWED, f"on the link {link.name!r:.80} the peer is the receiver")
        link.on_transfer(transfer, payload, events)
        return link

    def _link(self, handle: int) -> Link:
        link = self._remote_handles.get(handle)
        if link is None:
            raise ProtocolError(conditions.SESSION_UNATTACHED_HANDLE, f"no link is attached to handle {handle}")
        return link

    def receiver(self, handle: int) -> Receiver | None:
        """The link on which the peer sends with this handle."""
        link = self._remote_handles.get(handle)
        return link if isinstance(link, Receiver) else None

    def took(self, frames: int) -> None:
        """Transfers have come: the window gets smaller, and is opened again in good time."""
        self.next_incoming = (self.next_incoming + frames) & MAX_UINT
        self.incoming_window -= frames
        if self.incoming_window < _HALF:
            if self.incoming_window < 0:
                raise ProtocolError(conditions.SESSION_WINDOW_VIOLATION, f"the window has {WINDOW} frames")
            self.write_flow()

    def next_number(self, delivery_id: int) -> int:
        """The number of a delivery from its identifier, which wraps and must grow."""
        expected = delivery_id if self.next_delivery is None else self.next_delivery
        ahead = (delivery_id - expected) & MAX_UINT
        if ahead > SERIAL_HALF:
            raise InvalidField(f"expected delivery-id {expected & MAX_UINT}, got {delivery_id}")
        number = expected + ahead
        self.next_delivery = number + 1
        return number

    def on_disposition(
        self, role: bool, first: int, last: int, settled: bool, state: DeliveryState | None, events: list[Event]
    ) -> None:
        """What the peer says about deliveries: those we sent, or those it sent."""
        if role == RECEIVER:
            unsettled, newest = self.outgoing_unsettled, self.outgoing.next_delivery
        else:
            unsettled, newest = self.incoming, self.next_delivery or 0
        low = newest - ((newest - first) & MAX_UINT)
        high = low + ((last - first) & MAX_UINT)
        for run in unsettled.take(low, high) if settled else unsettled.within(low, high):
            first, last, link, shift = run
            start = first + shift
            before = events[-1] if events else None
            if type(before) is Settled:
                its_link, its_start, its_end, its_state, its_settled = before
                if its_end + 1 == start and its_link is link and its_settled is settled and its_state == state:
                    start = its_start
                    events.pop()
            events.append(Settled(link, start, last + shift, state, settled))

    def on_detach(self, detach: Detach, events: list[Event]) -> None:
        """The peer's detach: the first, or the answer to ours."""
        link = self._link(detach.handle)
        del self._remote_handles[detach.handle]
        link.on_detach(detach, events)
