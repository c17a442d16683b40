"""Connects the clients of a group at their rate; clients of connection bursts connect again and again.

A client waits, is connecting (`opening` counts these), becomes ready, and may fail at any time. A failed client tries
again after a while. Before the load has begun, too many failures end it; afterwards they only count as errors. Clients
of a burst are disconnected after their stay, and wait again.
"""

import heapq
from collections import deque
from collections.abc import Callable
from itertools import count

from heliograph.lab.errors import ClientFailed
from heliograph.lab.load.client_group import ClientGroup, LoadClient
from heliograph.lab.load.schedule import NEVER, Piece, Schedule

# More connections in the making than the broker's queue of new ones holds would wait for TCP to try again: a second.
MOST_OPENING = 100
ANSWER_SECONDS = 30  # that a broker may take until a client is connected and subscribed
TRIES = 3  # of a client that cannot connect at first, before the load is given up
_RETRY = 200_000_000  # ns until a client that has lost its connection tries again


class Dialer:
    """Decides which clients connect, and when."""

    def __init__(
        self,
        client_group: ClientGroup,
        opened: Callable[[LoadClient], None],
        closed: Callable[[LoadClient], None],
        broken: Callable[[LoadClient, str], None],
        at_once: int = MOST_OPENING,
    ) -> None:
        """`opened` is called with clients whose connection is being made, `closed` with those that are to be closed,
        `broken` with those that got no answer, and a text that says so.
        """
        self.client_group = client_group
        self.bursts = client_group.group.role == "connect"
        self.opening = 0
        self._opened = opened
        self._closed = closed
        self._broken = broken
        self._at_once = at_once
        self._unanswered: deque[tuple[int, LoadClient]] = deque()  # when they are given up
        self._waiting: deque[int] = deque()
        self._schedule: Schedule | None = None
        self._started = False
        self._dialled = 0
        self._failures = 0
        self._order = count()
        self._drops: list[tuple[int, int, LoadClient]] = []
        self._retries: deque[tuple[int, int]] = deque()
        self._until = NEVER
        self._began = 0
        self.took: int | None = None
        """Nanoseconds until all were connected and ready for the first time."""

    def start(self, now: int, until: int = NEVER) -> None:
        """Start connecting clients; `until` is when bursts end."""
        self._waiting.extend(self.client_group.clients)
        self._began = now
        self._until = until
        self._started = True
        rate = self.client_group.group.connect_rate
        if rate is not None:
            share = len(self.client_group.clients) / self.client_group.group.clients
            phase = self.client_group.process / self.client_group.plan.processes
            self._schedule = Schedule((Piece(0.0, rate),), now, share, phase)

    @property
    def complete(self) -> bool:
        """Whether all clients are ready; always so for bursts."""
        return self.bursts or self.client_group.ready == len(self.client_group.clients)

    def turn(self, now: int) -> int:
        """Connect and disconnect clients that are due; returns when to call this again at the latest (ns)."""
        if not self._started:
            return NEVER
        while self._drops and self._drops[0][0] <= now:
            _, _, load_client = heapq.heappop(self._drops)
            if load_client.ready:
                self._drop(load_client)
        while self._unanswered and (self._unanswered[0][0] <= now or self._unanswered[0][1].ready):
            _, load_client = self._unanswered.popleft()
            if self.client_group.load_clients[load_client.place] is load_client and not load_client.ready:
                self._broken(load_client, f"the broker did not answer for {ANSWER_SECONDS} s")
        while self._retries and self._retries[0][0] <= now:
            self._waiting.append(self._retries.popleft()[1])
        if self.bursts and now >= self._until:
            self._waiting.clear()
        soonest = min(self._drops[0][0] if self._drops else NEVER, self._retries[0][0] if self._retries else NEVER)
        while self._waiting and self.opening < self._at_once:
            due = now if self._schedule is None else self._schedule.when(self._dialled)
            if due > now:
                return min(soonest, due)
            self._dialled += 1
            self._dial(self._waiting.popleft(), due)
        return soonest

    def _dial(self, client: int, due: int) -> None:
        try:
            load_client = self.client_group.make_client(client, due)
        except ClientFailed as failure:
            self.failed(client, str(failure))
            return
        self.client_group.load_clients[self.client_group.place(client)] = load_client
        self.opening += 1
        self._unanswered.append((self.client_group.clock() + ANSWER_SECONDS * 1_000_000_000, load_client))
        self._opened(load_client)

    def settled(self, load_client: LoadClient, now: int) -> None:
        """Note that a client is ready; in a burst it stays connected for a while."""
        self.opening -= 1
        if self.took is None and self.client_group.ready == len(self.client_group.clients):
            self.took = now - self._began
        if self.bursts:
            stay = int(self.client_group.group.stay * 1e9)
            heapq.heappush(self._drops, (now + stay, next(self._order), load_client))

    def failed(self, client: int, why: str) -> None:
        """Note that a client has lost its connection or could not connect; it tries again after a pause.

        ClientFailed after too many failures before the load has begun.
        """
        self.client_group.meter.failed(why)
        if not self.client_group.epoch and not self.bursts:
            self._failures += 1
            if self._failures > TRIES * len(self.client_group.clients):
                raise ClientFailed(why)
        self._retries.append((self.client_group.clock() + _RETRY, client))

    def _drop(self, load_client: LoadClient) -> None:
        load_client.disconnect()
        self._closed(load_client)
        self._waiting.append(load_client.client)
