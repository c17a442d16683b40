"""The frames with which an AMQP client opens its connection, and the attach frames of its links."""

from heliograph.amqp import (
    AMQP_HEADER,
    RECEIVER,
    SASL_HEADER,
    SENDER,
    Attach,
    Begin,
    Coordinator,
    Described,
    DistributionMode,
    Durability,
    ExpiryPolicy,
    Open,
    SaslInit,
    SenderSettleMode,
    Source,
    Symbol,
    Target,
    amqp_frame,
    sasl_frame,
)
from heliograph.lab.load.naming import expand, filters_of, identity_of, topics_of
from heliograph.lab.load.plan import Address, Group

FRAME = 65_536  # the longest frame, in both directions: several of them fit into what is read at once
WINDOW = 65_536  # transfer frames that our session takes ahead
WIDEST = 2**31 - 1  # a window that never closes
_HANDLES = 1000
_SELECTOR = "apache.org:selector-filter:string"
_QUEUE, _TOPIC = "queue://", "topic://"


def hello(group: Group, client: int, address: Address) -> bytes:
    """Everything up to the begin of the session; nothing of it needs the answer to what comes before."""
    name, user, password = identity_of(group, client)
    host = address.hostname or None
    if user:
        init = SaslInit("PLAIN", f"\0{user}\0{password}".encode(), host)
    else:
        init = SaslInit("ANONYMOUS", b"lab", host)
    return (
        SASL_HEADER
        + sasl_frame(init.encoded())
        + AMQP_HEADER
        + amqp_frame(0, Open(name, host, FRAME, 0).encoded())
        + amqp_frame(0, Begin(None, 0, WINDOW, WIDEST, _HANDLES).encoded())
    )


def written_as(place: str, address: Address) -> str:
    """The address of a queue (`queue://...`) or topic (`topic://...`) in this broker's notation."""
    if place.startswith(_QUEUE):
        return address.queue_prefix + place.removeprefix(_QUEUE)
    if not place.startswith(_TOPIC):
        return place
    topic = place.removeprefix(_TOPIC)
    if not address.topic_prefix.endswith("//"):
        # RabbitMQ: levels are words between dots, and one of any name is a star.
        topic = topic.replace("/", ".").replace("+", "*")
    return address.topic_prefix + topic


def sending(group: Group, client: int, address: Address, handle: int) -> Attach:
    """The link for the client's own messages: to its one destination, or the anonymous relay if it has several."""
    places = topics_of(group, client)
    return sending_to(written_as(places[0], address) if len(places) == 1 else None, group, handle)


def sending_to(place: str | None, group: Group, handle: int) -> Attach:
    """A link to this address; None is the anonymous relay."""
    mode = SenderSettleMode.UNSETTLED if group.qos else SenderSettleMode.SETTLED
    return Attach(
        f"put-{handle}", handle, SENDER, mode, source=Source("lab"), target=Target(place), initial_delivery_count=0
    )


def coordinating(handle: int) -> Attach:
    """The link that controls units of work."""
    mode = SenderSettleMode.UNSETTLED
    return Attach("work", handle, SENDER, mode, source=Source("lab"), target=Coordinator(), initial_delivery_count=0)


def receiving(group: Group, client: int, address: Address, handle: int) -> list[Attach]:
    """The links for what the client consumes, one for each filter, with handles from this one on."""
    return [
        Attach(
            _link_name(group, place, number),
            handle + number,
            RECEIVER,
            SenderSettleMode.UNSETTLED if group.qos else SenderSettleMode.SETTLED,
            source=_source(group, client, place, address),
            target=Target("lab"),
        )
        for number, place in enumerate(filters_of(group, client))
    ]


def _link_name(group: Group, place: str, number: int) -> str:
    """The name of a subscription. A shared one is global, because its clients have different container ids."""
    suffix = f"-{number}" if number else ""
    if not group.shared or not place.startswith(_TOPIC):
        return f"{group.name}{suffix}"
    return f"{group.shared}{suffix}|global" + ("" if group.durable else "-volatile")


def _source(group: Group, client: int, place: str, address: Address) -> Source:
    selector = selector_of(group, client)
    wanted = {Symbol("jms-selector"): Described(Symbol(_SELECTOR), selector)} if selector else None
    where = written_as(place, address)
    if not place.startswith(_TOPIC):
        return Source(where, filter=wanted)
    kept = group.durable
    return Source(
        where,
        durable=Durability.UNSETTLED_STATE if kept else Durability.NONE,
        expiry_policy=ExpiryPolicy.NEVER if kept else ExpiryPolicy.LINK_DETACH,
        distribution_mode=DistributionMode.COPY if kept else None,
        filter=wanted,
        capabilities=("topic", "shared", "global") if group.shared else ("topic",),
    )


def correlation_of(group: Group, client: int) -> str:
    """The correlation id of a requester's requests: one for all of them, as their numbers are in the payload."""
    return expand("{group}-{client}", group, client)


def selector_of(group: Group, client: int) -> str:
    """The selector of the client; requesters that share a reply queue select their own replies."""
    if group.role == "request" and shares_replies(group):
        return f"JMSCorrelationID = '{correlation_of(group, client)}'"
    return expand(group.selector, group, client)


def shares_replies(group: Group) -> bool:
    """Whether several requesters of the group get their answers from one queue."""
    other = group.destinations if group.clients > group.destinations else 1
    return group.clients > 1 and expand(group.reply, group, 0) == expand(group.reply, group, other)
