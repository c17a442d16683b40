"""Sessions that the server ends: whoever waits for something in one hears of it at once."""

import pytest

from client.memory import Memory
from client.scenes import consumer, producer, session
from heliograph.amqp import Error
from heliograph.client.errors import InvalidDestination
from heliograph.client.pending import start

NOT_FOUND = Error("amqp:not-found", "no such exchange")


@pytest.mark.parametrize("make", [producer, consumer])
def test_while_a_link_is_being_attached(memory: Memory, make) -> None:
    owner = session(memory)
    memory.broker.end_session["nowhere"] = NOT_FOUND
    with pytest.raises(InvalidDestination, match="the server ended the session: no such exchange"):
        make(memory, owner, "nowhere")
    with pytest.raises(InvalidDestination, match="no such exchange"):
        make(memory, owner, "q")
    make(memory, session(memory), "q")


def test_the_name_of_a_subscription_is_free_again(memory: Memory) -> None:
    memory.broker.end_session["t"] = NOT_FOUND
    for _ in range(2):
        with pytest.raises(InvalidDestination):
            consumer(memory, session(memory), "topic://t", subscription="s", durable=True, shared=True)


def test_while_a_link_is_being_detached(memory: Memory) -> None:
    core = producer(memory, session(memory), "q")
    memory.broker.end_session["q"] = NOT_FOUND
    memory.finish(start(core.close()))
