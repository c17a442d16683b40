"""When a client has to send a ping, and when its server has been silent for too long."""

from math import inf


class KeepAlive:
    """Times of one connection. With an interval of 0 there are no pings."""

    def __init__(self, interval: float, now: float) -> None:
        self.interval = interval
        self._heard = self._sent = now
        self._asked: float | None = None
        """When PINGREQ was sent, if nothing has come since."""

    def heard(self, now: float) -> None:
        """Note that something was received."""
        self._heard = now
        self._asked = None

    def sent(self, now: float) -> None:
        """Note that something is sent."""
        self._sent = now

    def asked(self, now: float) -> None:
        """Note that PINGREQ is sent."""
        self._asked = self._sent = now

    @property
    def silent(self) -> float:
        """When the answer to PINGREQ is too late."""
        return inf if self._asked is None or not self.interval else self._asked + self.interval

    @property
    def due(self) -> float:
        """When the next PINGREQ is due: an interval after nothing was sent, or nothing was received."""
        if not self.interval:
            return inf
        latest = self._sent if self._asked is not None else min(self._sent, self._heard)
        return latest + self.interval
