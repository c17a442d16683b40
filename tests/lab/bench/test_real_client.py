"""What the load generator puts is what a real AMQP client gets: Qpid Proton, from our server."""

import pytest

from heliograph.lab.amqp_client import Client
from heliograph.lab.bytestream import HOST
from heliograph.lab.targets.heliograph_server import Heliograph
from heliograph.lab.targets.layout import Layout
from heliograph.lab.targets.running import running
from heliograph.lab.transfers import MARK, Template, body

proton_utils = pytest.importorskip("proton.utils", reason="python-qpid-proton is missing: install the 'dev' extra")


@pytest.mark.parametrize("size", [256, 200_000])
def test_proton_gets_what_was_put(size):
    with running(Heliograph(), None, amqp=True, layout=Layout(queues=("lab.0",))) as broker:
        door = broker.doors[0]
        client = Client(door, "lab")
        client.finish()
        client.send_to(door.queue("lab.0"))
        client.socket.sendall(Template(body(size, persistent=True), 5).run(0, 7, 0, 5))
        proton = proton_utils.BlockingConnection(f"amqp://{HOST}:{door.address.port}", allowed_mechs="ANONYMOUS")
        receiver = proton.create_receiver(door.queue("lab.0"))
        for sequence in range(5):
            message = receiver.receive(timeout=10)
            receiver.accept()
            assert bytes(message.body) == b"." * (size - MARK.size) + MARK.pack(7, sequence)
            assert message.durable
        proton.close()
        client.close()
