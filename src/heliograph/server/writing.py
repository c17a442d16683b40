"""Writing to clients: once per turn of the event loop and client, however many messages that is."""

import asyncio
from abc import abstractmethod

from heliograph.broker.broker import Broker
from heliograph.broker.outlet import Outlet

# Past this much unsent data, messages for a client wait in its subscriptions' buffers.
HIGH_WATER = 1 << 20
# Answers (PUBACK, PINGRESP ...) may go beyond that, but a client that never reads them is not read from either.
HARD_LIMIT = 4 * HIGH_WATER


class NetworkOutlet(Outlet):
    """An outlet that leads to a network connection."""

    __slots__ = ()

    def take_chunks(self) -> bytes:
        """What is to be written now, in one piece."""
        chunks = self.chunks
        self.chunks = []
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)

    @abstractmethod
    def flush(self) -> int:
        """Write all chunks, and close the connection behind them if the outlet is finished; how many bytes went."""


class Writer:
    """Flushes the broker's dirty outlets at the end of the loop's turn."""

    def __init__(self, broker: Broker, loop: asyncio.AbstractEventLoop) -> None:
        self.broker = broker
        self._loop = loop
        self._scheduled = False

    def soon(self) -> None:
        """Something may have been put into outlets: write it before the loop waits again."""
        if not self._scheduled and self.broker.dirty:
            self._scheduled = True
            self._loop.call_soon(self.flush)

    def flush(self) -> None:
        """Write now."""
        self._scheduled = False
        broker = self.broker
        sent = 0
        # Writing can end connections, whose wills are then messages for others: go on until nothing is left.
        while broker.dirty:
            dirty, broker.dirty = broker.dirty, []
            for outlet in dirty:
                assert isinstance(outlet, NetworkOutlet)
                sent += outlet.flush()
        broker.stats.bytes_sent += sent
