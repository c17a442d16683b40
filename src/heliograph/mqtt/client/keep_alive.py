"""When a client has to say that it is there, and when its server is silent for too long."""

from math import inf


class KeepAlive:
    """Times of one connection. An interval of 0 means that nobody asks."""

    def __init__(self, interval: float, now: float) -> None:
        self.interval = interval
        self._heard = self._sent = now
        self._asked: float | None = None
        """When PINGREQ was sent, if nothing has come since."""

    def heard(self, now: float) -> None:
        """Something has come."""
        self._heard = now
        self._asked = None

    def sent(self, now: float) -> None:
        """Something is sent."""
        self._sent = now

    def asked(self, now: float) -> None:
        """PINGREQ is sent."""
        self._asked = self._sent = now

    @property
    def silent(self) -> float:
        """When it will be too late for an answer to PINGREQ."""
        return inf if self._asked is None or not self.interval else self._asked + self.interval

    @property
    def due(self) -> float:
        """When the next PINGREQ is due: nothing was sent for so long, or nothing has come."""
        if not self.interval:
            return inf
        latest = self._sent if self._asked is not None else min(self._sent, self._heard)
        return latest + self.interval
