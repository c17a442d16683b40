"""What the load generator puts is what a real AMQP client gets: Qpid Proton, from our server."""

import pytest

from heliograph.lab.bench.queue_clients import QueueSender, clients_of
from heliograph.lab.load import Group, Payload, Plan, payloads
from heliograph.lab.load.amqp.client import AmqpClientGroup
from heliograph.lab.load.client_loop import ClientLoop, give_up
from heliograph.lab.machine import HOST
from heliograph.lab.targets.broker_process import running_broker
from heliograph.lab.targets.heliograph_server import Heliograph
from heliograph.lab.targets.requirements import Layout

proton_utils = pytest.importorskip("proton.utils", reason="python-qpid-proton is missing: install the 'dev' extra")


@pytest.mark.parametrize("size", [256, 200_000])
def test_proton_gets_what_was_put(size):
    group = Group(
        "lab",
        "publish",
        1,
        protocol="amqp",
        destination="queue://lab.0",
        qos=1,
        payload=Payload((size,)),
        persistent=True,
        labels=(("colour", "c{client}"),),
    )
    with running_broker(Heliograph(), None, amqp=True, layout=Layout(queues=("lab.0",))) as broker:
        address = broker.doors[0].address
        loop = ClientLoop(give_up)
        clients = AmqpClientGroup(Plan((group,), 1.0), 0, 0, address, loop.poller)
        loop.connect(clients)
        sender = QueueSender(clients_of(clients)[0], [], window=5, batch=5)
        sender.send_next(sender.batch())
        while sender.settled < 5:
            assert loop.turn(10)
        proton = proton_utils.BlockingConnection(f"amqp://{HOST}:{address.port}", allowed_mechs="ANONYMOUS")
        receiver = proton.create_receiver("queue://lab.0")
        for sequence in range(5):
            message = receiver.receive(timeout=10)
            receiver.accept()
            body = bytes(message.body)
            assert len(body) == size
            assert payloads.HEADER.unpack_from(body)[:4] == (payloads.MAGIC, 0, 0, sequence)
            assert message.durable
            assert message.properties == {"colour": "c0"}
        proton.close()
        loop.close()
