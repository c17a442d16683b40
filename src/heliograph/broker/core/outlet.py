"""The sending side of one connection, as the broker sees it: a list of chunks that the server writes out."""

from heliograph.broker.core.memory import Account, Hold

_ALIAS_COST = 150


class Outlet:
    """Where bytes for one client go.

    The broker appends to `chunks` and, when it was empty, puts the outlet on the turn's `dirty` list; the server
    joins and writes the chunks once per turn of its loop. The server clears `open` while the client does not read
    fast enough; then everything for it waits in the subscriptions' buffers.
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
        """The client has been admitted and has not gone yet."""
        self.open = False
        """Connected, and able to take more right now."""
        self.finished = False
        """Nothing more will come: when the chunks are written, the connection is to be closed."""
        self.left = False
        """The client itself has ended the conversation, so that there is nothing that it still has to be told."""
        self.unsafe = 0
        """Chunks that wait until what they tell of is safe, and are put into `chunks` then."""
        self.answered = 0.0
        """When something last left that had been unsafe; 0: never."""
        self.version5 = False
        self.max_packet = 0
        """Largest packet the client takes; 0: any."""
        self.alias_maximum = 0
        """Topic aliases that the server may use towards the client."""
        self.aliases: dict[bytes, int] | None = None
        self.account: Account | None = None
        """Who pays for what is kept of the connection: its client, once it is known who that is."""
        self._aliases_hold: Hold | None = None

    @property
    def one_by_one(self) -> bool:
        """Whether each message has to be looked at: the client limits the size of packets, or has topic aliases."""
        return self.max_packet > 0 or self.alias_maximum > 0

    def keep_alias(self, topic: bytes, before: bytes | None = None) -> bool:
        """An alias, of either direction, stands for this topic as long as there is a connection, and `before` no more.

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
        """Take nothing more from this client for now: what it sends cannot be stored as fast as it comes."""

    def go_on_reading(self) -> None:
        """Take from this client again."""


NOWHERE = Outlet()
"""The outlet of a session whose client is away."""
