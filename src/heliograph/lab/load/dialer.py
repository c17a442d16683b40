"""Connects the clients of a crew at their rate, and those of connection bursts again and again."""

import heapq
from collections import deque
from collections.abc import Callable
from itertools import count

from heliograph.lab.load.client_group import Crew
from heliograph.lab.load.load_client import End, EndFailed
from heliograph.lab.load.schedule import NEVER, Piece, Schedule

# More connections in the making than the broker's queue of new ones holds would wait for TCP to try again: a second.
MOST_OPENING = 100
ANSWER_SECONDS = 30  # that a broker may take until a client is connected and subscribed
TRIES = 3  # of a client that cannot connect at first, before the load is given up
_RETRY = 200_000_000  # ns until a client that has lost its connection tries again


class Dialer:
    """Who is to connect, and when."""

    def __init__(
        self,
        crew: Crew,
        opened: Callable[[End], None],
        closed: Callable[[End], None],
        broken: Callable[[End, str], None],
    ) -> None:
        """`opened` is told of ends whose connection is being made, `closed` of those that are to be closed, and
        `broken` of those that got no answer, with words for that.
        """
        self.crew = crew
        self.bursts = crew.group.role == "connect"
        self.opening = 0
        self._opened = opened
        self._closed = closed
        self._broken = broken
        self._unanswered: deque[tuple[int, End]] = deque()  # when they are given up
        self._waiting: deque[int] = deque()
        self._schedule: Schedule | None = None
        self._started = False
        self._dialled = 0
        self._failures = 0
        self._order = count()
        self._drops: list[tuple[int, int, End]] = []
        self._retries: deque[tuple[int, int]] = deque()
        self._until = NEVER
        self._began = 0
        self.took: int | None = None
        """Nanoseconds until all were connected and ready for the first time."""

    def start(self, now: int, until: int = NEVER) -> None:
        """Connect everybody from now on; `until` is when bursts end."""
        self._waiting.extend(self.crew.clients)
        self._began = now
        self._until = until
        self._started = True
        rate = self.crew.group.connect_rate
        if rate is not None:
            share = len(self.crew.clients) / self.crew.group.clients
            phase = self.crew.process / self.crew.plan.processes
            self._schedule = Schedule((Piece(0.0, rate),), now, share, phase)

    @property
    def complete(self) -> bool:
        """Whether everybody is ready to work; bursts need nobody."""
        return self.bursts or self.crew.ready == len(self.crew.clients)

    def turn(self, now: int) -> int:
        """Connect and drop those whose time has come; when to come again at the latest (ns)."""
        if not self._started:
            return NEVER
        while self._drops and self._drops[0][0] <= now:
            _, _, end = heapq.heappop(self._drops)
            if end.ready:
                self._drop(end)
        while self._unanswered and (self._unanswered[0][0] <= now or self._unanswered[0][1].ready):
            _, end = self._unanswered.popleft()
            if self.crew.ends[end.place] is end and not end.ready:
                self._broken(end, f"the broker did not answer for {ANSWER_SECONDS} s")
        while self._retries and self._retries[0][0] <= now:
            self._waiting.append(self._retries.popleft()[1])
        if self.bursts and now >= self._until:
            self._waiting.clear()
        soonest = min(self._drops[0][0] if self._drops else NEVER, self._retries[0][0] if self._retries else NEVER)
        while self._waiting and self.opening < MOST_OPENING:
            due = now if self._schedule is None else self._schedule.when(self._dialled)
            if due > now:
                return min(soonest, due)
            self._dialled += 1
            self._dial(self._waiting.popleft(), due)
        return soonest

    def _dial(self, client: int, due: int) -> None:
        try:
            end = self.crew.make_end(client, due)
        except EndFailed as failure:
            self.failed(client, str(failure))
            return
        self.crew.ends[self.crew.place(client)] = end
        self.opening += 1
        self._unanswered.append((self.crew.clock() + ANSWER_SECONDS * 1_000_000_000, end))
        self._opened(end)

    def settled(self, end: End, now: int) -> None:
        """This end is ready; in a burst it stays for a while."""
        self.opening -= 1
        if self.took is None and self.crew.ready == len(self.crew.clients):
            self.took = now - self._began
        if self.bursts:
            stay = int(self.crew.group.stay * 1e9)
            heapq.heappush(self._drops, (now + stay, next(self._order), end))

    def failed(self, client: int, why: str) -> None:
        """This client has lost its connection or could not get one; it tries again a little later.

        EndFailed if that happens so often while the load has not even begun that it makes no sense to go on.
        """
        self.crew.meter.failed(why)
        if not self.crew.epoch and not self.bursts:
            self._failures += 1
            if self._failures > TRIES * len(self.crew.clients):
                raise EndFailed(why)
        self._retries.append((self.crew.clock() + _RETRY, client))

    def _drop(self, end: End) -> None:
        end.say_goodbye()
        self._closed(end)
        self._waiting.append(end.client)
