"""Dead letters by the ten thousand: made by one client at once, and sent back at once."""

import socket
import threading

from faults.amqp_peer import AmqpPeer, receiver_from
from heliograph.amqp import Rejected
from heliograph.amqp.codec.performatives import Disposition, Flow
from heliograph.client import connect
from heliograph.client.management import management
from hostile.stalling import CONFIG, LONG, bystander, depth, fill, in_flight
from running import Serve

MANY = 20_000


def test_a_client_rejects_all_and_an_operator_sends_it_back(serve: Serve) -> None:
    server = serve(CONFIG)
    fill(server, MANY)
    with bystander(server):
        with AmqpPeer(server.port_of("amqp")).opened(receiver_from("q")) as peer:
            peer.send(Flow(0, 1 << 30, 0, 1 << 30, 0, 0, MANY))
            reader = threading.Thread(target=peer.is_closed, daemon=True)
            reader.start()
            server.wait_until(lambda stats: in_flight(stats) == MANY, LONG)
            peer.send(Disposition(True, 0, (1 << 32) - 1, True, Rejected()))
            server.wait_until(lambda stats: depth(stats) == 0, LONG)
            peer.socket.shutdown(socket.SHUT_RDWR)
            reader.join()
        with connect(server.url("amqp")) as connection, connection.session() as session:
            moved = management(session, "queue-redrive", name="SYSTEM.DEAD.LETTER.QUEUE")
    assert moved["moved"] == depth(server.stats()) == MANY
