"""What a protocol has to bring: one `LoadClient` for each connection, made by its `ClientGroup`.

A worker process has a `ClientGroup` for each group of the plan, which owns what its clients have in common (pace,
accounts, meters, templates). The worker does the rest: sockets, TLS and WebSocket (`Link`), timers, phases.
"""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from heliograph.lab.network import BrokerGone

if TYPE_CHECKING:
    from heliograph.lab.load.client_group import ClientGroup
    from heliograph.lab.load.link import Link

Times = NDArray[np.int64]


class ClientFailed(BrokerGone):
    """The conversation cannot go on; the text says why. The worker counts an error and closes the connection."""


class LoadClient(ABC):
    """One client on one connection.

    A client calls `client_group.connected(self, now)` when the broker has accepted it, `client_group.is_ready(self)`
    when it may do its work (connected and, where its role subscribes, subscribed: how long that took goes into
    `client_group.meter.recorder("subscribe")`), and `client_group.take` or `client_group.take_one` for messages that
    arrive. It counts what it sends (`sent`, `bytes_sent`) and what the broker acknowledges in `client_group.meter`, and
    keeps `client_group.counts[self.place]`. All calls come from one thread.
    """

    __slots__ = ("began", "client", "client_group", "link", "place", "queued", "ready")

    def __init__(self, client_group: "ClientGroup", client: int, link: "Link", began: int) -> None:
        self.client_group = client_group
        self.client = client  # its number in the whole group
        self.place = client_group.place(client)  # its number among those of this process
        self.link = link
        self.began = began  # when its connect was due, ns
        self.ready = False
        self.queued = False  # the client_group's: whether it is going to be asked for room

    @abstractmethod
    def opened(self, now: int) -> None:
        """The link is up (TCP, TLS, WebSocket): say hello with `link.write`."""

    @abstractmethod
    def feed(self, data: memoryview, now: int) -> int:
        """Take whole frames or packets from the front of `data`; how many bytes were used.

        `now` (ns) is when they were read. The memory is used again afterwards. What is not used comes again, with more
        behind it. Raises ClientFailed.
        """

    @abstractmethod
    def room(self) -> int:
        """How many messages it can send now: what window and credit allow; 0 while `link.blocked`."""

    @abstractmethod
    def send(self, due: Times, now: int) -> int:
        """Send the next len(due) messages of this client, the i-th of which is due at due[i]; how many were taken.

        Never called with more than `room()` or while not ready.
        """

    @abstractmethod
    def outstanding(self) -> int:
        """Messages sent and neither acknowledged nor settled yet."""

    @abstractmethod
    def say_goodbye(self) -> None:
        """Write what ends the conversation politely; the worker closes the link afterwards."""

    def forgive(self) -> None:  # noqa: B027  (most have nothing to forgive)
        """Nothing has come back for seconds: stop counting on it, where that keeps a closed loop from sending."""

    @abstractmethod
    def ping(self) -> None:
        """Called every half of `keep_alive`, if that is not 0."""
