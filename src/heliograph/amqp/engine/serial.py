"""Arithmetic with the standard's sequence numbers, which have 32 bits and wrap."""

from heliograph.amqp.codec.performatives import MAX_UINT

SERIAL_HALF = MAX_UINT >> 1


def serial_rest(seen: int, allowed: int, used: int) -> int:
    """What is left when a peer that has seen `seen` allows so many more, and we are at `used` by now."""
    rest = (seen + allowed - used) & MAX_UINT
    return rest if rest <= SERIAL_HALF or allowed > SERIAL_HALF else 0  # else we are ahead of what it allows
