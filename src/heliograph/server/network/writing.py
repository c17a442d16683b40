"""Writing to clients: once per turn of the event loop and client, however many messages that is.

**What it owns.** `Writer` owns the set of open connections (`outlets`), and decides when the broker's turn ends and
outlets are flushed. What is to be written is in the outlets: conversations append chunks and mark the outlet as dirty.

**When it flushes.** At the end of a turn of the reactor (`flush`); after anything else that may have put chunks into
outlets, by `soon`, at the latest before the loop waits again; and after each slice of long work. `flush` ends the
broker's turn first: what was published together is stored and delivered together, and nothing leaves before that.

**A flush** may cause more work: writing can end connections, whose wills are messages for others, and frees space in
buffers, which fills outlets again. So it repeats until nothing is dirty, or until a slice of time is used up; then it
continues in the next turn. Clients that are blamed for a defect are cut off before anything is written.

**The end of a connection.** `closed` is called exactly once for each connection, from wherever it ended. The
conversation gets `lost` there and is forgotten, so that no cycle of objects is left for the garbage collector.
"""

import asyncio
from abc import abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from time import monotonic
from typing import cast

from heliograph.broker import SLICE, Authenticator, Broker, Conversation, Hold, Outlet
from heliograph.mqtt import Reason
from heliograph.server.config.schema import ListenerProtocol
from heliograph.server.hosts import address_text
from heliograph.server.network.closing import LINGER, Lingering
from heliograph.server.watchdog import Watchdog

# Past this much unsent data, messages for a client wait in its subscriptions' buffers.
HIGH_WATER = 1 << 20
# Answers (PUBACK, PINGRESP ...) may go beyond that, but a client that never reads them is not read from either.
HARD_LIMIT = 4 * HIGH_WATER
# Chunks that are larger than this on average are written as they are.
_WORTH_PIECES = 4096
# When the server stops, clients that have read their last bytes have this many seconds to close.
_TIME_TO_CLOSE = 0.5


class NetworkOutlet(Outlet):
    """An outlet that leads to a network connection."""

    __slots__ = ("_unsent_hold", "address", "connection")

    def __init__(self, address: object) -> None:
        super().__init__()
        self.address = address
        """Of the client, as the kernel told it."""
        self._unsent_hold: Hold | None = None
        self.connection: Conversation
        """The other half of the conversation, set right after this one is made."""

    def take_chunks(self) -> list[bytes | memoryview]:
        """The chunks to write now, joined unless they are so large that copying costs more than it saves."""
        chunks = self.chunks
        self.chunks = []
        if len(chunks) > 1 and sum(map(len, chunks)) < _WORTH_PIECES * len(chunks):
            return [b"".join(chunks)]
        return chunks

    def note_unsent(self, size: int) -> bool:
        """Charge `size` unsent bytes to the client; returns whether there is memory for them."""
        if not size:
            self._unsent_hold = None
            return True
        if self._unsent_hold is None:
            if self.account is None:
                return True
            self._unsent_hold = Hold(self.account)
        return self._unsent_hold.set(size)

    def describe(self) -> dict[str, str]:
        """The client and what it has sent last, for log lines."""
        return {**self.connection.describe(), "address": self.peer()}

    def peer(self) -> str:
        """The client's address, for people."""
        return peer_text(self.address)

    @abstractmethod
    def flush(self) -> int:
        """Write all chunks, then close the connection if the outlet is finished; returns the bytes written."""

    @abstractmethod
    def abort(self) -> None:
        """Close the connection at once, whatever is still unwritten."""


def peer_text(peer: object) -> str:
    """An address for people."""
    if isinstance(peer, tuple) and len(peer) >= 2:
        return address_text(peer[0], peer[1])
    return "local"


Protocols = Mapping[ListenerProtocol, Callable[[Outlet, Authenticator], Conversation]]
"""How to begin a conversation, by what the client speaks."""


class Writer:
    """All open connections; ends the broker's turns and flushes outlets that have something to send."""

    def __init__(
        self, broker: Broker, loop: asyncio.AbstractEventLoop, protocols: Protocols, watchdog: Watchdog
    ) -> None:
        self.broker = broker
        self.watchdog = watchdog
        self._protocols = protocols
        self._loop = loop
        self._due = False
        self._scheduled = False
        self._slicing = False
        self._sliced: Outlet | None = None
        """The client whose work was done last."""
        broker.slices.more = self._more_slices
        self.outlets: set[NetworkOutlet] = set()
        """Open connections, whether their client has been admitted or not."""
        self.pages: Callable[[], int] = int
        """How many connections to the pages there are beside them."""
        self._all_closed = asyncio.Event()
        self.lingering = Lingering(loop)
        """Sockets of connections that were ended here, when all has been written."""

    def opened(self, outlet: NetworkOutlet, authenticator: Authenticator, protocol: ListenerProtocol) -> None:
        """Begin the conversation of an accepted connection."""
        outlet.connection = self._protocols[protocol](outlet, authenticator)
        self.outlets.add(outlet)

    def closed(self, outlet: NetworkOutlet) -> None:
        """Forget a connection that has ended."""
        connection, address = outlet.connection, outlet.address
        who = connection.describe()  # as long as it knows
        self.watchdog.mark(lambda: {**who, "address": peer_text(address), "sent": "the end of the connection"})
        try:
            connection.lost()
        except Exception:
            # The client is gone all the same, and nobody shall take it for connected.
            outlet.connected = outlet.open = False
            self.broker.defects.note("the end of a connection")
        self.broker.turn.restless = True  # there may be a will, or messages for somebody else
        del outlet.connection  # or the two would keep each other alive until the garbage collector comes by
        self.outlets.discard(outlet)
        if not self.outlets:
            self._all_closed.set()

    def is_open(self, outlet: Outlet) -> bool:
        """Whether the connection is still there."""
        return outlet in self.outlets

    def address_of(self, outlet: Outlet) -> str:
        """The address of a client, as text."""
        assert isinstance(outlet, NetworkOutlet)
        return outlet.peer()

    def linger(self, outlet: NetworkOutlet) -> None:
        """A connection has ended with bytes still to be read by the client: it is cut off if that takes too long."""
        self._loop.call_later(LINGER, self._cut_off, outlet)

    def _cut_off_culprits(self) -> None:
        """End the connections of clients that a defect is blamed on, without writing anything more to them."""
        culprits, self.broker.defects.culprits = self.broker.defects.culprits, []
        for outlet in culprits:
            if outlet in self.outlets:
                assert isinstance(outlet, NetworkOutlet)
                outlet.abort()

    def _cut_off(self, outlet: NetworkOutlet) -> None:
        if outlet in self.outlets:
            outlet.abort()

    async def close_all(self, reason: Reason, text: str, patience: float) -> None:
        """End all connections; those that have not read their last bytes after `patience` seconds are cut off."""
        for outlet in list(self.outlets):
            try:
                outlet.connection.end(reason, text)
            except Exception:
                self.broker.defects.note("the end of a connection", outlet)
        self.flush()
        if self.outlets:
            self._all_closed.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._all_closed.wait(), patience)
        for outlet in list(self.outlets):
            outlet.abort()
        self.flush()
        await self.lingering.close_all(_TIME_TO_CLOSE)

    def soon(self) -> None:
        """Write chunks that may be in outlets before the loop waits again."""
        broker = self.broker
        if broker.turn.dirty or broker.store is not None or broker.queues.awake:
            self._again()

    def _again(self) -> None:
        self._due = True
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._flush_if_due)

    def _flush_if_due(self) -> None:
        self._scheduled = False
        if self._due:  # nobody has done it meanwhile
            self.flush()

    def _more_slices(self) -> None:
        """There is work in slices: do the next slice after the next turn of the clients."""
        if not self._slicing:
            self._slicing = True
            self._loop.call_soon(self._do_slice)

    def _do_slice(self) -> None:
        self._slicing = False
        slices = self.broker.slices
        self.watchdog.mark(self._describe_slice)
        self._sliced = slices.run()
        self._again()
        if slices.busy:
            self._more_slices()

    def _describe_slice(self) -> dict[str, str]:
        outlet = self._sliced
        who = outlet.describe() if isinstance(outlet, NetworkOutlet) and outlet in self.outlets else {}
        return {**who, "what": "work in slices"}

    def flush(self, began: float = 0.0) -> None:
        """End the broker's turn and write now. `began` is the present time, if the caller knows it."""
        self._due = False
        broker = self.broker
        sent = 0
        began = began or monotonic()
        broker.turn.end()
        # Writing can end connections, whose wills are then messages for others, and makes room for more messages: go on
        # until nothing is left, or until it is the turn of others. A client may read as fast as it is written to.
        while broker.turn.dirty or broker.defects.culprits:
            if broker.defects.culprits:
                self._cut_off_culprits()
            dirty = broker.turn.take_dirty()
            for outlet in cast("list[NetworkOutlet]", dirty):  # all are; to ask each would cost more than to believe
                try:
                    sent += outlet.flush()
                except Exception:
                    # A defect met while writing to one client must not end the service for all others.
                    broker.defects.note("writing to a client", outlet)
            if broker.turn.restless:
                if monotonic() >= began + SLICE:
                    self._again()
                    break
                broker.turn.restless = False
                broker.turn.end()
        broker.stats.bytes_sent += sent
