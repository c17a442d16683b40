"""The connection of one AMQP client apart from messages: its session, links and credit; and the group it is in.

Frames that carry messages or dispositions are not decoded here: subclasses take them in runs. The client is ready when
all links are attached, there is credit to send, and a transaction is open where its role needs one.
"""

import select
from abc import abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heliograph.amqp import (
    AMQP_HEADER,
    EMPTY_FRAME,
    RECEIVER,
    SASL_HEADER,
    Attach,
    Begin,
    Close,
    Detach,
    Disposition,
    Flow,
    Open,
    ProtocolError,
    SaslOutcome,
    Transfer,
    amqp_frame,
    decode,
    resolve,
)
from heliograph.amqp import End as EndOfSession
from heliograph.lab.errors import ClientFailed, InvalidLoad
from heliograph.lab.load.amqp.handshake import FRAME, coordinating, hello, receiving, sending, sending_to
from heliograph.lab.load.amqp.receiver_link import HEAD, ReceiverLink
from heliograph.lab.load.amqp.session import AmqpSession, SenderLink, Transactions
from heliograph.lab.load.amqp.template import AmqpTemplate
from heliograph.lab.load.client_group import ClientGroup, LoadClient
from heliograph.lab.load.link import Link
from heliograph.lab.load.plan import Address, Plan
from heliograph.lab.load.websocket import links_to

SENDING, _COORDINATING, _OTHERS = 0, 1, 2  # handles
_HEADERS = frozenset({AMQP_HEADER, SASL_HEADER})
_GONE = (Close, Detach, EndOfSession)
_KEEP_ALIVE = 20  # seconds, where the plan has nothing else: brokers close connections that are silent for a minute

_NAMES = {Close: "connection", Detach: "link", EndOfSession: "session"}


class AmqpConnectionGroup(ClientGroup):
    """Shared by the AMQP clients of a group: the broker's address, and the template of their frames."""

    def __init__(self, plan: Plan, index: int, process: int, address: Address, poller: select.epoll) -> None:
        super().__init__(plan, index, process)
        group = self.group = replace(self.group, keep_alive=self.group.keep_alive or _KEEP_ALIVE)
        if group.transaction and group.role not in {"publish", "consume"}:
            raise InvalidLoad(
                f"group {group.name!r}: role {group.role!r} has no transactions, only publish and consume have"
            )
        if group.transaction and not group.qos:
            raise InvalidLoad(f"group {group.name!r}: messages of transactions are acknowledged; that needs qos 1")
        self.address = address
        self.make_link = links_to(address, group.transport, poller, "amqp")
        self._templates: dict[int, AmqpTemplate] = {}

    def template(self, largest: int) -> AmqpTemplate:
        """The template of messages for a broker with this maximum frame size."""
        if largest not in self._templates:
            self._templates[largest] = AmqpTemplate(
                self.group, self.index, self.plan.seed, self.address, SENDING, largest
            )
        return self._templates[largest]


class AmqpConnection(LoadClient):
    """A connection with one session, and the links that the client's role needs."""

    __slots__ = (
        "_asked",
        "_attaching",
        "_beginning",
        "_handles",
        "_large",
        "_links",
        "_missing",
        "_remote",
        "largest",
        "receiver_links",
        "sender_link",
        "session",
        "transactions",
    )

    client_group: AmqpConnectionGroup

    def __init__(self, client_group: AmqpConnectionGroup, client: int, link: Link, began: int) -> None:
        super().__init__(client_group, client, link, began)
        group = client_group.group
        self.session = AmqpSession(group.window)
        self.largest = FRAME  # bytes of a frame that the broker takes
        self.receiver_links: list[ReceiverLink] = []
        self.sender_link: SenderLink | None = None  # for own messages
        self.transactions: Transactions | None = None
        self._asked = 0  # when it attached its links
        self._beginning = b""  # of a large frame of which not all is here
        self._large = 0  # its length
        self._missing = 0  # bytes of it that are still to come
        self._handles = _OTHERS  # the next one
        self._attaching: dict[tuple[str, bool], Attach] = {}  # by name and role
        self._links: dict[int, ReceiverLink | SenderLink | Transactions] = {}  # by our handles
        self._remote: dict[int, ReceiverLink | SenderLink | Transactions] = {}  # by the broker's handles

    def opened(self, now: int) -> None:
        """Send the frames up to begin."""
        self.link.write(hello(self.client_group.group, self.client, self.client_group.address))

    def feed(self, data: memoryview, now: int) -> int:
        """Handle whole frames; transfers and dispositions are taken in runs."""
        size = len(data)
        at = self._rest_of_frame(size, now) if self._missing else 0
        try:
            while size - at >= 8:
                stop = at + int.from_bytes(data[at : at + 4])
                if stop > size:
                    if bytes(data[at : at + 8]) in _HEADERS:
                        at += 8
                    elif size - at >= HEAD and data[at + 10] == Transfer.CODE:
                        self._begin_frame(data, at, stop)
                        at = size
                    else:
                        break
                elif stop - at <= 8:  # a sign of life
                    at += 8
                elif data[at + 10] == Transfer.CODE:
                    at = self._take_transfers(data, at, stop, now)
                elif data[at + 10] == Disposition.CODE:
                    at = self._take_dispositions(data, at, stop, now)
                else:
                    self._control(resolve(decode(bytes(data[at:stop]), 8)[0]), now)
                    at = stop
        except (ProtocolError, IndexError) as problem:
            raise ClientFailed(f"the broker sent what AMQP does not allow: {problem}") from None
        self._respond(now)
        return at

    def _begin_frame(self, data: memoryview, at: int, stop: int) -> None:
        """Keep the beginning of a large message, which is all that is needed, and discard the rest as it arrives."""
        self._beginning = bytes(data[at : at + HEAD])
        self._large = stop - at
        self._missing = stop - len(data)

    def _rest_of_frame(self, size: int, now: int) -> int:
        """Skip the rest of a large frame; returns how many of the `size` received bytes belong to it."""
        used = min(size, self._missing)
        self._missing -= used
        if not self._missing:
            self._take_transfers(memoryview(self._beginning), 0, self._large, now)
        return used

    @abstractmethod
    def received_run(self, rows: NDArray[np.void], size: int, now: int) -> None:
        """Count messages of one group, given as columns, with their total length in bytes."""

    @abstractmethod
    def received_one(self, values: tuple[int, ...], size: int, now: int) -> bool:
        """Count one message by the header of its payload; False if it does not belong to this load."""

    @abstractmethod
    def answer(self, head: bytes, mark: bytes) -> None:
        """Answer a request, given its bytes before the payload and its payload's header."""

    @abstractmethod
    def _take_dispositions(self, data: memoryview, at: int, stop: int, now: int) -> int:
        """Take the disposition from `at` to `stop` and similar ones behind it; returns the end of the last one."""

    @abstractmethod
    def _respond(self, now: int) -> None:
        """Write the answers to everything that one read brought, in one go."""

    def _take_transfers(self, data: memoryview, at: int, stop: int, now: int) -> int:
        code = data[at + 14]
        handle = 0 if code == 0x43 else data[at + 15] if code == 0x52 else int.from_bytes(data[at + 15 : at + 19])
        receiver_link = self._remote.get(handle)
        if not isinstance(receiver_link, ReceiverLink):
            raise ClientFailed(f"the broker sent a message over a link that is not there: handle {handle}")
        return receiver_link.take(data, at, stop, now)

    def _control(self, frame: Any, now: int) -> None:
        if isinstance(frame, Flow):
            self._flowed(frame)
        elif isinstance(frame, Attach):
            self._attached(frame, now)
        elif isinstance(frame, Open):
            self.largest = min(FRAME, frame.max_frame_size)
        elif isinstance(frame, Begin):
            self.session.opened(0, frame.incoming_window)
            self.client_group.connected(self, now)
            self._attach_all(now)
        elif isinstance(frame, SaslOutcome) and frame.code:
            raise ClientFailed(f"the broker refused the credentials: SASL outcome {frame.code.name}")
        elif isinstance(frame, _GONE):
            why = frame.error
            text = f"{why.condition} {why.description or ''}".rstrip() if why else "it gave no reason"
            raise ClientFailed(f"the broker ended the {_NAMES[type(frame)]}: {text}")

    def _attach_all(self, now: int) -> None:
        group, client_group = self.client_group.group, self.client_group
        self._asked = now
        if group.sends:
            self.sender_link = SenderLink(self.session, SENDING, settled=not group.qos)
            self._attach(sending(group, self.client, client_group.address, SENDING), self.sender_link)
        if group.transaction:
            self.transactions = Transactions(self.session, client_group.meter, _COORDINATING)
            self._attach(coordinating(_COORDINATING), self.transactions)
        if group.receives:
            for attach in receiving(group, self.client, client_group.address, _OTHERS):
                self.receiver_links.append(ReceiverLink(self, self.session, group, attach.handle))
                self._attach(attach, self.receiver_links[-1])
            self._handles += len(self.receiver_links)
        self._look_whether_ready()

    def attach_reply(self, place: str) -> SenderLink:
        """Attach a link to this reply address. It has no credit until the broker's answer."""
        sender_link = SenderLink(self.session, self._handles, settled=not self.client_group.group.qos)
        self._attach(sending_to(place, self.client_group.group, self._handles), sender_link)
        self._handles += 1
        return sender_link

    def _attach(self, attach: Attach, link: ReceiverLink | SenderLink | Transactions) -> None:
        self._links[attach.handle] = link
        self._attaching[attach.name, attach.role] = attach
        self.link.write(amqp_frame(0, attach.encoded()))

    def _attached(self, answer: Attach, now: int) -> None:
        asked = self._attaching.pop((answer.name, not answer.role))
        if (answer.source if asked.role == RECEIVER else answer.target) is None:
            return  # it is refused: why, says the detach that follows
        link = self._remote[answer.handle] = self._links[asked.handle]
        if isinstance(link, ReceiverLink):
            self.link.write(link.open(answer.initial_delivery_count or 0))
            if not any(role == RECEIVER for _, role in self._attaching):
                self.client_group.meter.recorder("subscribe").record(now - self._asked)
        self._look_whether_ready()

    def _flowed(self, flow: Flow) -> None:
        self.session.opened(flow.next_incoming_id or 0, flow.incoming_window)
        if flow.handle is None:
            return
        link = self._remote.get(flow.handle)
        if isinstance(link, SenderLink | Transactions):
            first = not link.limit
            link.limit = (flow.delivery_count or 0) + (flow.link_credit or 0)
            if first and isinstance(link, Transactions):
                self.link.write(link.begin())
            self._look_whether_ready()

    def _look_whether_ready(self) -> None:
        """Mark the client as ready once its links are attached, it has credit and, if needed, an open unit of work."""
        if self.ready or self._attaching:
            return
        if self.sender_link is not None and not self.sender_link.limit:
            return
        if self.transactions is None or self.transactions.current is not None:
            self.client_group.became_ready(self)

    def disconnect(self) -> None:
        """Close links, so that no durable subscription is left, and the connection."""
        closing = [amqp_frame(0, Detach(receiver_link.handle, True).encoded()) for receiver_link in self.receiver_links]
        self.link.write(b"".join(closing) + amqp_frame(0, Close().encoded()))

    def ping(self) -> None:
        """Send an empty frame."""
        self.link.write(EMPTY_FRAME)
