"""AMQP clients for a closed loop: senders that put as far as a window allows, and responders that answer requests."""

import time
from collections import deque
from collections.abc import Sequence

import numpy as np

from heliograph.lab.load.amqp.client import AmqpClientGroup, AmqpLoadClient
from heliograph.lab.load.client_group import LoadClient
from heliograph.lab.load.ledger import Receiver
from heliograph.lab.load.schedule import Times


class QueueSender:
    """Puts messages that each of `receivers` is to get; never more than `window` of them are in flight.

    It sends `batch` of them at the least: as a pipelining client does, whose socket buffer fills while the broker is
    busy. With `commit` it sends exactly so many, when all before them are safe.
    """

    def __init__(
        self,
        client: AmqpLoadClient,
        receivers: Sequence[Receiver],
        window: int,
        batch: int,
        commit: int = 0,
        answered_by: int | None = None,
    ) -> None:
        """`answered_by` is the group whose answers the receivers get, where it is not the messages themselves."""
        self.sent_at: deque[tuple[int, int]] = deque()  # runs that wait for a responder: how many, and when (ns)
        self._client = client
        self._receivers = receivers
        self._window = window
        self._batch = batch
        self._commit = commit
        self._heard = client.client_group.index if answered_by is None else answered_by

    @property
    def sent(self) -> int:
        """Messages so far."""
        return self._client.count

    @property
    def settled(self) -> int:
        """Messages that every receiver has got and the broker has accepted."""
        client = self._client
        heard, number = self._heard, client.client
        accepted = client.count - client.session.flight.count
        return min([accepted, *[receiver.highest(heard, number) for receiver in self._receivers]])

    def batch(self) -> int:
        """How many messages to send now: none until the window has opened far enough."""
        client = self._client
        room = self.settled + self._window - client.count
        if room < self._batch or (room := min(room, client.credit())) < self._batch:
            return 0
        if not self._commit:
            return room
        return 0 if client.session.flight.count else self._commit

    def send_next(self, count: int) -> None:
        """Put the next messages."""
        now = time.monotonic_ns()
        self.sent_at.append((count, now))
        self._client.send_all(np.full(count, now), now)


class Responder:
    """Puts an answer on a queue for each request that it gets; the answer says when the request was sent."""

    def __init__(self, client: AmqpLoadClient, asker: QueueSender) -> None:
        self._client = client
        self._asker = asker

    def answer(self) -> None:
        """Answer what has arrived, as far as the broker takes answers now; the rest when it gives credit again."""
        client = self._client
        due = client.received - client.count
        if due > 0 and (count := min(due, client.credit())) > 0:
            client.send_all(self._asked_at(count), time.monotonic_ns())

    def _asked_at(self, count: int) -> Times:
        """When the next so many requests were sent; of those that came twice there is no time but now."""
        runs = self._asker.sent_at
        times = np.full(count, time.monotonic_ns())
        filled = 0
        while filled < count and runs:
            size, at = runs[0]
            part = min(size, count - filled)
            times[filled : filled + part] = at
            filled += part
            if part == size:
                runs.popleft()
            else:
                runs[0] = size - part, at
        return times


class QueueClients(AmqpClientGroup):
    """A group in a closed loop: there, messages are due when they are sent."""

    measures_service = False


class Responders(QueueClients):
    """A group whose clients answer as soon as they have read what has arrived."""

    answering: Sequence[Responder] = ()

    def wake(self, load_client: LoadClient) -> None:
        """This client has read something: requests, or credit for answers that wait."""
        if self.answering:
            self.answering[load_client.place].answer()


def clients_of(group: AmqpClientGroup) -> list[AmqpLoadClient]:
    """All that are connected."""
    return [one for one in group.load_clients if isinstance(one, AmqpLoadClient)]
