"""Thousands of messages for the example flows: those of their test cases, and many that are slightly different."""

import random
import re
from pathlib import Path

from heliograph.flow.testing.case_running import select_cases

EXAMPLES = Path(__file__).parents[3] / "examples" / "flows"
FOLDERS = {
    **{folder.name: folder for folder in sorted(EXAMPLES.iterdir()) if (folder / "flow.yaml").is_file()},
    "telemetry": EXAMPLES.parent / "telemetry" / "flow",
}
"""Where each flow is."""
FLOWS = list(FOLDERS)
ON_SPARK = [name for name in FLOWS if name != "aggregation"]
_NUMBER = re.compile(rb"\d+")
_WORD = re.compile(rb"[A-Za-z]{3,}")


def messages_for(flow: str, count: int) -> list[bytes]:
    """So many, good and bad; the same ones every time."""
    chance = random.Random(flow)
    seeds = [step.body for case in select_cases(FOLDERS[flow]) for step in case.steps if step.wait is None]
    made = list(dict.fromkeys(seeds))
    while len(made) < count:
        body = chance.choice(seeds)
        for _ in range(chance.choice([1, 1, 1, 2, 5])):
            body = chance.choice(_CHANGES)(body, chance)
        made.append(body)
    return made[:count]


def _other_number(body: bytes, chance: random.Random) -> bytes:
    return _one(_NUMBER, body, chance, lambda found: b"%d" % chance.choice([0, 1, 7, int(found[:9]) + 1, 10**9, -5]))


def _other_word(body: bytes, chance: random.Random) -> bytes:
    return _one(_WORD, body, chance, lambda found: chance.choice([b"", found.lower(), found + b"x", b"\xc3\xa9"]))


def _one(pattern: re.Pattern[bytes], body: bytes, chance: random.Random, change: object) -> bytes:
    found = list(pattern.finditer(body))
    if not found:
        return body
    place = chance.choice(found)
    return body[: place.start()] + change(place[0]) + body[place.end() :]  # type: ignore[operator]


def _cut(body: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(body) + 1)
    return body[:at]


def _other_byte(body: bytes, chance: random.Random) -> bytes:
    if not body:
        return b"?"
    at = chance.randrange(len(body))
    return body[:at] + bytes([chance.randrange(256)]) + body[at + 1 :]


def _twice(body: bytes, chance: random.Random) -> bytes:
    at, end = sorted(chance.randrange(len(body) + 1) for _ in range(2))
    return body[:end] + body[at:end] + body[end:]


_CHANGES = (_other_number, _other_number, _other_number, _other_word, _other_word, _cut, _other_byte, _twice)
