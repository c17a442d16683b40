"""Flow frames, out and in. Who takes one message at a time sends one for each, so both ways have a fast form."""

import struct
from typing import TYPE_CHECKING, Final

from heliograph.amqp.codec.frames import amqp_frame
from heliograph.amqp.codec.performatives import MAX_UINT, SENDER, Flow

if TYPE_CHECKING:
    from heliograph.amqp.engine.link import Link
    from heliograph.amqp.engine.session import Session

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


SHORT_FLOW: Final = b"\x00\x53\x13\xc0"  # the descriptor, and a short list
_uint = struct.Struct(">I").unpack_from
_NUMBERS: Final = 8  # fields that are uints; two booleans and the properties follow
_REQUIRED: Final = slice(1, 4)


def decode_flow(body: bytes) -> Flow | None:
    """The flow that is a short list of numbers and flags, as all are but odd ones; None is for the decoder."""
    count = body[5]
    if count < _REQUIRED.stop or count > _NUMBERS + 2 or body[4] + 5 != len(body):
        return None
    values: list[int | None] = []
    at = 6
    try:
        for _ in range(min(count, _NUMBERS)):
            code = body[at]
            if code == 0x70:
                values.append(_uint(body, at + 1)[0])
                at += 5
            elif code == 0x52:
                values.append(body[at + 1])
                at += 2
            elif code == 0x43:
                values.append(0)
                at += 1
            elif code == 0x40:
                values.append(None)
                at += 1
            else:
                return None
    except (IndexError, struct.error):
        return None
    flags = body[at:]
    if len(flags) != max(count - _NUMBERS, 0) or flags.strip(b"\x40\x41\x42") or None in values[_REQUIRED]:
        return None
    return Flow(*values, *[flag == 0x41 for flag in flags])  # type: ignore[arg-type]
