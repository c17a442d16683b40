"""Converts spans of MQTT messages to AMQP messages, and back.

`heliograph.mapping` converts single messages; this module does it for many at once. Consecutive AMQP messages that
differ only in payloads of equal length become one span.
"""

from collections.abc import Sequence

from heliograph.broker.core.mixed_span import MixedSpan
from heliograph.broker.core.span import LONGEST_LIFE, Span
from heliograph.mapping import Publication, messages_of, publication_of


def amqp_messages(span: Span, now: float, wall: int) -> list[bytes]:
    """The messages of a span, encoded. `now` is the broker's clock, `wall` milliseconds since 1970."""
    if isinstance(span, MixedSpan):
        return [message for at in range(span.count) for message in amqp_messages(span.single(at), now, wall)]
    left = max(1, round((span.expires - now) * 1000)) if span.expires else 0
    payloads = span.payloads(0, span.count)
    return messages_of(span.topic, payloads, span.properties, span.qos, span.retain, left, wall)


def spans_of(topic: bytes, messages: Sequence[bytes], now: float, wall: int) -> list[tuple[int, Span]]:
    """Spans with the same content as these messages, each with the index of its first message.

    Messages that have expired are not among them. `now` is the broker's clock, `wall` milliseconds since 1970. Raises
    DecodeError for what is no message.
    """
    spans: list[tuple[int, Span]] = []
    run: list[Publication] = []
    first = 0
    for place, message in enumerate(messages):
        publication = publication_of(message)
        if run and not run[-1].differs_in_payload_only(publication):
            spans += [(first, span) for span in _span(topic, run, now, wall)]
            run, first = [], place
        run.append(publication)
    return spans + [(first, span) for span in _span(topic, run, now, wall)]


def _span(topic: bytes, run: list[Publication], now: float, wall: int) -> list[Span]:
    if not run:
        return []
    payload, head, text, encoded = run[0]
    left = head.life_left(wall)
    if left is not None and left <= 0:
        return []
    return [
        Span(
            topic,
            payload if len(run) == 1 else b"".join([publication.payload for publication in run]),
            len(run),
            head=0,
            qos=head.qos,
            id_at=0,
            version5=False,
            retain=head.retain,
            verbatim=False,
            properties=head.properties(text=text, encoded=encoded),
            expires=0.0 if left is None else now + min(left, LONGEST_LIFE * 1000) / 1000,
        )
    ]
