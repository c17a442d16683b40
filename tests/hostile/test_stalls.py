"""Requests that are large on purpose, and what they cost everybody else: no turn of the server may take long."""

import socket
import threading
from contextlib import ExitStack

import pytest

from faults.amqp_peer import AmqpPeer, receiver_from, sender_to
from heliograph.amqp import Rejected
from heliograph.amqp.codec.performatives import Accepted, Disposition, Flow, Transfer
from heliograph.amqp.messages.message import Message, Value, encode_message
from heliograph.client import connect
from heliograph.client.management import management
from heliograph.mqtt import Publish, SubAck, UnsubAck, Unsubscribe
from heliograph.mqtt.packets import Will
from hostile.stalling import CONFIG, DEEP, LONG, bystander, depth, fill, in_flight, subscribe
from plain_client import PlainClient
from running import PATIENCE, RunningServer, Serve


@pytest.fixture
def server(serve: Serve) -> RunningServer:
    return serve(CONFIG)


def retain(server: RunningServer, number: int) -> None:
    with PlainClient(server.port).connected("publisher") as publisher:
        publisher.send(*[Publish(f"kept/{index}", b"x", retain=True) for index in range(number)])
        assert publisher.publish("over").reason >= 0


def received(client: PlainClient, number: int) -> None:
    """So many messages come."""
    for _ in range(number):
        assert isinstance(client.receive(), Publish)


def test_a_filter_that_is_named_ten_thousand_times_counts_once(server: RunningServer) -> None:
    retain(server, 1000)
    with bystander(server), PlainClient(server.port).connected("attacker") as attacker:
        attacker.send_bytes(subscribe(*["kept/#"] * 10_000))
        answer = attacker.receive()
        assert isinstance(answer, SubAck)
        assert answer.reasons == (0,) * 10_000
        received(attacker, 1000)
        attacker.send_bytes(subscribe("last"))
        assert isinstance(attacker.receive(), SubAck)


def test_a_packet_may_name_hundreds_of_thousands_of_filters(server: RunningServer) -> None:
    filters = tuple(f"f/{index}" for index in range(200_000))
    with bystander(server), PlainClient(server.port).connected("attacker") as attacker:
        attacker.socket.settimeout(LONG)
        attacker.send_bytes(subscribe(*filters))
        answer = attacker.receive()
        assert isinstance(answer, SubAck)
        assert answer.reasons.count(0) == 500
        attacker.send(Unsubscribe(2, filters))
        gone = attacker.receive()
        assert isinstance(gone, UnsubAck)
        assert gone.reasons.count(0) == 500


def test_all_that_is_retained_is_sent_while_others_are_served(server: RunningServer) -> None:
    retain(server, 20_000)
    with bystander(server), PlainClient(server.port).connected("attacker") as attacker:
        attacker.send_bytes(subscribe("kept/+", "kept/#", "+/#", "#"))
        kept = 0
        while kept < 80_000:  # besides what the bystander publishes
            packet = attacker.receive()
            kept += isinstance(packet, Publish) and packet.retain


def test_pages_with_many_subscriptions(server: RunningServer) -> None:
    clients = []
    for number in range(60):
        client = PlainClient(server.port).connected(f"c{number}", properties={"session_expiry_interval": 1000})
        client.send_bytes(subscribe(*[f"{number}/{index}" for index in range(500)]))
        assert isinstance(client.receive(), SubAck)
        clients.append(client)
    with bystander(server):
        for page in ("/stats", "/metrics", "/subscriptions"):
            assert server.page(page)
        assert server.stats()["subscriptions"]["count"] == 60 * 500 + 1
    for client in clients:
        client.close()


def test_a_selector_that_no_message_of_a_deep_queue_matches(server: RunningServer) -> None:
    fill(server, DEEP)
    with bystander(server), connect(server.url("amqp")) as connection, connection.session() as session:
        assert session.consumer("q", selector="colour = 'none'").receive(timeout=0.2) is None
        browser = session.browser("q", selector="colour = 'none'")
        assert next(browser, None) is None


def test_an_answer_that_is_looked_for_in_a_deep_queue(server: RunningServer) -> None:
    fill(server, DEEP, correlation_id="c{}")
    with bystander(server), connect(server.url("amqp")) as connection, connection.session() as session:
        consumer = session.consumer("q", selector=f"JMSCorrelationID = 'c{DEEP - 1}'")
        message = consumer.receive(timeout=PATIENCE)
        assert message is not None
        assert message.correlation_id == f"c{DEEP - 1}"


def test_a_client_that_takes_all_and_settles_it_at_once_or_never(server: RunningServer) -> None:
    fill(server, DEEP)
    with bystander(server):
        for last in (False, True):
            with AmqpPeer(server.port_of("amqp")).opened(receiver_from("q")) as peer:
                peer.send(Flow(0, 1 << 30, 0, 1 << 30, 0, 0, 1 << 30))
                reader = threading.Thread(target=peer.is_closed, daemon=True)
                reader.start()
                server.wait_until(lambda stats: in_flight(stats) == DEEP, LONG)
                if last:
                    peer.send(Disposition(True, 0, (1 << 32) - 1, True, Accepted()))
                    server.wait_until(lambda stats: depth(stats) == 0, LONG)
                peer.socket.shutdown(socket.SHUT_RDWR)
                reader.join()
            server.wait_until(lambda stats: in_flight(stats) == 0, LONG)
    assert depth(server.stats()) == 0


def test_a_deep_queue_is_purged_and_deleted(server: RunningServer) -> None:
    with bystander(server), connect(server.url("amqp")) as connection, connection.session() as session:
        fill(server, DEEP)
        assert management(session, "queue-purge", name="q")["purged"] == DEEP
        fill(server, DEEP)
        assert management(session, "queue-delete", name="q", purge=True)["purged"] == DEEP


def test_a_management_request_of_megabytes_is_refused(server: RunningServer) -> None:
    large = encode_message(
        Message(
            Value({f"key{index}": index for index in range(100_000)}),
            reply_to="q",
            application_properties={"operation": "queue-list"},
        )
    )
    with bystander(server), AmqpPeer(server.port_of("amqp")).opened(sender_to("$management")) as peer:
        parts = [large[at : at + 50_000] for at in range(0, len(large), 50_000)]
        for part in parts[:-1]:
            peer.send(Transfer(0, 0, b"0", more=True), payload=part)
        peer.send(Transfer(0, 0, b"0"), payload=parts[-1])
        assert isinstance(peer.wait_for(Disposition).state, Rejected)


def test_a_message_and_a_will_for_thousands_of_subscriptions(server: RunningServer) -> None:
    filters = ["/".join("t+"[index >> bit & 1] for bit in range(9)) for index in range(500)]
    topic = "/".join("t" * 9)
    with ExitStack() as stack:
        crowd = [stack.enter_context(PlainClient(server.port).connected(f"c{number}")) for number in range(6)]
        for client in crowd:
            client.send_bytes(subscribe(*filters))
            assert isinstance(client.receive(), SubAck)
        with bystander(server):
            will = Will(topic, b"gone")
            with PlainClient(server.port).connected("publisher", will=will) as publisher:
                assert publisher.publish(topic, b"here").reason == 0
            for client in crowd:
                payloads = [packet.payload for _ in range(1000) if isinstance(packet := client.receive(), Publish)]
                assert payloads == [b"here"] * 500 + [b"gone"] * 500
