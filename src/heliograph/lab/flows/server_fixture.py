"""The server of a flow case: a heliograph with the queues that it needs, and a client that fills and checks them."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from heliograph.client import Topic, connect, encoded
from heliograph.client.management import management
from heliograph.flow.engine import Publish, Put
from heliograph.flow.formats import Envelope
from heliograph.flow.inline import payload_of
from heliograph.lab.errors import MeasurementFailed
from heliograph.lab.flows.flow_cases import INPUT, OUTPUT, REPLIES, REQUESTS, TOPIC, FlowCase
from heliograph.lab.machine import HOST
from heliograph.lab.targets.heliograph_server import Heliograph
from heliograph.lab.targets.target import TargetSetup

DEAD_LETTERS = "SYSTEM.DEAD.LETTER.QUEUE"
_DEPTH = 100_000_000

_RUN_BYTES = 2 << 20
_PATIENCE = 20.0


def subscriber_queues(case: FlowCase) -> list[str]:
    """The queues that get each publication, the one that is looked into first."""
    return [OUTPUT, *(f"FLOW.SUBSCRIBER.{number}" for number in range(1, case.subscribers))] if case.subscribers else []


def server_for(case: FlowCase) -> "FlowServer":
    """The server for one case: subscribers' queues are bound to the topic."""
    return FlowServer(
        dict.fromkeys((INPUT, OUTPUT, REQUESTS, REPLIES), "") | dict.fromkeys(subscriber_queues(case), TOPIC)
    )


class FlowServer(Heliograph):
    """Our server with these queues, and with an MQTT listener if that is asked for."""

    def __init__(self, queues: Mapping[str, str], *, mqtt: bool = False) -> None:
        """Queues by name; what is published on a queue's topic goes there, too."""
        self._queues = queues
        self._mqtt = mqtt
        self.mqtt_port = 0

    def command(self, setup: TargetSetup) -> list[str]:
        """As for other benchmarks, and the queues behind it."""
        command = super().command(setup)
        tables = [_table(name, topic) for name, topic in self._queues.items()]
        if self._mqtt:
            self.mqtt_port = setup.spare_ports[0]
            tables.append(f'[[listener]]\nhost = "{HOST}"\nport = {self.mqtt_port}\n')
        with (setup.directory / "heliograph.toml").open("a") as file:
            file.write("".join(tables))
        return command


def _table(name: str, topic: str) -> str:
    bound = f'topics = ["{topic}"]\n' if topic else ""
    return f'[[queue]]\nname = "{name}"\nmax_depth = {_DEPTH}\n{bound}'


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
                raise MeasurementFailed(f"{place} refused {len(refused)} messages: {next(iter(refused.values()))}")
        producer.close()

    def depth(self, queue: str) -> int:
        """How many messages wait in it."""
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
        """Close the connection."""
        self._connection.close()


def _runs(effects: Sequence[Put] | Sequence[Publish]) -> Iterator[Sequence[Put] | Sequence[Publish]]:
    """Pieces that are not too large to be in flight at once."""
    count = max(1, min(1000, _RUN_BYTES // max(1, len(effects[0].envelope.body)))) if effects else 1
    for start in range(0, len(effects), count):
        yield effects[start : start + count]


def numbered(envelope: Envelope, number: int, *, persistent: bool) -> Envelope:
    """With its number as identifier."""
    return replace(envelope, message_id=b"%08d" % number, persistent=persistent, priority=4)
