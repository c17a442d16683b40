"""Payloads that are JSON, nearly JSON, or nothing of the kind, made of few names and values, so that filters meet them.

Made by a random generator with a seed and not by Hypothesis, which needs a minute for as many.
"""

import json
from random import Random
from typing import Any

_NAMES = ("a", "b", "kind", "mode", "temperature", "Item", "site")
_TEXTS = (
    "test",
    "test ",
    " test",
    "run",
    "alarm",
    "alarm ",
    "Alarm",
    "alarmé",
    "95",
    "95.5",
    "true",
    "",
    "?",
    "é",
    "\x7f",
    "😀",
)
_SPELT = (*map(json.dumps, _TEXTS), *(json.dumps(text, ensure_ascii=False) for text in _TEXTS), '"\\u0000"')
_NUMBERS = (
    *("0", "-0", "95", "96", "-1", "94.9", "95.0", "95.5", "95.50", "0.1", "-0.0", "100000", "9007199254740993"),
    *("95.00000000000001", "95.000000000000000000001", "1e2", "9.5E1", "1e-7", "1E400", "9223372036854775807"),
    *("9223372036854775808", "12345678901234567890123456789012345678901234567890", "0.30000000000000004"),
)
_WORDS = ("true", "false", "null")
_ODD = (
    *(
        '"\\ud800"',
        '"al\\u0061rm"',
        '"\\ud83d\\ude00"',
        '"te\tst"',
        '"\\x"',
        '"test\\u0020"',
        '"\\/"',
        "'test'",
        '"test',
    ),
    *("01", "+1", "1.", ".5", "-", "NaN", "Infinity", "1e99999999999999999999", "0e-99999999999999999999", "0x1"),
    *("tru", "nullx", "{", "[", "", "[1,]", '{"a":1,}', "[" * 300 + "]" * 300, "1" * 5000, '{"a":1,"a":2}'),
)
_MORE = (" ", "\n", "x", "}", "]", ',{"a":1}', "] x", "\x00", "\x1e", " //", ',"x"] y', "\u00a0")
_BEFORE = (" ", "\n", "\ufeff", "\x0b")
_BYTES = (b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\x00", b'"', b"\\", b",", b"}")
_CHARSETS = ("utf-16", "utf-16-le", "utf-8-sig", "latin-1", "cp850")
_HEADERS: tuple[dict[str, Any], ...] = (
    {"properties": {"n": "1"}},
    {"properties": {"JMS_IBM_Character_Set": "850"}},
    {"properties": {"JMS_IBM_Character_Set": "1200", "n": "1"}},
    {"properties": {"JMS_IBM_Format": "MQHRF2"}},
    {"properties": {"JMS_IBM_Format": "MQHRF2  "}},
    {"properties": {"amqp.priority": "x"}},
    {"content_type": "application/json"},
    {"content_type": "application/vnd.heliograph.amqp"},
    {"text": True},
)


def json_messages(count: int, seed: int) -> list[dict[str, Any]]:
    """So many messages as `stream_rows` takes them."""
    make = _Maker(Random(seed))
    return [make.message() for _ in range(count)]


class _Maker:
    def __init__(self, random: Random) -> None:
        self._random = random
        self._oddness = 0.0

    def message(self) -> dict[str, Any]:
        chance = self._random.random
        self._oddness = 0.1 if chance() < 0.2 else 0.0
        text = self._object(2) if chance() < 0.93 else self._value(2)
        header = self._random.choice(_HEADERS) if chance() < 0.15 else {}
        return {"payload": self._body(text) if chance() < 0.25 else text.encode(), **header}

    def _value(self, depth: int) -> str:
        chance, choice = self._random.random, self._random.choice
        if chance() < self._oddness:
            return choice(_ODD)
        if depth and chance() < 0.25:
            if chance() < 0.7:
                return self._object(depth - 1)
            return f"[{','.join(self._value(depth - 1) for _ in range(self._random.randrange(4)))}]"
        return choice(choice((_SPELT, _NUMBERS, _WORDS, ("94", "95", "95.5", '"test"', '"alarm"', '"run"'))))

    def _object(self, depth: int) -> str:
        names = self._random.sample(_NAMES, self._random.randrange(len(_NAMES) + 1))
        if names and self._random.random() < 0.05:
            names.append(names[0])
        blank = self._random.choice(("", "", " ", "\n\t"))
        return "{" + ",".join(f'{blank}"{name}"{blank}:{blank}{self._value(depth)}{blank}' for name in names) + "}"

    def _body(self, text: str) -> bytes:
        """Something else than the text, or the text with something else."""
        choice = self._random.choice
        body = text.encode()
        at = self._random.randrange(len(body) + 1)
        return choice(
            (
                body[:at],
                body[:at] + choice(_BYTES) + body[at:],
                body + choice(_MORE).encode(),
                choice(_BEFORE).encode() + body,
                text.encode(choice(_CHARSETS), "replace"),
            )
        )
