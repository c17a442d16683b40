"""Frames that look alike are not decoded again and again.

The frames that a peer sends by the thousand, transfers and dispositions, differ in few of their bytes. The first one of
its kind is decoded in full and leaves a shape: where those bytes are, and what all others must be. Frames that fit it
are taken apart by one `unpack` each; the first that does not fit goes to the decoder.
"""

from typing import Final, Protocol

from heliograph.amqp.engine.events import Event

BODY: Final = 8  # where the body of a frame begins
FIELDS: Final = BODY + 6  # where the first field is, behind descriptor, constructor, size and count of a short list
KEY: Final = slice(4, FIELDS + 2)  # of a frame: channel, descriptor, size and count of fields, and the first field
UINT_FORMS: Final = {0x43: "", 0x52: "B", 0x70: "I"}  # how a uint of each constructor is unpacked
UINT_WIDTHS: Final = {0x43: 0, 0x52: 1, 0x70: 4}
_MOST: Final = 256


class Shape(Protocol):
    """What frames of one kind have in common."""

    def take(self, data: bytes, at: int, end: int, largest: int, events: list[Event]) -> int:
        """Take the frames that fit, from `at` on; says where they end, which is `at` when there are none."""


class Shapes:
    """The shapes that a connection has seen."""

    __slots__ = ("_shapes",)

    def __init__(self) -> None:
        self._shapes: dict[bytes, Shape] = {}

    def find(self, data: bytes, at: int) -> Shape | None:
        """The shape that the frame at `at` may have."""
        return self._shapes.get(data[at + 4 : at + FIELDS + 2])

    def remember(self, frame: bytes, shape: Shape) -> None:
        """The shape of this frame."""
        if len(self._shapes) >= _MOST:
            self._shapes.clear()
        self._shapes[frame[KEY]] = shape
