"""Failures that nobody knows of yet, in a server with defects on purpose: the one at fault goes, the others stay."""

import signal
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from certificates import Authority
from configurations import BOTH, listener
from faults.amqp_peer import GREETING, AmqpPeer, begin, receiver_from, sender_to
from heliograph.amqp import Accepted
from heliograph.amqp.codec.performatives import Disposition, Flow, Open, Transfer
from heliograph.amqp.messages.message import Message, Value, encode_message
from heliograph.mqtt import Publish
from hostile.bystander import Bystander
from hostile.queue_contents import all_bodies
from plain_client import PlainClient
from running import PATIENCE, SOURCE, RunningServer, write_config

CONFIG = f"""{BOTH}
[[queue]]
name = "q"
[[queue]]
name = "other"
[[queue]]
name = "bound"
topics = ["bound"]
"""
KEPT: Any = {"session_expiry_interval": 1000}
DEFECTIVE = {"PYTHONPATH": f"{Path(__file__).parent / 'defective'}:{SOURCE}"}


@pytest.fixture
def config(tmp_path: Path, authority: Authority) -> Path:
    file = tmp_path / "heliograph.toml"
    pair = authority.issue("server", "server")
    tls = listener("tls", pair=pair)
    write_config(file, CONFIG + tls)
    return file


@pytest.fixture
def server(config: Path) -> Iterator[RunningServer]:
    """Its log has a traceback for each defect, so it is stopped here."""
    running = RunningServer(config, DEFECTIVE)
    yield running
    if not running.settled:
        end(running)


def end(server: RunningServer) -> None:
    """Stop a server, whose log has tracebacks."""
    server.send_signal(signal.SIGTERM)
    assert server.ended() == 0, server.log.text()[-3000:]


@pytest.fixture
def sound(config: Path) -> Iterator[Any]:
    """Starts a server without defects on the same log."""
    started: list[RunningServer] = []

    def start() -> RunningServer:
        started.append(RunningServer(config, {}))
        return started[-1]

    yield start
    for one in started:
        one.stop()


def persistent(text: str) -> bytes:
    return encode_message(Message(Value(text), durable=True))


def test_whoever_sends_what_cannot_be_stored_is_cut_off_and_others_are_answered(server: RunningServer) -> None:
    port = server.port_of("amqp")
    with (
        Bystander(server.port, pid=server.process.pid) as bystander,
        AmqpPeer(port).opened(sender_to("q")) as bad,
        AmqpPeer(port).opened(sender_to("q")) as good,
    ):
        # Stopped meanwhile, the server finds both in one turn.
        server.send_signal(signal.SIGSTOP)
        good.send(Transfer(0, 0, b"0"), payload=persistent("before"))
        bad.send(Transfer(0, 0, b"0"), Transfer(0, 1, b"1"), payload=persistent("unstorable"))
        good.send(Transfer(0, 1, b"1"), payload=persistent("after"))
        server.send_signal(signal.SIGCONT)
        answer = good.wait_for(Disposition)
        assert isinstance(answer.state, Accepted)
        while (answer.last or answer.first) < 1:
            answer = good.wait_for(Disposition)
        with pytest.raises(ConnectionError):
            bad.wait_for(Disposition)
        bystander.count = 0
        server.wait_until(lambda _: bystander.count > 5)
    assert server.stats()["internal_errors"] == 2
    assert "heliograph_internal_errors_total 2\n" in server.page("/metrics")
    assert all_bodies(server, "q") == ["before", "after"]
    assert server.stats()["storage"]["trouble"] == ""


def test_what_was_answered_in_the_turn_of_a_failure_is_there_after_a_crash(server: RunningServer, sound: Any) -> None:
    with AmqpPeer(server.port_of("amqp")).opened(sender_to("q"), sender_to("other", 1)) as peer:
        peer.send(Transfer(1, 0, b"0"), payload=persistent("fine"))
        assert isinstance(peer.wait_for(Disposition).state, Accepted)
        peer.send(Transfer(0, 1, b"1"), payload=persistent("unstorable"))
        assert peer.is_closed()
    server.kill()
    after = sound()
    assert all_bodies(after, "q") == []
    assert all_bodies(after, "other") == ["fine"]


def test_an_mqtt_publisher_of_what_a_bound_queue_cannot_store_is_cut_off(server: RunningServer) -> None:
    with (
        PlainClient(server.port).connected("publisher") as publisher,
        PlainClient(server.port).connected("good") as good,
    ):
        good.publish("bound", b"before")
        publisher.send(Publish("bound", b"unstorable", qos=1, packet_id=1))
        assert publisher.is_closed()
        good.publish("bound", b"after")
    assert all_bodies(server, "bound") == [b"before", b"after"]
    assert server.stats()["internal_errors"] == 1


def test_a_publisher_on_tls_is_cut_off_like_any_other(server: RunningServer, authority: Authority) -> None:
    port, trusting = server.port_of("mqtts"), ssl.create_default_context(cafile=authority.cert)
    with PlainClient(port, tls=trusting).connected("publisher") as publisher:
        publisher.send(Publish("bound", b"unstorable", qos=1, packet_id=1))
        assert publisher.is_closed()
    assert server.stats()["internal_errors"] == 1
    with PlainClient(port, tls=trusting).connected("publisher") as publisher:
        publisher.publish("bound", b"fine")
    assert all_bodies(server, "bound") == [b"fine"]


def test_a_message_that_cannot_be_sent_becomes_a_dead_letter_and_its_receiver_gets_the_next(
    server: RunningServer,
) -> None:
    port = server.port_of("amqp")
    with AmqpPeer(port).opened(sender_to("q")) as sender, AmqpPeer(port).opened(receiver_from("q")) as receiver:
        receiver.send(Flow(0, 1000, 0, 1000, 0, 0, 10))
        for number, text in enumerate(["unsendable", "next"]):
            sender.send(Transfer(0, number, b"%d" % number), payload=persistent(text))
        assert receiver.wait_for(Transfer)
        sender.send(Transfer(0, 2, b"2"), payload=persistent("still there"))
        assert receiver.wait_for(Transfer)
    depths = {queue["name"]: queue["depth"] for queue in server.stats()["queues"]["named"]}
    assert depths["SYSTEM.DEAD.LETTER.QUEUE"] == 1
    assert server.stats()["internal_errors"] == 1


def test_a_connection_whose_frames_cannot_be_written_is_cut_off(server: RunningServer) -> None:
    with Bystander(server.port, pid=server.process.pid) as bystander, AmqpPeer(server.port_of("amqp")) as peer:
        peer.send_bytes(GREETING)
        peer.send(Open("unflushable"), begin())
        assert peer.is_closed()
        bystander.count = 0
        server.wait_until(lambda _: bystander.count > 5)
    assert server.stats()["internal_errors"] >= 1


def test_nothing_is_acknowledged_any_more_when_it_is_not_known_who_has_what(server: RunningServer, sound: Any) -> None:
    """A message that is on its way to a durable subscriber, and could not be stored."""
    port = server.port
    with (
        PlainClient(port).connected("subscriber", properties=KEPT) as subscriber,
        PlainClient(port).connected("good") as good,
        PlainClient(port).connected("bad") as bad,
        Bystander(port) as bystander,
    ):
        subscriber.subscribe("news", qos=1)
        good.publish("news", b"safe")
        bad.send(Publish("news", b"unstorable", qos=1, packet_id=1))
        assert bad.is_closed()
        server.log.wait_for("nothing is acknowledged or stored any more")
        assert good.publish("news", b"too late").reason >= 0x80
        with pytest.raises(urllib.error.HTTPError, match="503"):
            urllib.request.urlopen(server.url("http") + "healthz", timeout=PATIENCE)
        bystander.count = 0
        server.wait_until(lambda _: bystander.count > 5)  # what need not be stored goes on
    end(server)
    after = sound()
    with PlainClient(after.port).connected("subscriber", clean_start=False, properties=KEPT) as subscriber:
        message = subscriber.receive()
        assert isinstance(message, Publish)
        assert message.payload == b"safe"
        assert "ok" in after.page("/healthz")
