"""The sending side of one connection, as the broker sees it: a list of chunks that the server writes out."""

from heliograph.broker.core.memory import Account, Hold

_ALIAS_COST = 150


class Outlet:
    """The queue of bytes to one client.

    The broker appends to `chunks`. When the list was empty, it also puts the outlet on the turn's `dirty` list: that is
    how the server finds what to write without looking at all connections. The server joins and writes the chunks once
    per turn. It clears `open` while the client does not read fast enough; messages then wait in the buffers of
    subscriptions.
    """

    __slots__ = (
        "_aliases_hold",
        "account",
        "alias_maximum",
        "aliases",
        "answered",
        "chunks",
        "connected",
        "finished",
        "left",
        "max_packet",
        "open",
        "unsafe",
        "version5",
    )

    def __init__(self) -> None:
        self.chunks: list[bytes | memoryview] = []
        self.connected = False
        """The client was admitted and has not disconnected."""
        self.open = False
        """Connected, and able to take more right now."""
        self.finished = False
        """Nothing more is sent: the server closes the connection when the chunks are written."""
        self.left = False
        """The client ended the connection itself, so it needs no DISCONNECT."""
        self.unsafe = 0
        """Number of chunks that are held back until the log is safe; see `storage/held_back.py`."""
        self.answered = 0.0
        """When a chunk that had been held back was last released; 0: never."""
        self.version5 = False
        self.max_packet = 0
        """The client's maximum packet size; 0: no limit."""
        self.alias_maximum = 0
        """The most topic aliases that the server may use towards the client."""
        self.aliases: dict[bytes, int] | None = None
        self.account: Account | None = None
        """The memory account of the client, once it is known who that is."""
        self._aliases_hold: Hold | None = None

    @property
    def one_by_one(self) -> bool:
        """Whether each message must be handled by itself: the client has a maximum packet size, or topic aliases."""
        return self.max_packet > 0 or self.alias_maximum > 0

    def keep_alias(self, topic: bytes, before: bytes | None = None) -> bool:
        """Charge memory for a topic alias (of either direction), which replaces the alias for `before`, if given.

        False if there is no room.
        """
        if self.account is None:
            return True
        if self._aliases_hold is None:
            self._aliases_hold = Hold(self.account)
        size = _ALIAS_COST + len(topic) if before is None else len(topic) - len(before)
        if size > 0 and not self.account.has_room(size):
            return False
        self._aliases_hold.set(self._aliases_hold.size + size)
        return True

    def stop_reading(self) -> None:
        """Stop reading from this client for now, because the server cannot keep up."""

    def go_on_reading(self) -> None:
        """Read from this client again."""


NOWHERE = Outlet()
"""The outlet of every session whose client is disconnected."""
