"""`-F`: a format string becomes a function that prints one message."""

import json
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from heliograph.cli.errors import CommandFailed
from heliograph.errors import InvalidInput
from heliograph.mqtt import Publish

HELP = r"""
fields of a format (-F):
  %t topic            %p payload             %x %X payload in hexadecimal
  %q QoS              %r retain flag         %l payload length     %m packet identifier
  %j JSON             %J JSON with the payload read as JSON
  %I date and time    %U seconds since 1970
  %A topic alias      %C content type        %D correlation data   %E expiry interval
  %F payload format   %P user properties     %R response topic     %S subscription identifiers
  %% percent sign     \\ \n \t \r \e \a \v \0 as in C
"""

Formatter = Callable[[Publish], bytes]

_ESCAPES = {"\\": b"\\", "n": b"\n", "t": b"\t", "r": b"\r", "e": b"\x1b", "a": b"\a", "v": b"\v", "0": b"\0"}
_TOKEN = re.compile(r"%(.?)|\\(.?)|[^%\\]+", re.DOTALL)


def compile_format(text: str, *, pretty: bool = False, shown: Callable[[bytes], bytes] = bytes) -> Formatter:
    """A function that prints a message in this format; Problem when the format is wrong.

    What comes from the message goes through `shown`, what the format says itself does not.
    """
    parts = [_part(token, text, pretty, shown) for token in _TOKEN.finditer(text)]
    return lambda message: b"".join([part(message) for part in parts])


def _part(token: re.Match[str], text: str, pretty: bool, shown: Callable[[bytes], bytes]) -> Formatter:
    field, escape = token.groups()
    if field is not None:
        of_message = _field(field, text, pretty)
        return lambda message: shown(of_message(message))
    if escape is None:
        return _constant(token.group().encode("utf-8", "surrogateescape"))
    if escape not in _ESCAPES:
        raise InvalidInput(f"-F {text!r}: unknown escape \\{escape}")
    return _constant(_ESCAPES[escape])


def _constant(data: bytes) -> Formatter:
    return lambda _message: data


def _field(field: str, text: str, pretty: bool) -> Formatter:
    if field == "j":
        return lambda message: _json(message, message.payload.decode(errors="replace"), pretty)
    if field == "J":
        return lambda message: _json(message, _parsed(message), pretty)
    if field not in _FIELDS:
        raise InvalidInput(f"-F {text!r}: unknown field %{field}")
    return _FIELDS[field]


def _property(name: str) -> Formatter:
    def text_of(message: Publish) -> bytes:
        value = message.properties.get(name)
        return value if isinstance(value, bytes) else str("" if value is None else value).encode()

    return text_of


def _user_properties(message: Publish) -> bytes:
    pairs = message.properties.get("user_property", [])
    return " ".join(f"{name}:{value}" for name, value in pairs).encode()


def _subscription_identifiers(message: Publish) -> bytes:
    return " ".join(map(str, message.properties.get("subscription_identifier", []))).encode()


def _local_time(_message: Publish) -> bytes:
    return datetime.now(UTC).astimezone().strftime("%Y-%m-%dT%H:%M:%S%z").encode()


def _unix_time(_message: Publish) -> bytes:
    seconds, nanoseconds = divmod(time.time_ns(), 1_000_000_000)
    return b"%d.%09d" % (seconds, nanoseconds)


_FIELDS: dict[str, Formatter] = {
    "%": _constant(b"%"),
    "t": lambda message: message.topic.encode(),
    "p": lambda message: message.payload,
    "x": lambda message: message.payload.hex().encode(),
    "X": lambda message: message.payload.hex().upper().encode(),
    "q": lambda message: b"%d" % message.qos,
    "r": lambda message: b"%d" % message.retain,
    "l": lambda message: b"%d" % len(message.payload),
    "m": lambda message: b"%d" % message.packet_id,
    "I": _local_time,
    "U": _unix_time,
    "A": _property("topic_alias"),
    "C": _property("content_type"),
    "D": _property("correlation_data"),
    "E": _property("message_expiry_interval"),
    "F": _property("payload_format_indicator"),
    "R": _property("response_topic"),
    "P": _user_properties,
    "S": _subscription_identifiers,
}


def _parsed(message: Publish) -> Any:
    try:
        return json.loads(message.payload)
    except ValueError as error:
        raise CommandFailed(f"%J: the payload of a message on '{message.topic}' is not JSON: {error}") from None


def _json(message: Publish, payload: Any, pretty: bool) -> bytes:
    facts: dict[str, Any] = {
        "tst": datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z"),
        "topic": message.topic,
        "qos": message.qos,
        "retain": int(message.retain),
        "payloadlen": len(message.payload),
    }
    if message.qos:
        facts["mid"] = message.packet_id
    if message.properties:
        facts["properties"] = {name.replace("_", "-"): _plain(value) for name, value in message.properties.items()}
    facts["payload"] = payload
    return json.dumps(facts, indent=2 if pretty else None, separators=None if pretty else (",", ":")).encode()


def _plain(value: Any) -> Any:
    return value.decode(errors="replace") if isinstance(value, bytes) else value
