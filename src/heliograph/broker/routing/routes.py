"""Routes: the receivers of a topic, looked up by the topic's bytes.

Theory of operation

1. Matching a topic against all filters is slow, publishing is frequent. So `RouteTable` caches the result per topic: a
   `Route`. All publishing, MQTT and AMQP, begins with `find`.
2. Topics with the same receivers share one `Route` object. It sorts the receivers by kind once, and decides in advance
   which fast paths are possible: `straight3`/`straight5` (QoS 0 packets passed on byte for byte) and `gathers`
   (messages of several clients published as one span).
3. A route is a snapshot. Whoever changes something that `Route.__init__` looks at (subscriptions, options of one, a
   client that connects or disconnects) calls `forget` afterwards. `generation` tells whoever keeps a route elsewhere
   that it may be outdated.
4. Sizes are bounded so that no publication takes more than one turn's time: above the constants below, a route is
   `wide` and is served in `parts`, one after the other.
"""

from collections.abc import Iterator
from typing import Protocol

from heliograph.broker.core.memory import Budget
from heliograph.broker.core.outlet import Outlet
from heliograph.broker.core.span import Span
from heliograph.broker.core.topics import TopicTree
from heliograph.broker.queues.binding import Binding, bound
from heliograph.broker.queues.queue import Queue
from heliograph.broker.sessions.session import Session, ShareGroup, Subscription
from heliograph.broker.storage.streams import Stream
from heliograph.mqtt import ProtocolError, Reason, check_topic_of_client, decode_utf8

Durable = Subscription | ShareGroup
"""A receiver with a spool."""
Receiver = Subscription | ShareGroup | Stream | Binding
"""What is in the subscription tree."""

WIDE = 2000
"""Subscriptions that get a message from memory in one turn. With more of them it takes several turns."""
_DURABLE_AT_ONCE = 500
"""Durable subscriptions that get a message in one turn."""
_QUEUES_AT_ONCE = 50
"""Queues that get a message in one turn. One with selectors or no-local counts as `_CHOOSY`."""
_CHOOSY = 5
_PUTS_AT_ONCE = 4000
"""Messages times queues that are put in one turn."""
_GATHERED_AT_ONCE = 1000
_COPIES_AT_ONCE = 50_000
"""Messages in one batch, and messages times receivers. Together they bound the work that a batch makes."""
_ALL = 1 << 32
WORTH_COPYING = 64 << 10
"""A wide route stores a message once per part. One of more bytes than this goes to all receivers at once instead."""


class Route:
    """The receivers of a topic, sorted by kind. Topics with the same receivers share one route, so that packets of
    different topics can be published in one piece."""

    __slots__ = (
        "_parts",
        "batches",
        "bound",
        "catching_up",
        "durable",
        "gathers",
        "groups",
        "most",
        "most_batched",
        "partitions",
        "receivers",
        "straight3",
        "straight5",
        "streams",
        "subscriptions",
        "volatile",
        "volatile_groups",
        "wide",
    )

    def __init__(self, receivers: tuple[Receiver, ...]) -> None:
        self.receivers = receivers
        # There may be ten thousand receivers: list comprehensions are faster than generators.
        self.subscriptions = subscriptions = tuple([one for one in receivers if isinstance(one, Subscription)])
        others = [one for one in receivers if not isinstance(one, Subscription)]
        self.groups = groups = tuple([one for one in others if isinstance(one, ShareGroup)])
        self.streams = tuple([one for one in others if isinstance(one, Stream)])
        """Streams store messages of any QoS."""
        bindings = [one for one in others if isinstance(one, Binding)]
        self.bound = bound(bindings) if bindings else None
        """Queues that get the messages; None if there are none."""
        self.durable: tuple[Durable, ...] = tuple([one for one in subscriptions if one.spool])
        self.durable += tuple([one for one in groups if one.spool])
        """Receivers for which QoS 1 and 2 messages are stored; the others get them from memory."""
        self.volatile = tuple([one for one in subscriptions if one.spool is None])
        self.volatile_groups = tuple([one for one in groups if one.spool is None])
        self.catching_up = tuple([one for one in subscriptions if one.retained is not None])
        """Subscriptions that are still being sent retained messages, which must not be overtaken by new ones."""
        roundabout = groups or self.streams or self.bound or self.catching_up or len(subscriptions) > WIDE
        self.straight3 = None if roundabout else _straight(subscriptions, version5=False)
        """Receivers that get QoS 0 packets of an MQTT 3 publisher byte for byte; None if some need something else."""
        self.straight5 = None if roundabout else _straight(subscriptions, version5=True)
        """The same for MQTT 5 publishers, if the packets have neither expiry nor topic alias."""
        trouble = len(self.bound.plain) + _CHOOSY * len(self.bound.choosy) if self.bound else 0
        self.most = _PUTS_AT_ONCE // min(trouble, _QUEUES_AT_ONCE) if trouble else _ALL
        """How many messages may be published in one call."""
        self.wide = len(self.durable) > _DURABLE_AT_ONCE or trouble > _QUEUES_AT_ONCE
        """Whether there are too many receivers for one turn; then they are served in `parts`."""
        self._parts: list[tuple[Receiver, ...] | Route] | None = None
        self.gathers = not (
            self.wide
            or self.catching_up
            or len(subscriptions) > WIDE
            or (self.bound and self.bound.choosy)
            or any(one.no_local or one.outlet.one_by_one for one in subscriptions)
            or any(one.outlet.one_by_one for group in groups for one in group.members)
        )
        """Whether messages of several clients can be published as one span: no receiver has to look at each of them."""
        self.most_batched = max(1, min(_GATHERED_AT_ONCE, _COPIES_AT_ONCE // max(1, len(receivers)), self.most))
        """The most messages in one batch."""
        self.partitions = [stream for stream in self.streams if len(stream.cursors) > 1]
        """Streams with several partitions, among which the topic decides."""
        self.batches: dict[int, Batch] = {}
        """The open batches of this turn, by `batch_key`."""

    def stores(self, span: Span) -> bool:
        """Whether MQTT needs these messages in the log: for streams, as retained messages, or for durable receivers."""
        if self.streams:
            return True
        if span.retain and not span.retold and not span.topic.startswith(b"$SYS/"):
            return True
        return span.qos > 0 and bool(self.durable)

    def needs_disk(self, span: Span) -> bool:
        """Whether the log gets these messages, for MQTT or for queues."""
        return self.stores(span) or (span.qos > 0 and self.bound is not None and self.bound.is_durable)

    def batch_key(self, topic: bytes, qos: int, version5: bool) -> int:
        """A key that is equal for messages that can be in one batch:

        QoS, protocol version, partition of each stream.
        """
        key = qos << 1 | version5
        for stream in self.partitions:
            key = key * len(stream.cursors) + stream.partition_for(topic)
        return key

    def parts(self) -> "Iterator[Route]":
        """Routes to some of the receivers each.

        Receivers without a spool or queue are in the first, which may be empty.
        """
        if self._parts is None:
            self._parts = _parts(self.receivers)
        for number, part in enumerate(self._parts):
            if not isinstance(part, Route):
                part = self._parts[number] = Route(part)
            yield part


def _parts(receivers: tuple[Receiver, ...]) -> list[tuple[Receiver, ...] | Route]:
    """The receivers in parts, each of which can be served in one turn."""
    first: list[Receiver] = []
    durable: list[Receiver] = []
    bindings: dict[Queue, list[Binding]] = {}  # those of one queue stay together, as it gets a message only once
    for one in receivers:
        if isinstance(one, Binding):
            bindings.setdefault(one.queue, []).append(one)
        elif isinstance(one, Subscription) and one.spool:
            durable.append(one)
        else:
            first.append(one)
    parts: list[tuple[Receiver, ...] | Route] = [tuple(first)]
    parts += [tuple(durable[at : at + _DURABLE_AT_ONCE]) for at in range(0, len(durable), _DURABLE_AT_ONCE)]
    some: list[Receiver] = []
    trouble = 0
    for of_queue in bindings.values():
        some += of_queue
        trouble += _CHOOSY if any(one.selector or one.no_local for one in of_queue) else 1
        if trouble >= _QUEUES_AT_ONCE:
            parts.append(tuple(some))
            some, trouble = [], 0
    return [*parts, tuple(some)] if some else parts


def _straight(subscriptions: tuple[Subscription, ...], *, version5: bool) -> tuple[Subscription, ...] | None:
    chosen = []
    for subscription in subscriptions:
        outlet = subscription.outlet
        if not outlet.connected:  # QoS 0 is not kept for clients that are away
            continue
        if outlet.version5 is not version5 or outlet.max_packet or outlet.alias_maximum:
            return None
        if subscription.extra or subscription.no_local:
            return None
        chosen.append(subscription)
    return tuple(chosen)


class Publisher(Protocol):
    """An MQTT client that publishes, as far as batches need it."""

    outlet: Outlet
    session: Session | None
    version: int
    version5: bool
    explain: bool
    """Whether the client accepts reason strings."""
    batch: "Batch | None"
    """The open batch with its messages of this turn."""

    def find_route(self, topic: bytes) -> Route:
        """The route of a topic; ProtocolError if it is no valid topic name."""

    def end(self, reason: Reason, text: str, *, publish_will: bool = False) -> None:
        """End the connection from this side."""


class Batch:
    """Messages for the same receivers. Stored as columns: joining them into one span needs no object per message."""

    __slots__ = ("arrivals", "generation", "heads", "name_ends", "packets", "publishers", "qos", "route", "version5")

    def __init__(self, route: Route, generation: int, qos: int, version5: bool) -> None:
        self.route = route
        self.generation = generation
        """Generation of the routes when the batch was opened."""
        self.qos = qos
        self.version5 = version5
        self.publishers: list[Publisher] = []
        self.packets: list[bytes] = []
        self.name_ends: list[int] = []
        """Where the topic ends in each packet, and the packet identifier stands."""
        self.heads: list[int] = []
        """Bytes before the payload in each packet."""
        self.arrivals: list[int] | None = [] if route.partitions else None
        """Order of arrival of each message in this turn, where one publisher may be in several batches."""

    def add(self, publisher: Publisher, packet: bytes, name_end: int, head: int) -> None:
        """Append a message."""
        self.publishers.append(publisher)
        self.packets.append(packet)
        self.name_ends.append(name_end)
        self.heads.append(head)

    def identifier(self, at: int) -> int:
        """The packet identifier of a message, from its packet."""
        packet, name_end = self.packets[at], self.name_ends[at]
        return packet[name_end] << 8 | packet[name_end + 1]


class RouteTable:
    """Receivers by topic filter (`tree`), and routes by topic (`cache`). The tree is searched on a cache miss only."""

    # A publisher that never repeats a topic must not fill the memory. A full cache is emptied: topics that are in use
    # are soon in it again, and no bookkeeping is needed on a hit.
    CACHE_SIZE = 100_000
    CACHE_BYTES = 64 << 20
    _MEMORY_SHARE = 16
    _TOPIC_COST = 150
    _RECEIVER_COST = 40

    def __init__(self, memory: Budget) -> None:
        self.tree: TopicTree[Receiver] = TopicTree()
        """Receivers by topic filter. Whoever changes it calls `forget` after the change is complete."""
        self._account = memory.account("routes", "")
        self._shared: dict[tuple[Receiver, ...], Route] = {}
        self.cache: dict[bytes, Route] = {}
        self.generation = 0
        """Goes up whenever a route may have changed. Whoever keeps a route elsewhere compares it."""

    def find(self, topic: bytes, most_levels: int) -> Route:
        """The route of a topic; ProtocolError if the topic name is not allowed.

        Only checked topics get into the cache, so a hit needs no check.
        """
        route = self.cache.get(topic)
        if route is not None:
            return route
        name = decode_utf8(topic)
        check_topic_of_client(name)
        if name.count("/") >= most_levels:
            raise ProtocolError(Reason.TOPIC_NAME_INVALID, f"topic has more than {most_levels} levels")
        found = tuple(self.tree.match(name))
        route = self._shared.get(found)
        size = self._TOPIC_COST + len(topic)
        if route is None:
            size += self._RECEIVER_COST * (10 + len(found))
        most = min(self.CACHE_BYTES, self._account.budget.limit // self._MEMORY_SHARE)
        if len(self.cache) >= self.CACHE_SIZE or (self.cache and self._account.used + size > most):
            self.forget_all()
        self._account.add(size)
        if route is None:
            route = self._shared[found] = Route(found)
        self.cache[topic] = route
        return route

    def forget(self, topic_filter: str) -> None:
        """Drop the routes that a change of this filter affects."""
        if "+" in topic_filter or "#" in topic_filter:
            self.forget_all()
            return
        self.generation += 1
        # Only one topic matches this filter, so no other topic has its route. All other routes stay valid and shared.
        route = self.cache.pop(topic_filter.encode(), None)
        if route is not None:
            self._shared.pop(route.receivers, None)

    def forget_all(self) -> None:
        """Drop all routes."""
        self.generation += 1
        self._shared.clear()
        self._empty()

    def _empty(self) -> None:
        self.cache.clear()
        self._account.refund(self._account.used)
