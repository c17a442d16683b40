"""A sending link of a client: what credit and window allow, and what was sent."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from heliograph.lab.load.amqp.session import AmqpSession


class SenderLink:
    """Credit of one link."""

    __slots__ = ("_session", "handle", "limit", "sent", "settled")

    def __init__(self, session: "AmqpSession", handle: int, *, settled: bool) -> None:
        self.handle = handle
        self.settled = settled
        self.limit = 0  # deliveries that the broker has given credit for so far
        self.sent = 0
        self._session = session

    def room(self, frames: int) -> int:
        """Messages of so many frames each that may be sent now."""
        room = min(self.limit - self.sent, self._session.frames_left // frames)
        return room if self.settled else min(room, self._session.flight.room())

    @property
    def next(self) -> int:
        """The number of the next delivery."""
        return self._session.flight.next

    def begin(self, count: int, frames: int, now: int) -> int:
        """The number of the first of so many deliveries, which are sent now with so many frames in all."""
        session = self._session
        self.sent += count
        session.frames_out += frames
        return session.flight.skip(count) if self.settled else session.flight.begin(count, now)
