"""Publishers that send stretches of a `PacketCycle`, encoded once, as far as an end-to-end window allows."""

import select
from collections.abc import Sequence

from heliograph.lab.load.client_group import LoadClient
from heliograph.lab.load.link import Link
from heliograph.lab.load.mqtt.acknowledgements import PUBACK, PUBCOMP, PUBREC, PUBREL, answer_run
from heliograph.lab.load.mqtt.connection import MqttConnection, MqttConnectionGroup
from heliograph.lab.load.mqtt.packet_cycle import PacketCycle, SequenceTracker
from heliograph.lab.load.plan import Address, Plan
from heliograph.lab.load.schedule import Times
from heliograph.mqtt import Packet

# The acknowledgements that must come for each message.
_DUE: dict[int, tuple[int, ...]] = {0: (), 1: (PUBACK,), 2: (PUBREC, PUBCOMP)}
_ACK_SIZE = 4


class RepeatingPublisher(MqttConnection):
    """One publisher whose messages go to all receivers in `received_by`; above QoS 0 there may be none.

    It never has more than the group's window of messages in flight to the slowest receiver (or unacknowledged), so
    no broker's drop policy comes into play. It sends a quarter of the window at a time: as a pipelining client does,
    whose socket buffer fills while the broker is busy.
    """

    __slots__ = ("_batch", "_counts", "_cycle", "_due", "_position", "_window", "received_by", "sent")

    def __init__(
        self, client_group: "RepeatingPublishers", client: int, link: Link, began: int, cycle: PacketCycle
    ) -> None:
        super().__init__(client_group, client, link, began)
        self.sent = 0
        self.received_by: Sequence[SequenceTracker] = ()
        self._cycle = cycle
        self._position = 0  # in the cycle, in bytes
        self._window = client_group.group.window
        self._batch = max(1, self._window // 4)
        # The acknowledgements in the order that the standard prescribes.
        kinds = _DUE[client_group.group.qos]
        self._due = {kind: PacketCycle(_acks(kind, cycle.count)) for kind in kinds}
        self._counts = dict.fromkeys(kinds, 0)

    @property
    def settled(self) -> int:
        """Messages that every receiver has got and, above QoS 0, the broker has acknowledged."""
        return min([tracker.next for tracker in self.received_by] + list(self._counts.values()))

    def room(self) -> int:
        """How many messages the window allows now."""
        return 0 if self.link.blocked else self.settled + self._window - self.sent

    def batch(self) -> int:
        """How many messages to send now: none until the window has opened far enough."""
        room = self.room()
        return room if room >= self._batch else 0

    def send_next(self, count: int) -> None:
        """Send the next messages; no more than there is room for."""
        self.sent += count
        end = self._cycle.byte_at(self.sent)
        self.link.write(self._cycle.slice(self._position, end - self._position), lasting=True)
        self._position = end

    def send(self, due: Times, now: int) -> int:
        """Send as many messages as there are times, which these messages do not carry."""
        self.send_next(len(due))
        return len(due)

    def take(self, data: memoryview, now: int) -> int:
        """Take acknowledgements, which all have four bytes; answer PUBREC by PUBREL."""
        if not self.ready:
            return self.take_control(data, 0, now)
        whole = len(data) - len(data) % _ACK_SIZE
        run = bytes(data[:whole])
        at = 0
        while at < whole:
            end = _same_kind(run, at, whole)
            self._take_run(run[at:end])
            at = end
        return whole

    def _take_run(self, run: bytes) -> None:
        kind, count = run[0], len(run) // _ACK_SIZE
        due = self._due.get(kind)
        if due is None or not due.continues(run, _ACK_SIZE * self._counts[kind]):
            self._unexpected(count)
        if due is not None:
            self._counts[kind] += count
            self.client_group.meter.acknowledged += count
        if kind == PUBREC:
            self.link.write(answer_run(PUBREL, run))

    def take_other(self, first: int, packet: Packet, now: int) -> None:
        """Handle an unexpected packet."""
        self._unexpected(1)

    def _unexpected(self, count: int) -> None:
        meter = self.client_group.meter
        meter.errors += count - 1
        meter.failed("an acknowledgement arrived out of order")

    def outstanding(self) -> int:
        """Messages that the broker has not acknowledged."""
        return self.sent - min(self._counts.values(), default=self.sent)


def _acks(kind: int, count: int) -> list[bytes]:
    """One acknowledgement of this kind for each packet identifier from 1 to `count`."""
    return [bytes([kind, 2]) + number.to_bytes(2) for number in range(1, count + 1)]


def _same_kind(data: bytes, start: int, whole: int) -> int:
    """Where the run of acknowledgements that starts at `start` gives way to another kind."""
    kinds = data[start:whole:_ACK_SIZE]
    return start + _ACK_SIZE * (len(kinds) - len(kinds.lstrip(kinds[:1])))


class RepeatingPublishers(MqttConnectionGroup):
    """The publishers of a group, each with a cycle of packets: identifiers go from 1 to the number of packets."""

    def __init__(
        self, plan: Plan, index: int, address: Address, poller: select.epoll, cycles: Sequence[PacketCycle]
    ) -> None:
        super().__init__(plan, index, 0, address, poller)
        self._cycles = cycles

    def make_client(self, client: int, began: int) -> RepeatingPublisher:
        """Begin to connect this client."""
        return RepeatingPublisher(self, client, self.make_link(), began, self._cycles[client])

    def wake(self, load_client: LoadClient) -> None:
        """Does nothing: the driver of this load polls for room itself."""

    @property
    def publishers(self) -> list[RepeatingPublisher]:
        """All that are connected."""
        return [one for one in self.load_clients if isinstance(one, RepeatingPublisher)]
