"""The clients of one group in one process: `ClientGroup` has what they share, `LoadClient` is one of them.

A worker process has a `ClientGroup` for each group of the plan. It owns the pace, the accounts, the meters and the
templates, and decides which client sends when. The worker does the rest: sockets, TLS and WebSocket (`Link`), timers
and phases. A protocol brings a subclass of each (`protocols`).

In an open loop the schedule says how many messages are due; clients send them in turn. A client that cannot send all
that is due (its window is full) is *behind*, and catches up as soon as its window opens; messages keep the times when
they were due, so that waiting counts as latency. In a closed loop each client sends as fast as its window allows.
"""

import time
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from heliograph.lab.load import payloads
from heliograph.lab.load.histogram import Recorder
from heliograph.lab.load.ledger import Faults, Receiver, Share
from heliograph.lab.load.link import Link
from heliograph.lab.load.meter import GroupMeter
from heliograph.lab.load.naming import filters_of, share_of
from heliograph.lab.load.plan import Group, Plan
from heliograph.lab.load.schedule import NEVER, Schedule, Times, pieces_of

_PATIENCE = 5_000_000_000  # ns until a message that closes a loop is taken for lost


class LoadClient(ABC):
    """One client on one connection.

    What a client reports to its group:

    - `client_group.connected(self, now)` when the broker has accepted it;
    - `client_group.became_ready(self)` when it may do its work: connected and, where its role subscribes, subscribed
      (how long that took goes into `client_group.meter.recorder("subscribe")`);
    - `client_group.take` or `client_group.take_one` for messages that arrive.

    It counts what it sends (`sent`, `bytes_sent`) and what the broker acknowledges in `client_group.meter`, and keeps
    `client_group.counts[self.place]`. All calls come from one thread.
    """

    __slots__ = ("began", "client", "client_group", "link", "place", "queued", "ready")

    def __init__(self, client_group: "ClientGroup", client: int, link: Link, began: int) -> None:
        self.client_group = client_group
        self.client = client  # its number in the whole group
        self.place = client_group.place(client)  # its number among those of this process; index of `load_clients`
        self.link = link
        self.began = began  # when its connect was due, ns
        self.ready = False
        self.queued = False  # the client_group's: whether it is going to be asked for room

    @abstractmethod
    def opened(self, now: int) -> None:
        """The link is up (TCP, TLS, WebSocket): open the conversation with `link.write`."""

    @abstractmethod
    def feed(self, data: memoryview, now: int) -> int:
        """Take whole frames or packets from the start of `data`; returns how many bytes were used.

        `now` (ns) is when they were read. The memory is reused after the call. Unused bytes are passed again, followed
        by new ones. Raises ClientFailed.
        """

    @abstractmethod
    def room(self) -> int:
        """How many messages it can send now: what window and credit allow; 0 while `link.blocked`."""

    @abstractmethod
    def send(self, due: Times, now: int) -> int:
        """Send the next len(due) messages, the i-th of which is due at due[i]; returns how many it sent.

        Never called with more than `room()` or while not ready.
        """

    @abstractmethod
    def outstanding(self) -> int:
        """Messages sent and neither acknowledged nor settled yet."""

    @abstractmethod
    def disconnect(self) -> None:
        """Write the packets that end the connection cleanly; the worker closes the link afterwards."""

    def stop_waiting(self) -> None:  # noqa: B027  (most have nothing to stop_waiting)
        """Give up on messages that have not come back for seconds, so that a closed loop can send again."""

    @abstractmethod
    def ping(self) -> None:
        """Called every half of `keep_alive`, if that is not 0."""


class ClientGroup(ABC):
    """The clients of one group in this process. Subclasses make them, for one protocol.

    Clients are dealt out to processes in turn, so client c is with process c modulo their number. Places are the
    numbers of this process's clients: client = process + place * processes.
    """

    clock = staticmethod(time.monotonic_ns)
    measures_service = True
    """Whether to record the time since messages were sent, besides that since they were due."""

    def __init__(self, plan: Plan, index: int, process: int) -> None:
        self.plan = plan
        self.index = index  # of the group in the plan
        self.group: Group = plan.groups[index]
        self.process = process
        self.meter = GroupMeter(process, self.group.name)
        self.own_lateness = Recorder()  # of messages that did not have to wait for the broker
        self.clients = range(process, self.group.clients, plan.processes)
        self.load_clients: list[LoadClient | None] = [None] * len(self.clients)
        self.counts = [0] * len(self.clients)  # messages that each client has sent
        self.ready = 0  # clients
        self.shares: dict[str, Share] = {}
        self.epoch = 0  # ns: what was due earlier belongs to another run
        self._streams = {number: group.streams for number, group in enumerate(plan.groups)}
        self._faults = Faults()
        self._receivers: dict[int, Receiver] = {}
        self._schedule: Schedule | None = None
        self._dealt = 0  # messages of the schedule that have had their turn
        self._next: list[int] = []  # of each client: the number of its next message in the schedule
        self._behind: set[int] = set()  # places of clients that could not send all that was due
        self._halfway: set[int] = set()  # of these, those that only have to wait for their next batch
        self._able: deque[LoadClient] = deque()  # those that may be able to send what they could not
        self._until = NEVER
        self._pinged = 0
        self._ping_due = 0  # ns
        self._next_check = 0  # ns: when `stop_waiting` looks again
        self._earlier: list[int] = []  # counts when `stop_waiting` was last called
        # A closed loop without acknowledgements is closed by the messages that come back.
        self.answered_window = self.group.rate is None and self.group.role in {"both", "request"}

    def place(self, client: int) -> int:
        """The place of this client among those of this process."""
        return (client - self.process) // self.plan.processes

    @abstractmethod
    def make_client(self, client: int, began: int) -> LoadClient:
        """Begin to connect this client; ClientFailed if that is not possible."""

    # What clients report

    def connected(self, load_client: LoadClient, now: int) -> None:
        """The broker has accepted the client."""
        self.meter.recorder("connect").record(now - load_client.began)

    def became_ready(self, load_client: LoadClient) -> None:
        """The client can do its work."""
        load_client.ready = True
        self.ready += 1
        self.meter.connected += 1
        self.wake(load_client)

    def disconnected(self, load_client: LoadClient) -> None:
        """The connection has ended."""
        self.load_clients[load_client.place] = None
        if load_client.ready:
            load_client.ready = False
            self.ready -= 1
            self.meter.connected -= 1

    def receiver(self, client: int) -> Receiver:
        """The accounts of this client, which continue when it connects again."""
        if client not in self._receivers:
            share = None
            names = {share_of(self.group, one) for one in filters_of(self.group, client)} - {None}
            if self.group.protocol == "amqp":
                names = {name for name in names if self._consumers[name] > 1}
            if names:
                name = "+".join(sorted(str(one) for one in names))
                share = self.shares.setdefault(name, Share(self._streams))
            self._receivers[client] = Receiver(share)
        return self._receivers[client]

    @cached_property
    def _consumers(self) -> Counter[str | None]:
        """How many clients of the plan consume from each queue: one alone gets all of it, and in order."""
        groups = [group for group in self.plan.groups if group.receives and group.protocol == "amqp"]
        return Counter(
            share_of(group, one)
            for group in groups
            for client in range(group.clients)
            for one in filters_of(group, client)
        )

    def take(self, receiver: Receiver, group: int, rows: NDArray[np.void], size: int, now: int) -> None:
        """Count messages of one group: `rows` has the columns of the header, `size` is their total length."""
        due, meter = rows["due"], self.meter
        if not self._known(group, int(rows["sender"].max()), int(due.min()) if self.epoch else 0):
            ours = (due >= self.epoch) & (rows["sender"] < self._streams.get(group, 0))
            meter.errors += len(rows) - int(np.count_nonzero(ours)) - 1
            meter.failed("messages arrived that this load did not send")
            rows, size = rows[ours], size * int(np.count_nonzero(ours)) // len(rows)
            if not len(rows):
                return
            due = rows["due"]
        meter.received += len(rows)
        meter.bytes_received += size
        meter.recorder(self._kind(group)).record_all(now - due)
        if self.measures_service:
            meter.recorder("service").record_all(now - rows["sent"])
        receiver.take(group, rows["sender"], rows["sequence"], self._faults)

    def take_one(self, receiver: Receiver, values: Sequence[int], size: int, now: int) -> bool:
        """Count one message by its header, `values`; False if it does not belong to this load."""
        magic, group, sender, sequence, due, sent = values
        if magic != payloads.MAGIC or not self._known(group, sender, due):
            self.meter.failed("a message arrived that this load did not send")
            return False
        meter = self.meter
        meter.received += 1
        meter.bytes_received += size
        meter.recorder(self._kind(group)).record(now - due)
        meter.recorder("service").record(now - sent)
        receiver.take_one(group, sender, sequence, self._faults)
        return True

    def returned(self, client: int, receiver: Receiver) -> int:
        """How many of a client's own messages have come back to it."""
        topics = self.group.topics
        first = client * topics
        return sum(receiver.highest(self.index, first + topic) for topic in range(topics))

    def _known(self, group: int, sender: int, due: int) -> bool:
        return due >= self.epoch and sender < self._streams.get(group, 0)

    def _kind(self, group: int) -> str:
        return "round_trip" if self.group.role == "request" and group == self.index else "message"

    def collect(self) -> None:
        """Add what the accounts have found to the meter."""
        faults, meter = self._faults, self.meter
        meter.lost += faults.lost
        meter.duplicates += faults.duplicates
        meter.reordered += faults.reordered
        self._faults = Faults()

    # Sending

    def start(self, at: int, until: int) -> None:
        """Send from then on; times are ns."""
        self._until = until
        self.epoch = at - 1_000_000_000
        if not self.group.sends or not len(self.clients):
            return
        if self.group.rate is None and self.group.pace == "steady":  # a closed loop has no schedule
            for load_client in self.load_clients:
                if load_client is not None:
                    self._queue(load_client)
            return
        seconds = (until - at) / 1e9
        share = len(self.clients) / self.group.clients
        self._schedule = Schedule(pieces_of(self.group, seconds), at, share, self.process / self.plan.processes)
        self._next = list(range(len(self.clients)))

    def change_rate(self, factor: float, now: int) -> None:
        """From now on, send at this multiple of the planned rate."""
        if self._schedule is not None:
            self._schedule.change(factor, now)

    def wake(self, load_client: LoadClient) -> None:
        """Note that this client may be able to send again."""
        if self._schedule is None or load_client.place in self._behind:
            self._queue(load_client)

    def _queue(self, load_client: LoadClient) -> None:
        if not load_client.queued:
            load_client.queued = True
            self._able.append(load_client)

    def _take_able(self) -> Iterator[LoadClient]:
        """Clients that may be able to send, once each; those added during the loop wait for the next call."""
        for _ in range(len(self._able)):
            load_client = self._able.popleft()
            load_client.queued = False
            yield load_client

    @property
    def has_waiting_clients(self) -> bool:
        """Whether clients can send that could not before."""
        return bool(self._able)

    def pump(self, now: int) -> int:
        """Send what is due; returns when to call this again at the latest (ns)."""
        if self._until == NEVER or not self.group.sends:
            return NEVER
        if self._schedule is None:
            return self._pump_closed(now)
        total = self._schedule.count(min(now, self._until))
        if now < self._until:
            self._catch_up(total, now)
        if total > self._dealt:
            self._deal(total, now)
        if now >= self._until:
            return NEVER
        return self._schedule.when(total)

    def _pump_closed(self, now: int) -> int:
        if now >= self._until:
            return NEVER
        for load_client in self._take_able():
            if room := load_client.room():
                load_client.send(np.full(room, now), now)
                if load_client.room():
                    self._queue(load_client)
        return now if self._able else NEVER

    def _deal(self, total: int, now: int) -> None:
        """Distribute messages that are newly due to the clients in turn, and send them."""
        first, clients = self._dealt, len(self.clients)
        # Clients that are behind have missed their turn: `_catch_up` sends for them what is dealt here, too.
        self._dealt = total
        if len(self._behind) == clients:
            return
        for offset in range(min(clients, total - first)):
            place = (first + offset) % clients
            if place not in self._behind:
                self._advance(place, total, now, punctual=True)

    def _catch_up(self, total: int, now: int) -> None:
        """Let the clients that are behind continue."""
        for load_client in self._take_able():
            if load_client.place in self._behind:
                self._behind.discard(load_client.place)
                self._advance(load_client.place, total, now, punctual=load_client.place in self._halfway)

    def _advance(self, place: int, total: int, now: int, *, punctual: bool) -> None:
        """Let a client send what it can of its messages with numbers below `total`; with any left it is behind.

        `punctual`: if these are late, that is not because the client had to wait for the broker.
        """
        assert self._schedule is not None
        load_client, clients = self.load_clients[place], len(self.clients)
        wanted = -(-(total - self._next[place]) // clients)
        sent = min(wanted, load_client.room()) if load_client is not None else 0
        if sent and load_client is not None:
            if sent == 1:
                due = np.array([self._schedule.when(self._next[place])])
            else:
                due = self._schedule.due(self._next[place], sent, clients)
            load_client.send(due, now)
            self._next[place] += sent * clients
            lateness = now - due
            self.meter.recorder("lateness").record_all(lateness)
            if punctual:
                self.own_lateness.record_all(lateness)
        self._halfway.discard(place)
        if sent < wanted:
            self._behind.add(place)
            if load_client is not None and load_client.room():  # a batch has its limit, the broker did nothing
                self._halfway.add(place)
                self._queue(load_client)

    @property
    def unsent(self) -> int:
        """Messages that were due and could not be sent."""
        clients = len(self.clients)
        return sum(-(-(self._dealt - self._next[place]) // clients) for place in self._behind)

    def stop_waiting(self, now: int) -> None:
        """Let clients send again that have waited too long for their own messages."""
        if not self.answered_window or now < self._next_check:
            return
        for load_client, count, before in zip(self.load_clients, self.counts, self._earlier, strict=False):
            if load_client is not None and load_client.ready and count == before:
                load_client.stop_waiting()
                self._queue(load_client)
        self._earlier = list(self.counts)
        self._next_check = now + _PATIENCE

    def ping(self, now: int) -> int:
        """Send a ping for each client that is due; returns when to call this again (ns)."""
        if not self.group.keep_alive or not self.load_clients:
            return NEVER
        # In turn, not all at once: ten thousand pings together would make messages late.
        apart = max(1, self.group.keep_alive * 1_000_000_000 // 2 // len(self.load_clients))
        if not self._ping_due:
            self._ping_due = now + apart
        while self._ping_due <= now:
            load_client = self.load_clients[self._pinged % len(self.load_clients)]
            if load_client is not None and load_client.ready:
                load_client.ping()
            self._pinged += 1
            self._ping_due += apart
        return self._ping_due

    def outstanding(self) -> int:
        """Messages that the broker has not acknowledged."""
        return sum(load_client.outstanding() for load_client in self.load_clients if load_client is not None)

    def stop(self, now: int) -> None:
        """Send nothing that is due later."""
        self._until = min(self._until, now)
