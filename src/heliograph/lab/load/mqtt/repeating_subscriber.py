"""Subscribers that compare what arrives with the `PacketCycle` it must come from, run by run.

Each has a `SequenceTracker` for each publisher that it hears. A run that does not match is read packet by packet: that
is slow, but a broker that loses, repeats or rewrites messages is still counted right.
"""

import re
import select
import struct
from collections.abc import Sequence

from heliograph.lab.load.client_group import LoadClient
from heliograph.lab.load.link import Link
from heliograph.lab.load.mqtt.acknowledgements import PUBACK, PUBCOMP, PUBREC, PUBREL, ack_run, answer_run
from heliograph.lab.load.mqtt.connection import MqttConnection, MqttConnectionGroup
from heliograph.lab.load.mqtt.packet_cycle import MARK, PacketCycle, SequenceTracker
from heliograph.lab.load.mqtt.received_runs import form_of
from heliograph.lab.load.plan import Address, Plan
from heliograph.mqtt import ConnAck, Packet, PacketType

_ACK_SIZE = 4
_ANSWERS = {0: 0, 1: PUBACK, 2: PUBREC}
_ALIKE = 4
"""Bytes that all packets of a load begin with: type, length, length of the topic."""


class RepeatingSubscriber(MqttConnection):
    """Base of the subscribers: subscribes, takes control packets, and counts messages per publisher."""

    __slots__ = ("_cycles", "resumes", "trackers")

    def __init__(self, client_group: "RepeatingSubscribers", client: int, link: Link, began: int) -> None:
        super().__init__(client_group, client, link, began)
        self.trackers = client_group.trackers[client]
        self.resumes = client_group.resume
        self._cycles = client_group.cycles

    def accepted(self, packet: ConnAck, now: int) -> None:
        """Subscribe, unless the broker has the session of an earlier connection."""
        if self.resumes:
            self.client_group.became_ready(self)
        else:
            self.subscribe(now)

    @property
    def received(self) -> int:
        """Distinct messages that have arrived from all publishers."""
        return sum([tracker.received for tracker in self.trackers])

    def take(self, data: memoryview, now: int) -> int:
        """Take control packets one by one until the client is ready, then messages in runs."""
        at = 0
        while not self.ready:
            used = self.take_control(data, at, now)
            if not used:
                return at
            at += used
        return at + self.take_messages(data[at:], at) if at else self.take_messages(data, 0)

    def take_messages(self, data: memoryview, offset: int) -> int:
        """Take messages from the start of `data`, which begins at this offset of the process's buffer."""
        raise NotImplementedError

    def take_odd(self, data: memoryview, at: int) -> int:
        """Take one packet that belongs to no run; returns its length, 0 if it is incomplete."""
        if len(data) - at < 2:
            return 0
        if data[at] >> 4 != PacketType.PUBLISH:
            return self.take_control(data, at, 0)
        form = form_of(data, at, self.client_group.version)
        if form is None:
            return 0
        packet = bytes(data[at : at + form.stride])
        meter = self.client_group.meter
        publisher, sequence = -1, 0
        if form.stride - form.payload_at >= MARK.size:
            publisher, sequence = MARK.unpack_from(packet, form.payload_at)
        if not 0 <= publisher < len(self.trackers):
            meter.failed("a message arrived that this load did not send")
            return form.stride
        meter.received += 1
        self.trackers[publisher].take(sequence)
        if form.id_at:
            answer = PUBACK if packet[0] & 0x06 == 0x02 else PUBREC
            identifier = packet[form.id_at : form.id_at + 2]
            self.link.write(ack_run(answer, identifier[:1], identifier[1:]))
        return form.stride

    def take_other(self, first: int, packet: Packet, now: int) -> None:
        """Handle an unexpected packet."""
        self.client_group.meter.failed("an unexpected packet arrived")


class BytesSubscriber(RepeatingSubscriber):
    """QoS 0 from one publisher: the bytes that arrive are the bytes of its cycle, in order, whatever their lengths."""

    __slots__ = ("_kept", "_position")

    def __init__(self, client_group: "RepeatingSubscribers", client: int, link: Link, began: int) -> None:
        super().__init__(client_group, client, link, began)
        self._kept = b""  # the start of a packet whose rest has not arrived, where that is not what was expected
        self._position = 0  # everything before this byte of the cycle has arrived, as far as `_kept` is empty

    def take_messages(self, data: memoryview, offset: int) -> int:
        """Compare with the cycle; count by position."""
        cycle, tracker = self._cycles[0], self.trackers[0]
        if not self._kept and cycle.continues(data, self._position):
            self._position += len(data)
            count = cycle.messages_before(self._position)
            self.client_group.meter.received += count - tracker.next
            tracker.next = count
        elif len(data):
            self._take_slowly(bytes(data))
        return len(data)

    def _take_slowly(self, chunk: bytes) -> None:
        cycle, tracker = self._cycles[0], self.trackers[0]
        begun = cycle.byte_at(tracker.next)
        data = memoryview((self._kept or bytes(cycle.slice(begun, self._position - begun))) + chunk)
        at = 0
        while used := self.take_odd(data, at):
            at += used
        # Back to comparing as soon as what is left over is again the start of the next message.
        self._kept = bytes(data[at:])
        self._position = cycle.byte_at(tracker.next)
        if cycle.continues(self._kept, self._position):
            self._position += len(self._kept)
            self._kept = b""


class OnePublisherSubscriber(RepeatingSubscriber):
    """QoS 1 and 2 from one publisher, all messages of one length: identifiers are lifted out of a run in two slices.

    What remains of the run is compared with the cycle, whose identifiers are zero; the acknowledgements are built
    from the two columns. With QoS 2 the broker's PUBRELs may come between runs of PUBLISHes in any mixture.
    """

    __slots__ = ("_answer", "_id_at", "_publishes", "_releases", "_stride")

    def __init__(self, client_group: "RepeatingSubscribers", client: int, link: Link, began: int) -> None:
        super().__init__(client_group, client, link, began)
        cycle = self._cycles[0]
        form = form_of(memoryview(cycle.stream), 0, client_group.version)
        assert form is not None
        self._answer = _ANSWERS[client_group.group.qos]
        self._stride = form.stride
        self._id_at = form.id_at
        head = cycle.stream[: self._id_at]
        # `.` with (?s) is skipped without looking; a class of all 256 bytes would be tested byte by byte.
        self._publishes = re.compile(b"(?s:" + re.escape(head) + b".{%d})++" % (self._stride - len(head)))
        self._releases = re.compile(b"(?s:\x62\x02..)++")

    def take_messages(self, data: memoryview, offset: int) -> int:
        """Cut what arrived into runs; answer each."""
        at, size = 0, len(data)
        while at < size:
            if run := self._publishes.match(data, at):
                self._take_run(data, at, run.end(), offset)
            elif run := self._releases.match(data, at):
                self.link.write(answer_run(PUBCOMP, bytes(data[at : run.end()])))
            else:
                used = self.take_odd(data, at)
                if not used:
                    break
                at += used
                continue
            at = run.end()
        return at

    def _take_run(self, data: memoryview, start: int, end: int, offset: int) -> None:
        stride, tracker = self._stride, self.trackers[0]
        count = (end - start) // stride
        # What `data` shows is a bytearray: of the two, only that can be sliced with a stride at full speed.
        buffer: bytearray = data.obj  # type: ignore[assignment]
        first = offset + start + self._id_at
        high_at, low_at = slice(first, offset + end, stride), slice(first + 1, offset + end, stride)
        high, low = bytes(buffer[high_at]), bytes(buffer[low_at])
        buffer[high_at] = buffer[low_at] = bytes(count)
        cycle = self._cycles[0]
        if cycle.continues(data[start:end], cycle.byte_at(tracker.next)):
            tracker.next += count
            self.client_group.meter.received += count
            self.link.write(ack_run(self._answer, high, low))
        else:
            buffer[high_at], buffer[low_at] = high, low
            for at in range(start, end, stride):
                self.take_odd(data, at)


class ManyPublishersSubscriber(RepeatingSubscriber):
    """From many publishers in any order, all messages of one length: each one's marks are read.

    With QoS 2 the broker's PUBRELs may come between runs of PUBLISHes in any mixture.
    """

    __slots__ = ("_answer", "_front", "_id_at", "_marks", "_stride")

    def __init__(self, client_group: "RepeatingSubscribers", client: int, link: Link, began: int) -> None:
        super().__init__(client_group, client, link, began)
        stream = self._cycles[0].stream
        form = form_of(memoryview(stream), 0, client_group.version)
        assert form is not None
        self._stride = form.stride
        self._id_at = form.id_at
        self._answer = _ANSWERS[client_group.group.qos]
        self._marks = struct.Struct(f">{form.payload_at}xII{form.stride - form.payload_at - MARK.size}x")
        self._front = stream[: _ALIKE if form.stride > _ALIKE else 1]

    def take_messages(self, data: memoryview, offset: int) -> int:
        """Cut what arrived into runs; answer each."""
        at, size = 0, len(data)
        buffer: bytearray = data.obj  # type: ignore[assignment]
        while size - at >= _ACK_SIZE:
            if data[at] == PUBREL:
                kinds = bytes(buffer[offset + at : offset + size : _ACK_SIZE])[: (size - at) // _ACK_SIZE]
                end = at + _ACK_SIZE * (len(kinds) - len(kinds.lstrip(bytes((PUBREL,)))))
                self.link.write(answer_run(PUBCOMP, bytes(data[at:end])))
            elif count := self._alike(buffer, offset + at, offset + size):
                end = at + count * self._stride
                self._take_run(data, at, end, offset)
            elif not (end := at + self.take_odd(data, at)) > at:
                break
            at = end
        return at

    def _alike(self, buffer: bytearray, at: int, size: int) -> int:
        """How many whole packets from here on begin as those of this load do."""
        most = (size - at) // self._stride
        for column, byte in enumerate(self._front):
            found = bytes(buffer[at + column : at + most * self._stride : self._stride])
            most = min(most, len(found) - len(found.lstrip(bytes((byte,)))))
        return most

    def _take_run(self, data: memoryview, start: int, end: int, offset: int) -> None:
        trackers, stride = self.trackers, self._stride
        for publisher, sequence in self._marks.iter_unpack(data[start:end]):
            trackers[publisher].take(sequence)
        self.client_group.meter.received += (end - start) // stride
        if self._answer:
            buffer: bytearray = data.obj  # type: ignore[assignment]
            first, behind = offset + start + self._id_at, offset + end
            self.link.write(
                ack_run(self._answer, bytes(buffer[first:behind:stride]), bytes(buffer[first + 1 : behind : stride]))
            )


class RepeatingSubscribers(MqttConnectionGroup):
    """The subscribers of a group. All receive from the publishers of these cycles, which are packets as they arrive.

    With QoS 1 and 2 the cycles have no packet identifiers. Members of a shared subscription share the trackers, as any
    one of them may get a message.
    """

    def __init__(
        self, plan: Plan, index: int, address: Address, poller: select.epoll, cycles: Sequence[PacketCycle]
    ) -> None:
        super().__init__(plan, index, 0, address, poller)
        self.cycles = cycles
        self.resume = False  # whether those that connect go on with a session that they have
        if self.group.shared:
            self.trackers = [self._new_trackers()] * self.group.clients
        else:
            self.trackers = [self._new_trackers() for _ in range(self.group.clients)]

    def _new_trackers(self) -> list[SequenceTracker]:
        return [SequenceTracker(cycle.count) for cycle in self.cycles]

    def make_client(self, client: int, began: int) -> RepeatingSubscriber:
        """Begin to connect this client."""
        kind: type[RepeatingSubscriber] = BytesSubscriber
        if len(self.cycles) > 1:
            kind = ManyPublishersSubscriber
        elif self.group.qos:
            kind = OnePublisherSubscriber
        return kind(self, client, self.make_link(), began)

    def wake(self, load_client: LoadClient) -> None:
        """Does nothing: subscribers send no messages."""

    def collect(self) -> None:
        """Add what the trackers have found to the meter."""
        distinct = {id(one): one for trackers in self.trackers for one in trackers}.values()
        self.meter.duplicates = sum([one.duplicates for one in distinct])
        self.meter.reordered = sum([one.late for one in distinct])

    @property
    def subscribers(self) -> list[RepeatingSubscriber]:
        """All that are connected."""
        return [one for one in self.load_clients if isinstance(one, RepeatingSubscriber)]
