"""What a message costs where it is read, written or converted, and on its way through a client and a broker in memory.

    PYTHONPATH=src:tests python -m mapping.message_bench

Microseconds of CPU for each message. Rounds of all steps take turns, so that a noisy machine is noisy for all; the best
round counts.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from broker.amqp.amqp_clients import AmqpScene
from broker.clients import OpenAuthenticator
from client.memory import Memory
from client.scenes import producer, session
from heliograph.amqp.messages.message_peek import peek, peek_run, with_header
from heliograph.amqp.messages.template import MessageTemplate
from heliograph.broker.amqp.connection import AmqpConnection
from heliograph.broker.amqp.targets import addresses_of
from heliograph.broker.core.outlet import Outlet
from heliograph.broker.core.span import Span, carried_properties, message
from heliograph.broker.queues.conversion import amqp_messages, spans_of
from heliograph.broker.queues.message_view import MessageView
from heliograph.client import Message, encoded
from heliograph.client.destination import Queue

RUN = 1000
ROUNDS = 25
BODY = b"x" * 100
NOW = 1_700_000_000_000
PROPERTIES: dict[str, Any] = {"colour": "red", "size": 5}


class RealPeer:
    """The end of a connection in a real broker, for the client's driver in memory."""

    def __init__(self, scene: AmqpScene) -> None:
        self._scene = scene
        self._outlet = Outlet()
        self._connection = AmqpConnection(scene.host, self._outlet, OpenAuthenticator())

    def receive(self, data: bytes) -> None:
        self._connection.receive(data)
        self._scene.turn_ends()

    def take(self) -> bytes:
        self._scene.turn_ends()
        output, self._outlet.chunks = b"".join(self._outlet.chunks), []
        if self._outlet in self._scene.broker.turn.dirty:
            self._scene.broker.turn.dirty.remove(self._outlet)
        return output


class RealMemory(Memory):
    """A client's core with a real broker."""

    def __init__(self, scene: AmqpScene) -> None:
        super().__init__()
        self._scene = scene

    def _connect(self) -> bool:
        server, self._dialling = self._dialling, None
        if server is not None:
            self._peer = RealPeer(self._scene)  # type: ignore[assignment]
            self.core.connected()
        return server is not None


class Costs:
    """The best round of each step."""

    def __init__(self) -> None:
        self.best: dict[str, float] = {}

    @contextmanager
    def of(self, step: str, count: int = RUN) -> Iterator[None]:
        begin = time.process_time()
        yield
        spent = 1e6 * (time.process_time() - begin) / count
        self.best[step] = min(spent, self.best.get(step, spent))


def through_the_broker(memory: RealMemory, costs: Costs) -> Callable[[], None]:
    """Messages of one application and encoded runs, put into a queue and got from it."""
    owner = session(memory)
    sender = producer(memory, owner, persistent=False)
    receiver = owner.consumer(Queue("q"), prefetch=2 * RUN)
    memory.do(owner.add(receiver))
    memory.run()
    template = MessageTemplate(to="queue://q", persistent=False, properties=PROPERTIES, created=NOW)

    def exchange() -> None:
        with costs.of("client writes messages"):
            for _ in range(RUN):
                sender.submit(*sender.prepare(Message("x" * 100, properties=PROPERTIES.copy()), None, None))
        with costs.of("put and got by the broker"):
            memory.run()
        with costs.of("client reads messages"):
            for _ in range(RUN):
                came = receiver.next()
                assert came is not None
                assert came.body
                memory.core.touch(receiver)
        memory.run()
        payloads = template.fill_run(b"ID:", 1, [BODY] * RUN)
        with costs.of("encoded run through client and broker"):
            sender.submit_run(Queue("q"), payloads)
            memory.run()
            assert len(receiver.next_run(RUN)) == RUN
            memory.core.touch(receiver)
            memory.run()

    return exchange


def alone(costs: Costs) -> Callable[[], None]:
    """Each step by itself, for messages in runs and for one."""
    template = MessageTemplate(to="queue://q", properties=PROPERTIES, created=NOW, content_type="text/plain")
    payloads = template.fill_run(b"ID:", 1, [BODY] * RUN)
    to_topic = MessageTemplate(to="topic://a/b", to_kind=1, properties=PROPERTIES, created=NOW)
    publications = to_topic.fill_all([BODY] * RUN)
    texts = [encoded.write(b"text", to="topic://a/b", text=True, reply_to="topic://back", correlation_id="c")] * RUN
    properties = carried_properties({"user_property": [("colour", "red")], "content_type": "text/plain"})
    span = Span(b"a/b", BODY * RUN, RUN, head=0, qos=1, id_at=0, version5=False, verbatim=False, properties=properties)
    single = message(b"a/b", BODY, qos=1, properties=properties)
    text = message(b"a/b", BODY, qos=1, properties=carried_properties({"payload_format_indicator": 1}))
    readdressing = encoded.Readdressing("queue://other")
    bodies = [BODY] * RUN

    def steps() -> None:
        with costs.of("template, run"):
            template.fill_run(b"ID:", 1, bodies)
        with costs.of("write"):
            for _ in range(RUN):
                encoded.write(BODY, to="queue://q", message_id="ID:1", properties=PROPERTIES, created=NOW)
        with costs.of("read"):
            for payload in payloads:
                encoded.read(payload)
        with costs.of("looks at a run, and new addresses"):
            for payload, seen in zip(payloads, encoded.outlines(payloads), strict=True):
                assert seen is not None
                readdressing(payload, seen.at)
        with costs.of("peek, run"):
            list(peek_run(payloads))
        with costs.of("peek"):
            for payload in payloads:
                peek(payload)
        with costs.of("with_header"):
            for payload in payloads:
                with_header(payload, delivery_count=1)
        with costs.of("addresses of a run"):
            addresses_of(publications)
        with costs.of("view for selectors"):
            for payload in payloads:
                view = MessageView(payload)
                view.header, view.fields, view.application  # noqa: B018
        with costs.of("MQTT to AMQP, run"):
            amqp_messages(span, 0.0, NOW)
        with costs.of("MQTT to AMQP, single"):
            for _ in range(RUN):
                amqp_messages(single, 0.0, NOW)
        with costs.of("MQTT to AMQP, single text"):
            for _ in range(RUN):
                amqp_messages(text, 0.0, NOW)
        with costs.of("AMQP to MQTT, run"):
            spans_of(b"a/b", publications, 0.0, NOW)
        with costs.of("AMQP to MQTT, single"):
            for payload in publications:
                spans_of(b"a/b", [payload], 0.0, NOW)
        with costs.of("AMQP to MQTT, texts"):
            spans_of(b"a/b", texts, 0.0, NOW)
        with costs.of("AMQP to MQTT, all different"):
            spans_of(b"a/b", payloads, 0.0, NOW)

    return steps


def main() -> None:
    costs = Costs()
    with TemporaryDirectory() as folder:
        scene = AmqpScene(Path(folder))
        scene.queue("q", max_depth=10 * RUN)
        memory = RealMemory(scene)
        memory.open()
        rounds = [through_the_broker(memory, costs), alone(costs)]
        for _ in range(ROUNDS):
            for one in rounds:
                one()
        scene.store.close()
    for step, spent in costs.best.items():
        print(f"{step:40} {spent:7.3f} us")


if __name__ == "__main__":
    main()
