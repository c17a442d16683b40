"""The counters of the broker. Plain integers: a counter on the hot path costs one addition per span."""


class Statistics:
    """Counters since the start of the process. They only grow, except `connected`."""

    __slots__ = (
        "bytes_received",
        "bytes_sent",
        "connected",
        "connected_high_water",
        "connections",
        "discarded",
        "expired",
        "internal_errors",
        "messages_received",
        "messages_sent",
        "protocol_errors",
        "publishes_refused",
        "refused",
        "rejected",
        "sessions_expired",
        "too_large",
    )

    def __init__(self) -> None:
        self.bytes_received = 0
        self.bytes_sent = 0
        self.messages_received = 0
        """Messages from clients."""
        self.messages_sent = 0
        """Messages to clients."""
        self.connected = 0
        """Clients connected now."""
        self.connected_high_water = 0
        self.connections = 0
        """Clients that were admitted."""
        self.refused = 0
        """Connections that were refused: credentials, limits, unknown protocol version."""
        self.protocol_errors = 0
        """Connections ended because of what the client sent."""
        self.internal_errors = 0
        """Unexpected exceptions."""
        self.expired = 0
        """Messages that waited longer than their expiry interval."""
        self.too_large = 0
        """Messages not sent to a client because it takes no packets of that size."""
        self.rejected = 0
        """Messages for one receiver that a full buffer did not take (`reject_new`)."""
        self.discarded = 0
        """Messages for one receiver that made room in a full buffer for newer ones (`discard_old`)."""
        self.publishes_refused = 0
        """Messages to topics that belong to the server."""
        self.sessions_expired = 0

    def admitted(self) -> None:
        """Count a client that has connected, with any protocol."""
        self.connections += 1
        self.connected += 1
        self.connected_high_water = max(self.connected_high_water, self.connected)

    @property
    def dropped(self) -> int:
        """Messages that one of their receivers did not get, without expired ones."""
        return self.rejected + self.discarded + self.too_large
