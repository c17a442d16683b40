"""Damage for inputs: a seed makes the same damage again.

`mutated` works on bytes of any kind. Where a format is made of units (packets, frames, words), `rearranged` changes
their order and number; what it leaves whole still gets past the first checks, which damaged bytes seldom do.
"""

import random
from collections.abc import Callable, Sequence

INTEGERS = [
    number.to_bytes(width, order, signed=number < 0)
    for width in (1, 2, 4, 8)
    for number in (0, 1, -1, (1 << 8 * width - 1) - 1, -(1 << 8 * width - 1), (1 << 8 * width) - 2)
    for order in ("big", "little")
]
"""Numbers at the ends of what a field can hold."""

LONGEST = 1 << 20
"""Bytes of an input; copies of copies would soon be larger than anything that a client may send."""

Change = Callable[[bytearray, random.Random, Sequence[bytes], Sequence[bytes]], None]


def mutated(data: bytes, chance: random.Random, others: Sequence[bytes] = (), words: Sequence[bytes] = ()) -> bytes:
    """These bytes with one change, or a few. `others` are inputs to take parts of, `words` mean something here."""
    changed = bytearray(data)
    for _ in range(_few(chance)):
        if changed:
            chance.choice(_CHANGES)(changed, chance, others, words)
        else:
            changed += chance.choice(others) if others else chance.randbytes(8)
    return bytes(changed[:LONGEST])


def rearranged(units: Sequence[bytes], chance: random.Random, others: Sequence[bytes] = ()) -> list[bytes]:
    """These units with one or a few dropped, repeated, moved, or taken from among the `others`."""
    changed = list(units)
    for _ in range(_few(chance)):
        at = chance.randrange(len(changed) + 1)
        match chance.randrange(5):
            case 0 if changed:
                del changed[at : at + chance.randint(1, 3)]
            case 1 if changed:
                changed[at:at] = [chance.choice(changed)] * chance.choice((1, 1, 2, 300))
            case 2 if changed:
                changed.insert(at, changed.pop(chance.randrange(len(changed))))
            case 3 if changed:
                chance.shuffle(changed)
            case _ if others:
                changed.insert(at, chance.choice(others))
    return changed


def _few(chance: random.Random) -> int:
    return chance.choice((1, 1, 1, 2, 3, 6))


def _stretch(data: bytearray, chance: random.Random) -> slice:
    start = chance.randrange(len(data))
    return slice(start, start + chance.choice((1, 2, 4, 16, 200)))


def _flip(data: bytearray, chance: random.Random, _others: Sequence[bytes], _words: Sequence[bytes]) -> None:
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def _replace(data: bytearray, chance: random.Random, _others: Sequence[bytes], _words: Sequence[bytes]) -> None:
    data[chance.randrange(len(data))] = chance.randrange(256)


def _insert(data: bytearray, chance: random.Random, _others: Sequence[bytes], _words: Sequence[bytes]) -> None:
    at = chance.randrange(len(data) + 1)
    data[at:at] = chance.randbytes(chance.choice((1, 2, 8)))


def _delete(data: bytearray, chance: random.Random, _others: Sequence[bytes], _words: Sequence[bytes]) -> None:
    del data[_stretch(data, chance)]


def _double(data: bytearray, chance: random.Random, _others: Sequence[bytes], _words: Sequence[bytes]) -> None:
    at, stretch = chance.randrange(len(data) + 1), _stretch(data, chance)
    data[at:at] = data[stretch] * chance.choice((1, 1, 2, 100))


def _integer(data: bytearray, chance: random.Random, _others: Sequence[bytes], _words: Sequence[bytes]) -> None:
    number = chance.choice(INTEGERS)
    at = chance.randrange(len(data))
    data[at : at + len(number)] = number


def _word(data: bytearray, chance: random.Random, _others: Sequence[bytes], words: Sequence[bytes]) -> None:
    if words:
        at = chance.randrange(len(data) + 1)
        data[at : at + chance.choice((0, 0, 1, 4))] = chance.choice(words)


def _splice(data: bytearray, chance: random.Random, others: Sequence[bytes], _words: Sequence[bytes]) -> None:
    if others:
        other = chance.choice(others)
        data[chance.randrange(len(data)) :] = other[chance.randrange(len(other) + 1) :]


def _measured(data: bytearray, chance: random.Random, _others: Sequence[bytes], words: Sequence[bytes]) -> None:
    """Replace what stands behind a length, and set the length right: most formats have texts like that."""
    for _ in range(20):
        at, width = chance.randrange(len(data)), chance.choice((1, 2, 4))
        size = int.from_bytes(data[at : at + width], "big")
        if 0 < size <= len(data) - at - width:
            content = chance.choice(words) if words else chance.randbytes(chance.choice((0, 1, 40)))
            content *= chance.choice((1, 1, 1, 50))
            if len(content) < 1 << 8 * width:
                data[at : at + width + size] = len(content).to_bytes(width, "big") + content
            return


_CHANGES: Sequence[Change] = (
    _flip,
    _replace,
    _insert,
    _delete,
    _double,
    _integer,
    _word,
    _word,
    _splice,
    _measured,
    _measured,
)
