"""Messages with times that nobody can mean: they are expired, refused or cut down, and the server lives on."""

from collections.abc import Iterator
from typing import Any

import pytest

from configurations import BOTH
from faults.amqp_peer import AmqpPeer, frames, receiver_from, sender_to
from heliograph.amqp import Accepted, Rejected, Source
from heliograph.amqp.codec.performatives import Attach, Disposition, Flow, Target, Transfer
from heliograph.amqp.codec.values import ULong
from heliograph.amqp.messages.message import Message, Value, encode_message
from hostile.bystander import PATIENT, Bystander
from hostile.queue_contents import all_bodies
from plain_client import PlainClient
from running import RunningServer, servers

CONFIG = f"""{BOTH}
[[queue]]
name = "q"
[[queue]]
name = "bound"
topics = ["bound"]
[[queue]]
name = "rejecting"
"""
LATEST = 2**63 - 1


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with servers(tmp_path_factory.mktemp("times")) as start:
        yield start(CONFIG)


def depth(figures: dict[str, Any], name: str) -> int:
    """How many messages there are in a queue."""
    return next(int(queue["depth"]) for queue in figures["queues"]["named"] if queue["name"] == name)


def sent(server: RunningServer, address: str, message: Message) -> Any:
    """What the server says of a message."""
    return sent_bytes(server, address, encode_message(message))


def sent_bytes(server: RunningServer, address: str, payload: bytes) -> Any:
    with AmqpPeer(server.port_of("amqp")).opened(sender_to(address)) as peer:
        peer.send(Transfer(0, 0, b"0"), payload=payload)
        return peer.wait_for(Disposition).state


@pytest.mark.parametrize("expiry", [-1, -(2**63), 1, LATEST])
@pytest.mark.parametrize("durable", [True, False])
def test_an_expiry_time_can_be_anything(server: RunningServer, expiry: int, durable: bool) -> None:
    message = Message(Value("when?"), durable=durable, absolute_expiry_time=expiry)
    with Bystander(server.port, pid=server.process.pid) as bystander:
        assert isinstance(sent(server, "q", message), Accepted)
        assert all_bodies(server, "q") == (["when?"] if expiry == LATEST else [])
        bystander.count = 0
        server.wait_until(lambda _: bystander.count > 5)
    assert bystander.worst < PATIENT


@pytest.mark.parametrize("annotation", ["x-opt-delivery-delay", "x-opt-delivery-time"])
@pytest.mark.parametrize("durable", [True, False])
def test_a_message_that_would_never_come_is_refused(server: RunningServer, annotation: str, durable: bool) -> None:
    message = Message(Value("never"), durable=durable, message_annotations={annotation: ULong(2**64 - 1)})
    state = sent(server, "q", message)
    assert isinstance(state, Rejected)
    assert state.error is not None
    assert state.error.condition == "amqp:invalid-field"
    assert annotation in str(state.error.description)


def test_of_a_run_only_the_message_that_makes_no_sense_is_refused(server: RunningServer) -> None:
    odd = {"x-opt-delivery-delay": ULong(2**64 - 1)}
    payloads = [
        encode_message(Message(Value(n), durable=True, message_annotations=odd if n == 1 else None)) for n in range(3)
    ]
    with AmqpPeer(server.port_of("amqp")).opened(sender_to("q")) as peer:
        peer.send_bytes(b"".join(frames(Transfer(0, n, b"%d" % n), payload=one) for n, one in enumerate(payloads)))
        states: dict[int, Any] = {}
        while len(states) < len(payloads):
            said = peer.wait_for(Disposition)
            last = said.first if said.last is None else said.last
            states |= dict.fromkeys(range(said.first, last + 1), said.state)
    assert [type(states[n]) for n in range(3)] == [Accepted, Rejected, Accepted]
    assert all_bodies(server, "q") == [0, 2]


@pytest.mark.parametrize("expiry", [-(2**63), LATEST])
def test_a_publication_can_expire_at_any_time(server: RunningServer, expiry: int) -> None:
    """To subscribers of MQTT, retained, and to a queue that is bound to the topic."""
    message = Message(
        Value("news"),
        durable=True,
        absolute_expiry_time=expiry,
        message_annotations={"x-opt-retain-message": True},
    )
    with PlainClient(server.port).connected(f"subscriber{expiry}") as subscriber:
        subscriber.subscribe("bound", qos=1)
        sent(server, "topic://bound", message)
        if expiry == LATEST:
            publish: Any = subscriber.receive()
            assert publish.payload == b"news"
            assert publish.properties["message_expiry_interval"] > 2**31
    with AmqpPeer(server.port_of("amqp")).opened(
        Attach("r", 0, True, source=Source("topic://bound"), target=Target())
    ) as late:
        late.wait_for(Attach)
    assert all_bodies(server, "bound") == (["news"] if expiry == LATEST else [])


def test_annotations_that_are_no_map_do_no_harm_to_a_dead_letter(server: RunningServer) -> None:
    odd = b"\x00\x53\x72\xc0\x05\x02\x54\x01\x54\x02" + encode_message(Message(Value("odd")))
    sent_bytes(server, "rejecting", odd)
    with AmqpPeer(server.port_of("amqp")).opened(receiver_from("rejecting")) as peer:
        peer.send(Flow(0, 1000, 0, 1000, 0, 0, 10))
        assert peer.wait_for(Transfer)
        peer.send(Disposition(True, 0, 0, True, Rejected()))
        server.wait_until(lambda figures: depth(figures, "SYSTEM.DEAD.LETTER.QUEUE") == 1)
    assert server.stats()["internal_errors"] == 0
