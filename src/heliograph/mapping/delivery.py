"""How safely and how long a message is kept: QoS of MQTT and `durable` of AMQP, `ttl` and expiry time."""

from typing import Final

LONGEST_TTL: Final = 2**32 - 1
"""Milliseconds: AMQP has no larger number for it."""


def is_durable(qos: int) -> bool:
    """Whether a publication of this QoS becomes a durable message."""
    return qos > 0


def qos_of(durable: bool) -> int:
    """The QoS of the publication that a message becomes."""
    return 1 if durable else 0


def life_left(ttl: int, expires: int, wall: int) -> int | None:
    """Milliseconds that a message has which arrives now (`wall`); 0 or less: it has expired; None: it lives for ever.

    `ttl` counts from its arrival on, `expires` is an end; 0 if there is none. The sooner counts.
    """
    if not expires:
        return ttl or None
    return min(ttl, expires - wall) if ttl else expires - wall
