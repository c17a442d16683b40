"""Queues with long names, and queues made on first use, with Qpid Proton as the client."""

import pytest
from proton import Message
from proton.utils import BlockingConnection, LinkDetached

from configurations import AMQP
from interop.proton_client import connected
from running import Serve

CONFIG = f"""{AMQP}
[storage]
directory = "data"
"""
MAKING = CONFIG + '[queues]\ncreate = ["dev.*"]\n'
LONG = "dev." + "x" * 251


def received(connection: BlockingConnection, address: str) -> object:
    receiver = connection.create_receiver(address)
    message = receiver.receive()
    receiver.accept()
    receiver.close()
    return message.body


def test_nothing_is_made_unless_the_configuration_says_so(serve: Serve) -> None:
    with connected(serve(CONFIG).url("amqp")) as connection:
        for attach in (connection.create_sender, connection.create_receiver):
            with pytest.raises(LinkDetached, match=r"there is no queue dev\.orders"):
                attach("dev.orders")


@pytest.mark.parametrize("name", ["dev.orders", LONG])
def test_a_queue_is_made_by_whoever_comes_first_and_survives_a_restart(serve: Serve, name: str) -> None:
    server = serve(MAKING)
    with connected(server.url("amqp")) as connection:
        receiver = connection.create_receiver(name)
        connection.create_sender(name).send(Message(body="one", durable=True))
        assert receiver.receive().body == "one"
        receiver.accept()
        connection.create_sender(name).send(Message(body="two", durable=True))
    server.stop()
    with connected(serve(CONFIG).url("amqp")) as connection:
        assert received(connection, name) == "two"


def test_a_message_without_a_link_of_its_own_makes_one_too(serve: Serve) -> None:
    with connected(serve(MAKING).url("amqp")) as connection:
        connection.create_sender(None).send(Message(body="one", address="dev.answers"))
        assert received(connection, "dev.answers") == "one"


def test_names_that_no_queue_can_have_are_not_made(serve: Serve) -> None:
    server = serve(MAKING)
    with connected(server.url("amqp")) as connection:
        for name in (LONG + "x", "dev.a b", "dev.ü", "orders"):
            with pytest.raises(LinkDetached, match="not-found"):
                connection.create_sender(name)
    named = [one["name"] for one in server.stats()["queues"]["named"]]
    assert not [name for name in named if name.startswith(("dev", "orders"))]
