"""An AMQP client that gives credit and does not read: it gets little, and holds up nobody."""

import socket
import time
from collections.abc import Callable

from configurations import AMQP
from heliograph.amqp import Accepted, Connection, Credentials, Options, Source, Target, Transfers
from heliograph.amqp.messages.message import Data, Message, encode_message
from running import PATIENCE, Serve

CONFIG = f"""{AMQP}
[[queue]]
name = "q"
"""
MESSAGES = 60
MESSAGE = encode_message(Message(Data(bytes(1 << 20))))


class SocketClient:
    """The engine on a socket."""

    def __init__(self, port: int, name: str) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE)
        self.engine = Connection(Options(name, credentials=Credentials("ANONYMOUS")), server=False)
        self.engine.open()
        self.session = self.engine.begin()
        self.received = 0

    def send(self) -> None:
        """Write what there is to write."""
        self.engine.flush()
        data, self.engine.output = b"".join(self.engine.output), []
        self.socket.sendall(data)

    def until(self, condition: Callable[[], object]) -> None:
        """Read and write until something is so; messages are accepted as they come."""
        while not condition():
            self.send()
            for event in self.engine.receive(self.socket.recv(1 << 18), time.monotonic()):
                if isinstance(event, Transfers):
                    self.received += len(event.deliveries)
                    event.link.settle(event.deliveries[0].number, event.deliveries[-1].number, Accepted())
        self.send()


def test_most_of_a_queue_is_left_for_those_who_read(serve: Serve) -> None:
    server = serve(CONFIG)
    port = server.port_of("amqp")
    sender = SocketClient(port, "sender")
    link = sender.session.attach_sender("s", Target("q"))
    sender.until(lambda: link.credit)
    deaf = SocketClient(port, "deaf")
    deaf_link = deaf.session.attach_receiver("r", Source("q"))
    deaf.until(lambda: deaf_link.remote)
    deaf_link.flow(1000)
    deaf.send()
    link.send([MESSAGE] * MESSAGES)
    sender.until(lambda: not link.pending and not len(sender.session.outgoing_unsettled))
    reader = SocketClient(port, "reader")
    reader.session.attach_receiver("r", Source("q")).flow(1000)
    reader.until(lambda: reader.received >= MESSAGES - 20)
    deaf.socket.close()
    reader.until(lambda: reader.received == MESSAGES)  # what the other had comes back when it is gone
    for client in (sender, reader):
        client.socket.close()
