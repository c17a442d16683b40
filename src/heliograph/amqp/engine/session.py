"""A session (AMQP part 2, section 2.5): a window of transfer frames in each direction, and links.

A session is begun by a begin of either side; `remote` is the peer's, and null until it has come. Links may be attached
before that. It ends with an end of each side: `ending` when ours has gone out, `gone` as soon as either has. From then
on frames of the peer are dropped, apart from its end.

What it keeps count of:

- **Windows count frames with transfers.** `outgoing.window` is what the peer takes, as its flows say; `incoming_window`
  is what we take. The latter is opened again when half of it is used; it bounds frames, while memory is bounded
  by credit.
- **Deliveries have ids on the wire** that wrap at 32 bits and have to grow by at least one. Inside they never wrap
  (`next_number`); `settlement` has those that are not settled, for each direction.
- **Links have handles**, one of each side: `_handles` by ours, `_remote_handles` by the peer's. A link that we attach
  is in `_awaited` until the peer's attach of the same name has come. A handle of ours is free again when both sides
  have detached. Names belong to the connection (`names`): a second attach of the same name and role steals the link.
"""

import struct
from itertools import count
from typing import Any, Final, NamedTuple

from heliograph.amqp import conditions
from heliograph.amqp.codec import performatives
from heliograph.amqp.codec.frames import amqp_frame
from heliograph.amqp.codec.performatives import MAX_UINT, RECEIVER, SENDER, Attach, Begin, DeliveryState, Error, Flow
from heliograph.amqp.codec.values import Composite
from heliograph.amqp.engine.link import DEFAULT_MAX_MESSAGE_SIZE, SERIAL_HALF, Link, LinkEvent, Settled, serial_rest
from heliograph.amqp.engine.outgoing import OutgoingTransfers
from heliograph.amqp.engine.output import ConnectionOutput, EventSink
from heliograph.amqp.engine.receiver import Receiver, ReceiverEvent
from heliograph.amqp.engine.sender import Sender
from heliograph.amqp.engine.settlement import OutgoingDispositions, Unsettled
from heliograph.amqp.errors import ConnectionFault, InvalidField, LimitReached, LinkNameInUse, NotOpen, ProtocolError
from heliograph.common.pieces import Piece

# Transfer frames that the peer may send before we must open the window again; memory is bounded by credit.
WINDOW: Final = 8192
_HALF: Final = WINDOW // 2
_OUTGOING_WINDOW: Final = MAX_UINT >> 1  # we hold nothing back on our side
# A flow of a link: eight uints in their long form, then drain and echo.
_FLOW_FORM: Final = struct.Struct(">IHH6s" + "BI" * 8 + "BB")
_FLOW_LIST: Final = b"\x00\x53\x13\xc0" + bytes((8 * 5 + 2 + 1, 10))
_FORGOTTEN: Final = Begin(None, 0, 0, 0)  # what the peer said of a session that is over


class Begun(NamedTuple):
    """A session is there: one that the peer began (answered already), or the answer to ours."""

    session: "Session"


class Ended(NamedTuple):
    """The session is gone and its links (`session.links`) with it; no `Detached` comes for them."""

    session: "Session"
    error: Error | None


class Session:
    """Made by `Connection.begin`, or by the peer (`Begun`). Methods named `on_...` are for the engine."""

    def __init__(self, connection: ConnectionOutput, channel: int, names: dict[tuple[str, bool], Link]) -> None:
        """`names` has the links of all sessions of the connection, by name and our role."""
        self.connection = connection
        self.channel = channel  # ours
        self.links: list[Link] = []  # all that are attached or being attached
        self.remote: Begin | None = None  # the peer's begin
        self.gone = False  # ended by one side or the other, or the connection is over
        self.ending = False  # our end has gone out
        self.told = False  # the owner knows that it is gone
        self.context: Any = None  # for the owner
        self.outgoing_unsettled: Unsettled[Sender] = Unsettled()
        self.outgoing = OutgoingTransfers(connection, channel, self.outgoing_unsettled)
        self.incoming: Unsettled[Receiver] = Unsettled()
        self.incoming_window = WINDOW
        self.next_incoming = 0  # the standard's next-incoming-id
        self.next_delivery: int | None = None  # the lowest number that the peer's next delivery may have
        self.dispositions = OutgoingDispositions(connection, channel, self.incoming.take)
        self._names = names
        self._handles: dict[int, Link] = {}
        self._free_from = 0
        self._remote_handles: dict[int, Link] = {}
        self._awaited: dict[tuple[str, bool], Link] = {}  # attached by us, not answered yet

    def attach_sender(
        self,
        name: str,
        target: performatives.Target | performatives.Coordinator,
        *,
        source: performatives.Source | None = None,
        snd_settle_mode: performatives.SenderSettleMode = performatives.SenderSettleMode.MIXED,
        rcv_settle_mode: performatives.ReceiverSettleMode = performatives.ReceiverSettleMode.FIRST,
        properties: dict[Any, Any] | None = None,
        offered_capabilities: tuple[str, ...] = (),
        desired_capabilities: tuple[str, ...] = (),
    ) -> Sender:
        """Begin a link on which we send; `Attached` is the peer's answer. `LimitReached` when it allows no more."""
        link = Sender(self, name, self._free_handle())
        link.source = source or performatives.Source()
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
        source: performatives.Source | None,
        *,
        target: performatives.Target | None = None,
        snd_settle_mode: performatives.SenderSettleMode = performatives.SenderSettleMode.MIXED,
        rcv_settle_mode: performatives.ReceiverSettleMode = performatives.ReceiverSettleMode.FIRST,
        max_message_size: int = DEFAULT_MAX_MESSAGE_SIZE,
        properties: dict[Any, Any] | None = None,
        offered_capabilities: tuple[str, ...] = (),
        desired_capabilities: tuple[str, ...] = (),
    ) -> Receiver:
        """Begin a link on which we receive (a null source asks what is behind the name). Give credit with `flow`."""
        link = Receiver(self, name, self._free_handle())
        link.source = source
        link.target = target or performatives.Target()
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
            self.write(performatives.End(error))

    def _begin_link(self, link: Link) -> None:
        if self.gone:
            raise NotOpen(f"the session of the link {link.name!r} is over")
        key = (link.name, link.role)
        if key in self._names:
            raise LinkNameInUse(f"a link {link.name!r} of this connection is attached already")
        self._names[key] = link
        self._handles[link.handle] = link
        self._awaited[key] = link
        self.links.append(link)

    def _free_handle(self) -> int:
        # All handles below `_free_from` are in use, so the search begins there.
        handle = self._free_from = next(number for number in count(self._free_from) if number not in self._handles)
        highest = self.connection.options.handle_max
        if self.remote is not None:
            highest = min(highest, self.remote.handle_max)
        if handle > highest:
            raise LimitReached(f"there can be {highest + 1} links in a session")
        return handle

    # What the engine does with it.

    def write(self, performative: Composite) -> None:
        """Send a performative on our channel."""
        self.connection.write(amqp_frame(self.channel, performative.encoded()))

    def write_begin(self, answer_to: int | None, properties: dict[str, Any] | None = None) -> None:
        """Send our begin."""
        handle_max = self.connection.options.handle_max
        self.write(Begin(answer_to, 0, WINDOW, _OUTGOING_WINDOW, handle_max, properties=properties))

    def write_flow(self, link: Link | None = None, *, echo: bool = False) -> None:
        """Send our windows and, for a link, its credit."""
        self.incoming_window = WINDOW
        outgoing = self.outgoing.next_transfer
        if link is not None and self.remote is not None and (link.remote is not None or link.role == SENDER):
            self.connection.write(
                _FLOW_FORM.pack(
                    _FLOW_FORM.size, 0x0200, self.channel, _FLOW_LIST,
                    0x70, self.next_incoming,
                    0x70, self.incoming_window,
                    0x70, outgoing,
                    0x70, _OUTGOING_WINDOW,
                    0x70, link.handle,
                    0x70, link.delivery_count,
                    0x70, link.credit,
                    0x70, link.available,
                    0x41 if link.drain else 0x42,
                    0x41 if echo else 0x42,
                )
            )  # fmt: skip
            return
        flow = Flow(self.next_incoming if self.remote else None, self.incoming_window, outgoing, _OUTGOING_WINDOW)
        if link is not None:
            flow.handle = link.handle
            flow.delivery_count = link.delivery_count if link.role == SENDER or link.remote else None
            flow.link_credit = link.credit
            flow.drain = link.drain
        flow.echo = echo
        self.write(flow)

    def leave(self) -> None:
        """Nothing goes in or out any more."""
        self.gone = True
        # Not `link.leave()`, which removes deliveries one by one: everything is dropped at once below.
        for link in self.links:
            link.gone = True
            self._names.pop((link.name, link.role), None)
            if isinstance(link, Receiver):
                link.drop_unfinished()
        self.dispositions.clear()
        self.incoming.clear()
        self.outgoing_unsettled = Unsettled()
        self.outgoing = OutgoingTransfers(self.connection, self.channel, self.outgoing_unsettled)
        # Frames that arrive from now on are ignored. Links and sessions refer to each other: without these references
        # they are freed at once and need not wait for the garbage collector.
        for known in (self.links, self._handles, self._remote_handles, self._awaited):
            known.clear()
        if self.remote is not None:
            self.remote = _FORGOTTEN

    def fail(self, condition: str, text: str, events: EventSink[Ended]) -> None:
        """End because of what the peer did."""
        error = Error(condition, text)
        if not self.told:
            self.told = True
            events.append(Ended(self, error))
        self.end(error)

    def forget(self, link: Link) -> None:
        """Remove a link with its unsettled and waiting deliveries."""
        self._names.pop((link.name, link.role), None)
        if link in self.links:
            self.links.remove(link)
        if isinstance(link, Sender):
            self.outgoing_unsettled.forget(link)
            self.outgoing.forget(link)
        elif isinstance(link, Receiver):
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

    def on_end(self, end: performatives.End, events: EventSink[Ended]) -> None:
        """The peer's end: the first, or the answer to ours."""
        if not self.ending:
            self.ending = True
            self.leave()
            self.write(performatives.End())
        if not self.told:
            self.told = True
            events.append(Ended(self, end.error))

    def on_attach(self, attach: Attach, events: EventSink[LinkEvent]) -> None:
        """The peer's attach: a new link, a stolen one, or the answer to ours."""
        # Section 2.7.2, handle-max: a handle outside the range closes the connection with framing-error.
        if attach.handle > self.connection.options.handle_max:
            text = f"the highest handle here is {self.connection.options.handle_max}, not {attach.handle}"
            raise ConnectionFault(conditions.CONNECTION_FRAMING_ERROR, text)
        # The name tells which link this is: one of ours that waits for an answer, one to be stolen, or a new one.
        if attach.handle in self._remote_handles:
            raise ProtocolError(conditions.SESSION_HANDLE_IN_USE, f"handle {attach.handle} is attached already")
        key = (attach.name, not attach.role)
        link = self._awaited.pop(key, None)
        if link is None:
            before = self._names.get(key)
            if before is not None:
                before.on_stolen(events)
            link = self._new_link(attach)
            self._names[key] = link
            self._handles[link.handle] = link
            self.links.append(link)
        self._remote_handles[attach.handle] = link
        link.on_attach(attach, events)

    def _new_link(self, attach: Attach) -> Link:
        try:
            handle = self._free_handle()
        except LimitReached as problem:
            raise ProtocolError(conditions.RESOURCE_LIMIT_EXCEEDED, str(problem)) from None
        kind = Sender if attach.role == RECEIVER else Receiver
        return kind(self, attach.name, handle)

    def on_flow(self, flow: Flow, events: EventSink[LinkEvent]) -> None:
        """Windows, and credit of a link."""
        # Null: the peer had not received our begin yet
        seen = 0 if flow.next_incoming_id is None else flow.next_incoming_id
        # Section 2.5.6: remote-incoming-window = next-incoming-id + incoming-window - our next-outgoing-id.
        self.outgoing.window = serial_rest(seen, flow.incoming_window, self.outgoing.next_transfer)
        if flow.handle is not None:
            link = self._link(flow.handle)
            if not link.gone:
                link.on_flow(flow, events)
        elif flow.echo:
            self.write_flow()
        self.outgoing.pump()

    def on_transfer(
        self, transfer: performatives.Transfer, payload: Piece, events: EventSink[ReceiverEvent]
    ) -> Receiver:
        """A transfer of any shape; the plain ones are taken by `incoming_runs`."""
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
        """Count received transfers against the window; it is opened again when half of it is used."""
        self.next_incoming = (self.next_incoming + frames) & MAX_UINT
        self.incoming_window -= frames
        if self.incoming_window < _HALF:
            if self.incoming_window < 0:
                raise ProtocolError(conditions.SESSION_WINDOW_VIOLATION, f"the window has {WINDOW} frames")
            self.write_flow()

    def next_number(self, delivery_id: int) -> int:
        """The number of a delivery from its identifier, which wraps and must grow."""
        expected = delivery_id if self.next_delivery is None else self.next_delivery
        # Ids must grow but may skip. They are serial numbers (RFC 1982): a distance of more than half the range means
        # that
        # the id is lower.
        ahead = (delivery_id - expected) & MAX_UINT
        if ahead > SERIAL_HALF:
            raise InvalidField(f"expected delivery-id {expected & MAX_UINT}, got {delivery_id}")
        number = expected + ahead
        self.next_delivery = number + 1
        return number

    def on_disposition(
        self, role: bool, first: int, last: int, settled: bool, state: DeliveryState | None, events: EventSink[Settled]
    ) -> None:
        """The peer's disposition for deliveries: those we sent, or those it sent."""
        # Ids on the wire wrap and ours do not: take the highest possible one that is not beyond the newest delivery.
        unsettled: Unsettled[Sender] | Unsettled[Receiver]
        if role == RECEIVER:
            unsettled, newest = self.outgoing_unsettled, self.outgoing.next_delivery
        else:
            unsettled, newest = self.incoming, self.next_delivery or 0
        low = newest - ((newest - first) & MAX_UINT)
        high = low + ((last - first) & MAX_UINT)
        for run in unsettled.take(low, high) if settled else unsettled.within(low, high):
            first, last, link, shift = run
            start = first + shift
            # Join dispositions of a peer that settles one by one to one event, if link, state and direction are the
            # same.
            before = events[-1] if events else None
            if type(before) is Settled:
                its_link, its_start, its_end, its_state, its_settled = before
                if its_end + 1 == start and its_link is link and its_settled is settled and its_state == state:
                    start = its_start
                    events.pop()
            events.append(Settled(link, start, last + shift, state, settled))

    def on_detach(self, detach: performatives.Detach, events: EventSink[LinkEvent]) -> None:
        """The peer's detach: the first, or the answer to ours."""
        link = self._link(detach.handle)
        del self._remote_handles[detach.handle]
        link.on_detach(detach, events)
