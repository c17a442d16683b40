"""Packets and answers on their way into outlets. They leave at the end of the turn."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from heliograph.broker.core.outlet import Outlet
from heliograph.broker.core.span import Span
from heliograph.broker.sessions.subscription import Subscription

if TYPE_CHECKING:
    from heliograph.broker.broker import Broker

_TOPIC_ALIAS = b"\x23"
_ANY_ALIAS = _TOPIC_ALIAS + b"\0\0"

Rendered = dict[tuple[object, ...], bytes]
"""Packets made for one kind of receiver, kept while one span goes to all of them."""


def answer(broker: "Broker", outlet: Outlet, chunk: bytes, *, stored: bool) -> None:
    """Queue an acknowledgement: of something that is being stored, for when it is safe; and none before another."""
    if stored and broker.store is not None:
        broker.turn.held.answer(outlet, chunk)
    elif outlet.unsafe:  # as it never is without a store
        broker.turn.held.hold_behind(outlet, chunk)
    else:
        broker.turn.write(outlet, chunk)


def answer_all(broker: "Broker", outlets: Sequence[Outlet], chunks: Sequence[bytes], *, stored: bool) -> None:
    """Queue an acknowledgement for each of these clients; see `answer`."""
    if broker.store is not None and stored:
        broker.turn.held.answer_all(outlets, chunks)
        return
    for outlet, chunk in zip(outlets, chunks, strict=True):
        answer(broker, outlet, chunk, stored=False)


def count_sent(broker: "Broker", subscription: Subscription, number: int) -> None:
    """So many messages have been sent for the first time."""
    subscription.sent += number
    broker.stats.messages_sent += number


def packets_for(
    broker: "Broker",
    subscription: Subscription,
    span: Span,
    lo: int,
    hi: int,
    qos: int,
    first_id: int,
    rendered: Rendered,
) -> bytes:
    """The packets of messages `lo` to `hi` as the client of a subscription wants them."""
    outlet = subscription.outlet
    retain = span.from_store or (span.retain and subscription.retain_as_published)
    if outlet.alias_maximum and not too_large(broker, subscription, span, qos, _ANY_ALIAS):
        return _packets_with_alias(broker, subscription, span, lo, hi, qos, retain, first_id)
    # Receivers that keep step with each other even share packet identifiers.
    key = (outlet.version5, qos, retain, subscription.extra, lo, hi, first_id)
    known = rendered.get(key)
    if known is None:
        known = rendered[key] = span.packets(
            lo,
            hi,
            version5=outlet.version5,
            qos=qos,
            retain=retain,
            now=broker.now(),
            first_id=first_id,
            extra=subscription.extra,
        )
    return known


def too_large(broker: "Broker", subscription: Subscription, span: Span, qos: int, more: bytes = b"") -> bool:
    """True if a client does not take packets as large as the messages of this span make."""
    outlet = subscription.outlet
    if not outlet.max_packet:
        return False
    extra = subscription.extra + more
    one = span.packets(0, 1, version5=outlet.version5, qos=qos, retain=False, now=broker.now(), extra=extra)
    return len(one) > outlet.max_packet


def _packets_with_alias(
    broker: "Broker", subscription: Subscription, span: Span, lo: int, hi: int, qos: int, retain: bool, first_id: int
) -> bytes:
    """Packets for a client that asked for topic aliases: the name goes along once, then a number stands for it."""
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
    now = broker.now()
    with_name = without = b""
    if named:
        with_name = span.packets(
            lo, lo + named, version5=True, qos=qos, retain=retain, now=now, first_id=first_id, extra=extra
        )
    if lo + named < hi:
        without = span.packets(
            lo + named,
            hi,
            version5=True,
            qos=qos,
            retain=retain,
            now=now,
            first_id=first_id + named,
            extra=extra,
            topic=b"",
        )
    return with_name + without
