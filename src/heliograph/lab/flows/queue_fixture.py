"""The driver's hands at the server: queues filled before a flow runs, and looked into when it has run."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from heliograph.client import Topic, connect, encoded
from heliograph.client.management import management
from heliograph.flow.engine import Publish, Put
from heliograph.flow.formats import Envelope
from heliograph.flow.inline import payload_of
from heliograph.lab.errors import MeasurementFailed

_RUN_BYTES = 2 << 20
_PATIENCE = 20.0


class QueueFixture:
    """A connection to the server of one case."""

    def __init__(self, server: str) -> None:
        self._connection = connect(server)
        self._session = self._connection.session("none")

    def fill(self, queue: str, envelopes: Sequence[Envelope]) -> None:
        """Put all of them."""
        self._send(queue, [Put(queue, envelope, False, "") for envelope in envelopes])

    def publish(self, topic: str, envelopes: Sequence[Envelope]) -> None:
        """Publish all of them."""
        self._send(Topic(topic), [Publish(topic, envelope, False, "") for envelope in envelopes])

    def _send(self, place: Topic | str, effects: Sequence[Put] | Sequence[Publish]) -> None:
        producer = self._session.producer(place)
        now = round(time.time() * 1000)
        for run in _runs(effects):
            payloads = [payload_of(effect, now, {}) for effect in run]
            refused = producer.send_encoded(payloads).refused(_PATIENCE)
            if refused:
                raise MeasurementFailed(f"{place} did not take {len(refused)} messages: {next(iter(refused.values()))}")
        producer.close()

    def depth(self, queue: str) -> int:
        """How many messages it has that nobody has taken."""
        return int(self._show(queue)["depth"])

    def _show(self, queue: str) -> dict[str, Any]:
        return dict(management(self._session, "queue-show", name=queue))

    def take_all(self, queue: str, count: int) -> Iterator[encoded.Read]:
        """So many messages, and whatever else is there."""
        consumer = self._session.consumer(queue, prefetch=1000)
        taken = 0
        while payloads := consumer.receive_encoded(1000, 0.0 if taken >= count else _PATIENCE):
            taken += len(payloads)
            for payload in payloads:
                yield encoded.read(payload)
        consumer.close()

    def purge(self, queue: str) -> None:
        """Throw away what it has."""
        management(self._session, "queue-purge", name=queue)

    def close(self) -> None:
        """Go."""
        self._connection.close()


def _runs(effects: Sequence[Put] | Sequence[Publish]) -> Iterator[Sequence[Put] | Sequence[Publish]]:
    """Pieces that are not too large to be on their way at once."""
    count = max(1, min(1000, _RUN_BYTES // max(1, len(effects[0].envelope.body)))) if effects else 1
    for start in range(0, len(effects), count):
        yield effects[start : start + count]


def numbered(envelope: Envelope, number: int, *, persistent: bool) -> Envelope:
    """With its number as identifier."""
    return replace(envelope, message_id=b"%08d" % number, persistent=persistent, priority=4)
