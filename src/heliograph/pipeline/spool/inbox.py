"""What a broker sends: messages gather as rows, and are acknowledged when these are safe.

No sockets and no files. A message of QoS 2 is known by its packet identifier from its first arrival to its release.
These identifiers are part of what is to be kept: then nothing is taken twice, whatever is interrupted and begun anew.
"""

from typing import NamedTuple

from heliograph.mqtt.client import Acknowledged, Arrival, ClientSession, Event, Forgotten, Messages
from heliograph.pipeline.source.message_properties import NO_PROPERTIES, message_properties
from heliograph.pipeline.spool.rows import Rows


class Gathered(NamedTuple):
    """What came since the last time."""

    rows: Rows
    answers: bytes
    """To be sent when the rows and the identifiers are safe."""
    held: frozenset[int]
    """Packet identifiers of messages of QoS 2 that were taken and are not released."""
    changed: bool
    """Whether there is anything new to be kept."""


class Inbox:
    """Takes what a session brings, which acknowledges nothing by itself."""

    def __init__(self, session: ClientSession) -> None:
        self._session = session
        self._held = frozenset(session.received)
        """What was to be kept the last time."""
        self._rows = Rows()
        self._arrivals: list[Arrival] = []
        self.others: list[Event] = []
        """What is about the connection itself; whoever takes it removes it."""

    @property
    def waiting(self) -> int:
        """About how many bytes have gathered."""
        return self._rows.size

    @property
    def answers_wait(self) -> bool:
        """Whether the broker waits for an answer."""
        return bool(self._arrivals)

    @property
    def has_gathered(self) -> bool:
        """Whether anything is to be kept or to be answered."""
        return bool(self._arrivals) or bool(len(self._rows))

    def take(self) -> Gathered:
        """All that has gathered."""
        for arrival in self._arrivals:
            self._session.acknowledge(arrival)
        held = frozenset(self._session.received)
        changed = len(self._rows) > 0 or held != self._held
        gathered = Gathered(self._rows, self._session.take_output(), held, changed)
        self._rows, self._arrivals, self._held = Rows(), [], held
        return gathered

    def receive(self, data: bytes, now: float, time: int) -> None:
        """Bytes have come, at a time in microseconds since 1970 (`now` is that of the session)."""
        for event in self._session.receive(data, now):
            if isinstance(event, Arrival):
                if isinstance(event, Messages):
                    self._add(event, time)
                if event.ids:
                    self._arrivals.append(event)
            elif not isinstance(event, Acknowledged | Forgotten):  # nothing is published here
                self.others.append(event)

    def _add(self, run: Messages, time: int) -> None:
        encoded = run.encoded_properties
        properties = message_properties(encoded) if encoded else NO_PROPERTIES
        self._rows.add(time, run.topic, run.payloads, run.qos, run.retain, properties)
