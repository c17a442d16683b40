"""Encodes messages as the PUBLISH packets that the client of a subscription asked for.

The bytes depend on protocol version, QoS, RETAIN flag, subscription identifier and packet identifiers. Many receivers
have all of these in common, so the packets of a span are encoded once per kind of receiver (`Rendered`).
"""

from collections.abc import Callable

from heliograph.broker.core.span import Span
from heliograph.broker.core.statistics import Statistics
from heliograph.broker.sessions.session import Subscription

_TOPIC_ALIAS = b"\x23"
_ANY_ALIAS = _TOPIC_ALIAS + b"\0\0"

Rendered = dict[tuple[object, ...], bytes]
"""Encoded packets by kind of receiver, for as long as one span is delivered."""


def count_sent(stats: Statistics, subscription: Subscription, number: int) -> None:
    """Count messages that were sent for the first time."""
    subscription.sent += number
    stats.messages_sent += number


def packets_for(
    now: Callable[[], float],
    subscription: Subscription,
    span: Span,
    lo: int,
    hi: int,
    qos: int,
    first_id: int,
    rendered: Rendered,
) -> bytes:
    """The packets of messages `lo` to `hi`, as the client of the subscription asked for them."""
    outlet = subscription.outlet
    retain = span.is_retained or (span.retain and subscription.retain_as_published)
    if outlet.alias_maximum and not too_large(now, subscription, span, qos, _ANY_ALIAS):
        return _packets_with_alias(now, subscription, span, lo, hi, qos, retain, first_id)
    # The packet identifier is part of the key. Clients that acknowledge equally fast share even those.
    key = (outlet.version5, qos, retain, subscription.extra, lo, hi, first_id)
    known = rendered.get(key)
    if known is None:
        known = rendered[key] = span.packets(
            lo,
            hi,
            version5=outlet.version5,
            qos=qos,
            retain=retain,
            now=now(),
            first_id=first_id,
            extra=subscription.extra,
        )
    return known


def too_large(now: Callable[[], float], subscription: Subscription, span: Span, qos: int, more: bytes = b"") -> bool:
    """Whether the packets of this span exceed the client's maximum packet size.

    All messages of a span are equally long, so the first one stands for all. `more` are further properties.
    """
    outlet = subscription.outlet
    if not outlet.max_packet:
        return False
    extra = subscription.extra + more
    one = span.packets(0, 1, version5=outlet.version5, qos=qos, retain=False, now=now(), extra=extra)
    return len(one) > outlet.max_packet


def _packets_with_alias(
    now: Callable[[], float],
    subscription: Subscription,
    span: Span,
    lo: int,
    hi: int,
    qos: int,
    retain: bool,
    first_id: int,
) -> bytes:
    """Packets with topic aliases: the first carries topic and alias, the following only the alias."""
    outlet = subscription.outlet
    aliases = outlet.aliases
    if aliases is None:
        aliases = outlet.aliases = {}
    alias = aliases.get(span.topic)
    named = 0  # how many packets carry the name
    if alias is None:
        if len(aliases) < outlet.alias_maximum and outlet.keep_alias(span.topic):
            alias = aliases[span.topic] = len(aliases) + 1
            named = 1
        else:
            named = hi - lo
    extra = subscription.extra + (_TOPIC_ALIAS + alias.to_bytes(2, "big") if alias else b"")
    at = now()
    with_name = without = b""
    if named:
        with_name = span.packets(
            lo, lo + named, version5=True, qos=qos, retain=retain, now=at, first_id=first_id, extra=extra
        )
    if lo + named < hi:
        without = span.packets(
            lo + named,
            hi,
            version5=True,
            qos=qos,
            retain=retain,
            now=at,
            first_id=first_id + named,
            extra=extra,
            topic=b"",
        )
    return with_name + without
