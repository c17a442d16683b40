"""The receiving ends of a load: they know what must arrive, recognise it by the run and count everything else exactly.

Each has `tallies`, one per publisher it hears. What a run does not explain is read packet by packet: slow, but a
broker that loses, repeats or rewrites messages is still counted right.
"""

import re
import struct
from abc import ABC, abstractmethod
from collections.abc import Sequence

from heliograph.lab import wire
from heliograph.lab.bytestream import BUFFER
from heliograph.lab.link import Link
from heliograph.lab.ring import Ring
from heliograph.lab.tally import Tally

_ACK_SIZE = 4
_ALIKE = 4
"""Bytes that all packets of a load begin with: type, length, length of the topic."""


class Subscriber(ABC):
    """What all receiving ends share."""

    def __init__(self, link: Link, rings: Sequence[Ring]) -> None:
        self.link = link
        self.tallies = [Tally(ring.count) for ring in rings]
        self.strange = 0  # packets that are not deliveries of this load
        self._kept = b""  # the start of a packet whose rest has not arrived

    @property
    def received(self) -> int:
        """Distinct messages that have arrived from all publishers."""
        return sum([tally.received for tally in self.tallies])

    def move(self, link: Link) -> None:
        """Go on with another connection of the same session; half a packet that the old one brought comes again."""
        self.link = link
        self._kept = b""

    @abstractmethod
    def read(self) -> None:
        """Take what the link has received."""

    def _take_one(self, packet: bytes, body: int) -> wire.Delivery | None:
        delivery = wire.read_publish(packet, body, self.link.version)
        if delivery is None or delivery.publisher >= len(self.tallies):
            self.strange += 1
            return None
        self.tallies[delivery.publisher].take(delivery.sequence)
        return delivery

    def _take_odd(self, data: bytes) -> int:
        """One packet that belongs to no run; returns its length, 0 if it is not whole yet."""
        for start, body, end in wire.packets(data):
            delivery = self._take_one(data[start:end], body)
            if delivery is not None and delivery.qos:
                kind = wire.PUBACK if delivery.qos == 1 else wire.PUBREC
                self.link.write(wire.ack_run(kind, delivery.packet_id[:1], delivery.packet_id[1:]))
            return end
        return 0


class Stream(Subscriber):
    """QoS 0 from one publisher: the bytes that arrive are the bytes of its ring, in order, whatever their lengths."""

    def __init__(self, link: Link, ring: Ring) -> None:
        super().__init__(link, [ring])
        self._ring = ring
        self._position = 0  # everything before this byte of the ring has arrived, as far as `_kept` is empty

    def read(self) -> None:
        """Compare with the ring; count by position."""
        chunk = self.link.receive()
        ring = self._ring
        if not self._kept and ring.continues(chunk, self._position):
            self._position += len(chunk)
            self.tallies[0].next = ring.messages_before(self._position)
        elif chunk:
            self._read_slowly(bytes(chunk))

    def _read_slowly(self, chunk: bytes) -> None:
        ring, tally = self._ring, self.tallies[0]
        begun = ring.byte_at(tally.next)
        data = (self._kept or bytes(ring.slice(begun, self._position - begun))) + chunk
        end = 0
        for start, body, end in wire.packets(data):
            self._take_one(data[start:end], body - start)
        # Back to comparing as soon as what is left over is again the start of the next message.
        self._kept = data[end:]
        self._position = ring.byte_at(tally.next)
        if ring.continues(self._kept, self._position):
            self._position += len(self._kept)
            self._kept = b""


class Acknowledging(Subscriber):
    """QoS 1 and 2 from one publisher, all messages of one length: identifiers are lifted out of a run in two slices.

    What remains of the run is compared with the ring, whose identifiers are zero; the acknowledgements are built
    from the two columns. With QoS 2 the broker's PUBRELs may come between runs of PUBLISHes in any mixture.
    """

    def __init__(self, link: Link, ring: Ring, topic: str, qos: int) -> None:
        super().__init__(link, [ring])
        self._ring = ring
        self._answer = wire.PUBACK if qos == 1 else wire.PUBREC
        self._stride = ring.starts[1]
        self._body_at = ring.stream.index(wire.text(topic))
        self._id_at = self._body_at + len(wire.text(topic))
        head = ring.stream[: self._id_at]
        # `.` with (?s) is skipped without looking; a class of all 256 bytes would be tested byte by byte.
        self._publishes = re.compile(b"(?s:" + re.escape(head) + b".{%d})++" % (self._stride - len(head)))
        self._releases = re.compile(b"(?s:\x62\x02..)++")

    def read(self) -> None:
        """Cut what arrived into runs; answer each."""
        chunk = self.link.receive(self._kept)
        at, size = 0, len(chunk)
        while at < size:
            if run := self._publishes.match(chunk, at):
                self._take_run(chunk, at, run.end())
            elif run := self._releases.match(chunk, at):
                self.link.write(wire.answer_run(wire.PUBCOMP, bytes(chunk[at : run.end()])))
            else:
                end = self._take_odd(bytes(chunk[at:]))
                if not end:
                    break
                at += end
                continue
            at = run.end()
        self._kept = bytes(chunk[at:])

    def _take_run(self, chunk: memoryview, start: int, end: int) -> None:
        stride, tally = self._stride, self.tallies[0]
        count = (end - start) // stride
        # BUFFER is what `chunk` shows; of the two, only a bytearray can be sliced with a stride at full speed.
        high_at, low_at = slice(start + self._id_at, end, stride), slice(start + self._id_at + 1, end, stride)
        high, low = bytes(BUFFER[high_at]), bytes(BUFFER[low_at])
        BUFFER[high_at] = BUFFER[low_at] = bytes(count)
        if self._ring.continues(chunk[start:end], self._ring.byte_at(tally.next)):
            tally.next += count
        else:
            for packet in range(start, end, stride):
                self._take_one(bytes(chunk[packet : packet + stride]), self._body_at)
        self.link.write(wire.ack_run(self._answer, high, low))


class Gathering(Subscriber):
    """From many publishers in any order, all messages of one length: each one's marks are read.

    With QoS 2 the broker's PUBRELs may come between runs of PUBLISHes in any mixture.
    """

    def __init__(self, link: Link, rings: Sequence[Ring], qos: int = 0) -> None:
        super().__init__(link, rings)
        self._stride = stride = rings[0].starts[1]
        # An identifier, which is zero here, comes before the mark, which is zero as well in the first message.
        mark_at = rings[0].stream.index(bytes(wire.MARK.size)) + (2 if qos else 0)
        self._id_at = mark_at - 2
        self._answer = {0: 0, 1: wire.PUBACK, 2: wire.PUBREC}[qos]
        self._marks = struct.Struct(f">{mark_at}xII{stride - mark_at - wire.MARK.size}x")
        self._front = rings[0].stream[: _ALIKE if stride > _ALIKE else 1]

    def read(self) -> None:
        """Cut what arrived into runs; answer each."""
        chunk = self.link.receive(self._kept)
        at, size = 0, len(chunk)
        while size - at >= _ACK_SIZE:
            if chunk[at] == wire.PUBREL:
                releases = bytes(BUFFER[at:size:_ACK_SIZE])[: (size - at) // _ACK_SIZE]
                end = at + _ACK_SIZE * (len(releases) - len(releases.lstrip(bytes((wire.PUBREL,)))))
                self.link.write(wire.answer_run(wire.PUBCOMP, bytes(chunk[at:end])))
            elif count := self._alike(at, size):
                end = at + count * self._stride
                self._take_run(chunk, at, end)
            elif not (end := at + self._take_odd(bytes(chunk[at:]))) > at:
                break
            at = end
        self._kept = bytes(chunk[at:])

    def _alike(self, at: int, size: int) -> int:
        """How many whole packets from here on begin as those of this load do."""
        most = (size - at) // self._stride
        for column, byte in enumerate(self._front):
            found = bytes(BUFFER[at + column : at + most * self._stride : self._stride])
            most = min(most, len(found) - len(found.lstrip(bytes((byte,)))))
        return most

    def _take_run(self, chunk: memoryview, start: int, end: int) -> None:
        tallies, stride = self.tallies, self._stride
        for publisher, sequence in self._marks.iter_unpack(chunk[start:end]):
            tallies[publisher].take(sequence)
        if self._answer:
            high = bytes(BUFFER[start + self._id_at : end : stride])
            low = bytes(BUFFER[start + self._id_at + 1 : end : stride])
            self.link.write(wire.ack_run(self._answer, high, low))
