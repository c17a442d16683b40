"""The event loop of a process that puts load on a broker: it connects clients, reads for them, and writes for them."""

import select
import time
from collections.abc import Callable, Iterable

from heliograph.lab.errors import BrokerGone, ClientFailed
from heliograph.lab.load.client_group import ClientGroup, LoadClient
from heliograph.lab.load.dialer import MOST_OPENING, Dialer
from heliograph.lab.load.link import WRITE, Inbox

_CONNECTING = 0.05  # seconds between two looks whether more clients can be connected

Failed = Callable[[LoadClient, Dialer, str], None]


def _try_again(load_client: LoadClient, dialer: Dialer, why: str) -> None:
    dialer.failed(load_client.client, why)


def give_up(_load_client: LoadClient, _dialer: Dialer, why: str) -> None:
    """Raise the failure: for loads that end when one of their clients fails."""
    raise BrokerGone(why)


class ClientLoop:
    """All clients of one process, in one epoll set."""

    def __init__(self, failed: Failed = _try_again) -> None:
        """`failed` is called with each client whose connection has failed, once it is closed, and the reason."""
        self.poller = select.epoll()
        self.dialers: list[Dialer] = []
        self._failed = failed
        self._inbox = Inbox()
        self._links: dict[int, tuple[LoadClient, Dialer]] = {}  # by file descriptor

    def add(self, client_group: ClientGroup, at_once: int = MOST_OPENING) -> Dialer:
        """Serve the clients of this group, which the dialer connects, a limited number at a time."""
        dialer = Dialer(client_group, self._opened, self._close, self._break, at_once)
        self.dialers.append(dialer)
        return dialer

    def connect(self, *client_groups: ClientGroup, at_once: int = MOST_OPENING) -> None:
        """Connect all clients of these groups, a limited number at a time, and wait until they are ready."""
        dialers = [self.add(one, at_once) for one in client_groups]
        for dialer in dialers:
            dialer.start(time.monotonic_ns())
        while any(one.ready < len(one.clients) for one in client_groups):
            for dialer in dialers:
                dialer.turn(time.monotonic_ns())
            self.turn(_CONNECTING)
        self.dialers = [one for one in self.dialers if one not in dialers]

    def turn(self, timeout: float) -> bool:
        """Serve the clients for which something has arrived within this time (seconds); whether there were any."""
        events = self.poller.poll(timeout)
        for fd, mask in events:
            self.serve(fd, mask)
        return bool(events)

    def serve(self, fd: int, mask: int) -> None:
        """Read and write for the client with this descriptor."""
        found = self._links.get(fd)
        if found is None:  # closed since it was polled
            return
        load_client, dialer = found
        link = load_client.link
        was_ready = load_client.ready  # the dialer is told of the change only
        try:
            if not link.up:
                if link.proceed():
                    load_client.opened(time.monotonic_ns())
                return
            if mask & WRITE:
                link.flush()
            if mask & ~WRITE:
                more = True
                while more:
                    data, more = link.receive(self._inbox)
                    link.keep(data, load_client.feed(data, time.monotonic_ns()))
            if load_client.ready:
                load_client.client_group.wake(load_client)
                if not was_ready:
                    dialer.settled(load_client, time.monotonic_ns())
        except ClientFailed as failure:
            self._fail(load_client, dialer, str(failure))

    def leave(self, load_clients: Iterable[LoadClient]) -> None:
        """Disconnect these, and wait until the broker has closed their connections.

        What the broker sends meanwhile is thrown away unacknowledged; a durable session gets it again.
        """
        leaving = list(load_clients)
        for load_client in leaving:
            load_client.disconnect()
            del self._links[load_client.link.fd]
            load_client.client_group.disconnected(load_client)
        for load_client in leaving:
            load_client.link.wait_for_end()

    def disconnect(self) -> None:
        """Disconnect all clients in good order."""
        for load_client, _ in list(self._links.values()):
            try:
                if load_client.ready:
                    load_client.disconnect()
                load_client.link.close_softly()
            except ClientFailed:
                pass  # it is gone already
        self._links.clear()

    def close(self) -> None:
        """Close all connections at once."""
        for load_client, _ in self._links.values():
            load_client.link.close()
        self._links.clear()
        self.poller.close()

    def _opened(self, load_client: LoadClient) -> None:
        dialer = next(one for one in self.dialers if one.client_group is load_client.client_group)
        self._links[load_client.link.fd] = (load_client, dialer)

    def _close(self, load_client: LoadClient) -> None:
        del self._links[load_client.link.fd]
        load_client.client_group.disconnected(load_client)
        load_client.link.close_softly()

    def _break(self, load_client: LoadClient, why: str) -> None:
        self._fail(load_client, self._links[load_client.link.fd][1], why)

    def _fail(self, load_client: LoadClient, dialer: Dialer, why: str) -> None:
        if not load_client.ready:
            dialer.opening -= 1
        del self._links[load_client.link.fd]
        load_client.client_group.disconnected(load_client)
        load_client.link.close()
        self._failed(load_client, dialer, why)
