"""Flow frames on their way out. Who takes one message at a time sends one for each, so they have a fast form."""

import struct
from typing import TYPE_CHECKING, Final

from heliograph.amqp.frames import amqp_frame
from heliograph.amqp.performatives import MAX_UINT, SENDER, Flow

if TYPE_CHECKING:
    from heliograph.amqp.link import Link
    from heliograph.amqp.session import Session

OUTGOING_WINDOW: Final = MAX_UINT >> 1  # we hold nothing back on our side
# Eight uints in their long form, then drain and echo.
_FORM: Final = struct.Struct(">IHH6s" + "BI" * 8 + "BB")
_LIST: Final = b"\x00\x53\x13\xc0" + bytes((8 * 5 + 2 + 1, 10))


def encode_flow(session: "Session", link: "Link | None", echo: bool) -> bytes:
    """The frame with a session's windows and, for a link, its credit."""
    outgoing = session.outgoing.next_transfer
    if link is not None and session.remote is not None and (link.remote is not None or link.role == SENDER):
        return _FORM.pack(
            _FORM.size, 0x0200, session.channel, _LIST,
            0x70, session.next_incoming,
            0x70, session.incoming_window,
            0x70, outgoing,
            0x70, OUTGOING_WINDOW,
            0x70, link.handle,
            0x70, link.delivery_count,
            0x70, link.credit,
            0x70, link.available,
            0x41 if link.drain else 0x42,
            0x41 if echo else 0x42,
        )  # fmt: skip
    flow = Flow(session.next_incoming if session.remote else None, session.incoming_window, outgoing, OUTGOING_WINDOW)
    if link is not None:
        flow.handle = link.handle
        flow.delivery_count = link.delivery_count if link.role == SENDER or link.remote else None
        flow.link_credit = link.credit
        flow.drain = link.drain
    flow.echo = echo
    return amqp_frame(session.channel, flow.encoded())
