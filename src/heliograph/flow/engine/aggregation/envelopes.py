"""Envelopes as text and bytes, for keeping them; fields that are added to envelopes later get their defaults."""

import json
from base64 import b64decode, b64encode
from dataclasses import fields
from typing import Any

from heliograph.flow.formats.envelope import Envelope

_BYTES = "base64"


def head_of(envelope: Envelope) -> str:
    """Everything but the body."""
    head = {field.name: getattr(envelope, field.name) for field in fields(envelope) if field.name != "body"}
    head["properties"], head["mqmd"] = dict(envelope.properties), dict(envelope.mqmd)
    return json.dumps(head, default=_plain)


def envelope_of(head: str, body: bytes) -> Envelope:
    """The envelope again."""
    return Envelope(body, **json.loads(head, object_hook=_special))


def _plain(value: Any) -> Any:
    return {_BYTES: b64encode(value).decode()} if isinstance(value, bytes) else str(value)


def _special(value: dict[str, Any]) -> Any:
    return b64decode(value[_BYTES]) if value.keys() == {_BYTES} else value
