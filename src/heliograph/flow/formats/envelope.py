"""Envelopes: messages as they enter and leave a flow, as bytes with what the transport says of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any


@dataclass(slots=True)
class Envelope:
    """A message outside the tree, as a queue, a topic, a file, a request or a test case gives it. Can be pickled."""

    body: bytes
    """All that follows the transport's own header; it may begin with an MQRFH2."""
    format: str = ""
    """What the body begins with, in MQ's words: MQSTR, MQHRF2, or nothing for bytes of the application."""
    ccsid: int = 1208
    encoding: int = 546
    message_id: bytes = b""
    correlation_id: bytes = b""
    reply_to: str = ""
    persistent: bool = False
    priority: int = 0
    expiry: int = -1
    """Tenths of a second that are left; -1 is for ever."""
    message_type: int = 8
    """1 request, 2 reply, 4 report, 8 datagram."""
    user: str = ""
    created: float = 0.0
    """Seconds since 1970."""
    backout_count: int = 0
    topic: str = ""
    content_type: str = ""
    properties: Mapping[str, Any] = field(default_factory=dict)
    """The application's own properties."""
    group_id: bytes = b""
    sequence: int = 1
    """Its number in its group, from 1."""
    mqmd: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of MQMD that are not what they usually are, by MQ's names: Report, Feedback, ReplyToQMgr, ..."""
    place: bytes = b""
    """What identifiers are made from if the message has none: where it is kept, the same when it is taken again."""

    def moment(self) -> datetime | None:
        """When it was created, in UTC; None if it is not known or no time. A sender may have put any number there."""
        try:
            return datetime.fromtimestamp(self.created, UTC).replace(tzinfo=None) if self.created else None
        except (OverflowError, ValueError, OSError):
            return None

    def with_body(self, body: bytes, form: str) -> "Envelope":
        """The same without the application's properties, and with this body and its format."""
        # One call with all of them is much faster than asking for the names of the fields.
        return Envelope(
            body,
            form,
            self.ccsid,
            self.encoding,
            self.message_id,
            self.correlation_id,
            self.reply_to,
            self.persistent,
            self.priority,
            self.expiry,
            self.message_type,
            self.user,
            self.created,
            self.backout_count,
            self.topic,
            self.content_type,
            {},
            self.group_id,
            self.sequence,
            self.mqmd,
            self.place,
        )
