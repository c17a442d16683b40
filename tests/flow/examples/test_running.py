"""Every example flow runs beside a real server: messages of its cases go in through queues, and come out of them."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from example_flows import FLOWS, NAMES, make_databases, usual_cases
from heliograph.client import Message, Queue
from heliograph.flow.engine.compilation import Compilation
from heliograph.flow.formats.envelope import Envelope
from heliograph.flow.loading.flow_loading import load_flow
from heliograph.flow.testing.comparing import message_differences
from running import servers
from running_flows import CONFIG, PATIENCE, QueueFixture, Running, running_flow

DEFINITIONS = {name: load_flow(FLOWS / name) for name in NAMES}
NODES = [node for flow in DEFINITIONS.values() for node in flow.nodes.values()]
QUEUES = sorted({node.properties["queue"] for node in NODES if node.type in {"QueueInput", "QueueOutput"}})


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    with servers(tmp_path_factory.mktemp("server")) as serve:
        queues = "".join(f'[[queue]]\nname = "{name}"\n' for name in QUEUES)
        server = serve(CONFIG.format(port=0) + queues)
        yield f"amqp://127.0.0.1:{server.port_of('amqp')}"


@pytest.fixture
def queue_fixture(url):
    queue_fixture = QueueFixture(url)
    yield queue_fixture
    queue_fixture.close()


@contextmanager
def running(name: str, url: str, state) -> Iterator[Running]:
    """The flow, in a thread of the test."""
    make_databases(name, state)
    with running_flow(FLOWS / name, state, url) as flow:
        yield flow


def bytes_of(message) -> bytes:
    return message.body.encode() if isinstance(message.body, str) else bytes(message.body)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "aggregation"])
def test_an_example_does_the_same_beside_a_server(name, url, queue_fixture, tmp_path):
    (entry,) = (node.properties["queue"] for node in DEFINITIONS[name].nodes.values() if node.type == "QueueInput")
    catalogue = Compilation(DEFINITIONS[name]).catalogue
    sent = 0
    with running(name, url, tmp_path) as flow:
        for case in usual_cases(name):
            queue_fixture.put(entry, *(step.body for step in case.steps), persistent=True)
            sent += len(case.steps)
            for queue, expected in case.expected.queues.items():
                for wanted, message in zip(expected, queue_fixture.get(queue, len(expected)), strict=True):
                    assert message_differences(wanted, Envelope(bytes_of(message)), catalogue) == [], case.name
    assert sent
    assert (flow.statistics.messages, flow.statistics.done) == (sent, sent)
    assert [queue for queue in QUEUES if queue_fixture.rest(queue)] == []


class Supplier:
    """Answers requests on a queue with a price, in a thread, as another program would."""

    def __init__(self, url: str, queue: str, price: str) -> None:
        self._url, self._queue, self._price = url, queue, price
        self._thread = threading.Thread(target=self._answer, daemon=True)
        self._thread.start()

    def _answer(self) -> None:
        queue_fixture = QueueFixture(self._url)
        (request,) = queue_fixture.get(self._queue)
        assert isinstance(request.reply_to, Queue)
        reply = Message(f"<Quote><Price>{self._price}</Price></Quote>", correlation_id=request.message_id)
        queue_fixture.put(request.reply_to.name, reply)
        queue_fixture.close()

    def done(self) -> None:
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()


def test_suppliers_are_asked_and_the_best_quote_is_sent_on(url, queue_fixture, tmp_path):
    prices = {"SUPPLIER.NORTH": "49.90", "SUPPLIER.SOUTH": "47.5", "SUPPLIER.WEST": "120"}
    with running("aggregation", url, tmp_path):
        suppliers = [Supplier(url, queue, price) for queue, price in prices.items()]
        queue_fixture.put("QUOTES.WANTED", "<Wanted><Article>chair</Article></Wanted>")
        assert queue_fixture.bodies("QUOTES.BEST") == [
            '<Best replies="3"><Price>47.5</Price><Supplier>South</Supplier></Best>'
        ]
        for supplier in suppliers:
            supplier.done()


def test_suppliers_that_are_asked_before_a_restart_are_heard_after_it(url, queue_fixture, tmp_path):
    with running("aggregation", url, tmp_path):
        queue_fixture.put("QUOTES.WANTED", "<Wanted/>", persistent=True)
        requests = [queue_fixture.get(f"SUPPLIER.{name}")[0] for name in ("NORTH", "SOUTH", "WEST")]
    for price, request in enumerate(requests, 1):
        queue_fixture.put(
            "QUOTES.REPLIES", Message(f"<Quote><Price>{price}</Price></Quote>", correlation_id=request.message_id)
        )
    with running("aggregation", url, tmp_path):
        assert queue_fixture.bodies("QUOTES.BEST") == [
            '<Best replies="3"><Price>1</Price><Supplier>North</Supplier></Best>'
        ]


def test_a_reply_that_nobody_asked_for_goes_astray(url, queue_fixture, tmp_path):
    with running("aggregation", url, tmp_path):
        queue_fixture.put("QUOTES.REPLIES", Message("<Quote/>", correlation_id=b"\0" * 24))
        assert queue_fixture.bodies("QUOTES.STRAY") == ["<Quote/>"]


def test_when_the_time_is_over_the_replies_that_came_have_to_do(url, queue_fixture, tmp_path):
    folder = tmp_path / "aggregation"
    folder.mkdir()
    for file in ("flow.yaml", "aggregation.esql"):
        text = (FLOWS / "aggregation" / file).read_text()
        (folder / file).write_text(text.replace("patience: 30 ", "patience: 4 "))
    with running(str(folder), url, tmp_path / "state"):
        queue_fixture.put("QUOTES.WANTED", "<Wanted/>")
        (request,) = queue_fixture.get("SUPPLIER.WEST")
        queue_fixture.put(
            "QUOTES.REPLIES", Message("<Quote><Price>7</Price></Quote>", correlation_id=request.message_id)
        )
        assert queue_fixture.bodies("QUOTES.PARTIAL") == [
            '<Best replies="1"><Price>7</Price><Supplier>West</Supplier></Best>'
        ]
        for name in ("NORTH", "SOUTH"):
            queue_fixture.get(f"SUPPLIER.{name}")
