"""One MQTT client (3.1, 3.1.1 or 5) with numbered messages: sends, receives, acknowledges and answers requests.

The group's `MqttTemplate` makes whole batches of packets to send, and received packets of one form are read as runs.
"""

import select
from collections import deque
from collections.abc import Callable

import numpy as np

from heliograph.lab.errors import InvalidLoad
from heliograph.lab.load import payloads
from heliograph.lab.load.ledger import Receiver
from heliograph.lab.load.link import Link
from heliograph.lab.load.mqtt.acknowledgements import (
    KINDS,
    PUBACK,
    PUBCOMP,
    PUBREC,
    PUBREL,
    Ids,
    MqttInFlight,
    ack_ids,
    acks_of,
)
from heliograph.lab.load.mqtt.connection import MqttConnection, MqttConnectionGroup
from heliograph.lab.load.mqtt.received_runs import Form, form_of, run_of
from heliograph.lab.load.mqtt.template import PacketForms
from heliograph.lab.load.naming import expand
from heliograph.lab.load.plan import Address, Group, Plan
from heliograph.lab.load.schedule import Times
from heliograph.mqtt import ConnAck, Packet, PacketType, PubAck, PubComp, Publish, PubRec, PubRel, decode, encode_varint


class MqttReplies:
    """Builds replies; `waiting` has those that wait for room in the window, split where the packet identifier goes."""

    def __init__(self, group: Group, version: int) -> None:
        self._group = group
        self._version = version
        self._topics: dict[bytes | tuple[str, int], bytes] = {}  # by properties of the request, or by requester
        self.waiting: deque[tuple[bytes, bytes]] = deque()

    def make(self, request: memoryview, form: Form, asker: Group, sender: int) -> tuple[bytes, bytes]:
        """The reply to a request, in two parts: a packet identifier goes between them if QoS is not 0."""
        topic = self._topic(request, form, asker, sender)
        payload = request[form.payload_at :]
        rest = (b"\0" if self._version == 5 else b"") + payload
        size = 2 + len(topic) + (2 if self._group.qos else 0) + len(rest)
        first = bytes((PacketType.PUBLISH << 4 | self._group.qos << 1,))
        return first + encode_varint(size) + len(topic).to_bytes(2) + topic, rest

    def _topic(self, request: memoryview, form: Form, asker: Group, sender: int) -> bytes:
        if form.payload_at - form.properties_at > 1 and form.properties_at:
            key: bytes | tuple[str, int] = bytes(request[form.properties_at : form.payload_at])
        else:
            key = (asker.name, sender)
        topic = self._topics.get(key)
        if topic is None:
            topic = self._topics[key] = self._find(request, form, asker, sender)
        return topic

    def _find(self, request: memoryview, form: Form, asker: Group, sender: int) -> bytes:
        """The response topic of MQTT 5, or the one that the plan has for this requester."""
        if form.properties_at:
            body = bytes(request[form.topic_at - 2 :])
            packet = decode(request[0], body, self._version)
            if isinstance(packet, Publish) and "response_topic" in packet.properties:
                return packet.properties["response_topic"].encode()
        pattern = self._group.reply or asker.reply
        if not pattern:
            raise InvalidLoad(
                f"group {self._group.name!r} answers, but neither it nor {asker.name!r} says to which topic"
            )
        return expand(pattern, asker, sender // asker.topics).encode()


class MqttLoadClient(MqttConnection):
    """One MQTT client on one connection, whose messages have numbers and times in them."""

    __slots__ = ("_acks", "_flight", "_forms", "_receiver", "_replies", "_written_off", "count")

    def __init__(self, client_group: MqttConnectionGroup, client: int, link: Link, began: int) -> None:
        super().__init__(client_group, client, link, began)
        self.count = client_group.counts[self.place]  # messages that this client has sent, on earlier connections too
        self._acks: list[bytes] = []
        self._written_off = 0  # own messages that are not waited for any more
        self._flight: MqttInFlight | None = None
        self._forms: PacketForms | None = None
        self._receiver: Receiver | None = None
        self._replies = (
            MqttReplies(client_group.group, client_group.version) if client_group.group.role == "respond" else None
        )

    def take(self, data: memoryview, now: int) -> int:
        """Take whole packets, in runs."""
        at, size = 0, len(data)
        while size - at >= 2:
            used = self._next(data, at, now)
            if not used:
                break
            at += used
        if self._acks:  # one write for all that was read at once
            self.link.write(b"".join(self._acks))
            self._acks.clear()
        return at

    def _next(self, data: memoryview, at: int, now: int) -> int:
        """Take a run of packets or one packet; how many bytes that was."""
        first = data[at]
        if first >> 4 == PacketType.PUBLISH:
            return self._take_publishes(data, at, now)
        if first in KINDS and data[at + 1] == 2:
            if len(data) - at < 4:
                return 0
            ids = ack_ids(data, at)
            self._take_acks(first, ids, now)
            return 4 * len(ids)
        return self.take_control(data, at, now)

    def take_other(self, first: int, packet: Packet, now: int) -> None:
        """Acknowledgements with a reason code are taken here."""
        if isinstance(packet, PubAck | PubRec | PubRel | PubComp):
            if packet.reason >= 0x80:
                self.client_group.meter.failed(f"{type(packet).__name__} with reason 0x{packet.reason:02X}")
            kind = PUBCOMP if isinstance(packet, PubRec) and packet.reason >= 0x80 else first
            self._take_acks(kind, np.array([packet.packet_id]), now)

    def accepted(self, packet: ConnAck, now: int) -> None:
        """Be ready for messages in both directions before there are any."""
        client_group = self.client_group
        if client_group.group.qos and (client_group.group.sends or self._replies is not None):
            limit = packet.properties.get("receive_maximum", 65535)
            self._flight = MqttInFlight(min(client_group.group.window, limit))
        if client_group.group.sends:
            self._forms = client_group.template.forms(self.client)
        if client_group.group.receives:
            self._receiver = client_group.receiver(self.client)
        super().accepted(packet, now)

    # Receiving

    def _take_publishes(self, data: memoryview, at: int, now: int) -> int:
        form = form_of(data, at, self.client_group.version)
        if form is None:
            return 0
        rows = run_of(data, at, form) if self._replies is None else None
        if rows is None:
            self._take_one(data, at, form, now)
            return form.stride
        used = len(rows) * form.stride
        if form.id_at:
            self._acks.append(acks_of(self._answer(data[at]), rows["id"].astype(np.int64)))
        assert self._receiver is not None
        self.client_group.take(self._receiver, int(rows["group"][0]), rows, used, now)
        return used

    def _take_one(self, data: memoryview, at: int, form: Form, now: int) -> None:
        if form.id_at:
            id_at = at + form.id_at
            self._acks.append(bytes((self._answer(data[at]), 2)) + data[id_at : id_at + 2])
        payload = at + form.payload_at
        receiver = self._receiver
        if receiver is None or form.stride - form.payload_at < payloads.HEADER_SIZE:
            self.client_group.meter.failed("a message arrived that this load did not send")
            return
        values = payloads.HEADER.unpack_from(data, payload)
        if self.client_group.take_one(receiver, values, form.stride, now) and self._replies is not None:
            self._reply(self._replies, data[at : at + form.stride], form, values[1], values[2])

    @staticmethod
    def _answer(first: int) -> int:
        return PUBACK if first & 0x06 == 0x02 else PUBREC

    def _reply(self, replies: MqttReplies, packet: memoryview, form: Form, group: int, sender: int) -> None:
        made = replies.make(packet, form, self.client_group.plan.groups[group], sender)
        replies.waiting.append(made)
        self._send_replies(replies)

    def _send_replies(self, replies: MqttReplies) -> None:
        now = self.client_group.clock()
        while replies.waiting and (self._flight is None or self._flight.room()):
            head, rest = replies.waiting.popleft()
            identifier = b"" if self._flight is None else int(self._flight.begin(1, now)[0]).to_bytes(2)
            packet = head + identifier + rest
            self.client_group.meter.bytes_sent += len(packet)
            self.client_group.meter.sent += 1
            self._acks.append(packet)

    # Acknowledgements

    def _take_acks(self, kind: int, ids: Ids, now: int) -> None:
        if kind == PUBREL:
            self._acks.append(acks_of(PUBCOMP, ids))
        elif kind == PUBREC:
            self._acks.append(acks_of(PUBREL, ids))
        else:
            self._settle(ids, now)

    def _settle(self, ids: Ids, now: int) -> None:
        flight, meter = self._flight, self.client_group.meter
        times = flight.end(ids, now) if flight is not None else np.empty(0, np.int64)
        if len(times) < len(ids):
            meter.failed("an acknowledgement arrived for a message that was not in flight")
        meter.acknowledged += len(times)
        meter.recorder("acknowledge").record_all(times)
        if self._replies is not None:
            self._send_replies(self._replies)

    # Sending

    def room(self) -> int:
        """How many messages the window allows now; at most one batch."""
        if self.link.blocked or not self.ready:
            return 0
        room = self.client_group.template.batch
        if self._flight is not None:
            room = min(room, self._flight.room())
        if self.client_group.answered_window:
            room = min(room, self.client_group.group.window - self.unanswered())
        return max(0, room)

    def unanswered(self) -> int:
        """Own messages that have not come back. Asked only where that limits sending."""
        assert self._receiver is not None
        return self.count - max(self.client_group.returned(self.client, self._receiver), self._written_off)

    def stop_waiting(self) -> None:
        """Give up on own messages that have not come back: they may be lost."""
        self._written_off = self.count

    def send(self, due: Times, now: int) -> int:
        """Send in one batch."""
        size, client_group = len(due), self.client_group
        assert self._forms is not None
        ids = self._flight.begin(size, now) if self._flight is not None else None
        packets = client_group.template.make(self._forms, self.client, self.count, due, now, ids)
        self.count += size
        client_group.counts[self.place] = self.count
        client_group.meter.sent += size
        client_group.meter.bytes_sent += len(packets)
        self.link.write(packets)
        return size

    def outstanding(self) -> int:
        """Messages in flight with QoS 1 or 2, and replies that wait."""
        waiting = len(self._replies.waiting) if self._replies is not None else 0
        return waiting + (self._flight.count if self._flight is not None else 0)


class MqttClientGroup(MqttConnectionGroup):
    """Makes MQTT clients, which share the template of their packets."""

    def __init__(
        self,
        plan: Plan,
        index: int,
        process: int,
        address: Address,
        poller: select.epoll,
        kind: Callable[[MqttConnectionGroup, int, Link, int], MqttConnection] = MqttLoadClient,
    ) -> None:
        """`kind` makes a client of a number, a link, and the time when it began to connect."""
        super().__init__(plan, index, process, address, poller)
        self._make = kind

    def make_client(self, client: int, began: int) -> MqttConnection:
        """Begin to connect this client."""
        return self._make(self, client, self.make_link(), began)
