"""What tests of requests that are large on purpose have in common."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from configurations import BOTH
from faults.amqp_peer import AmqpPeer, frames, sender_to
from heliograph.amqp.codec.performatives import Transfer
from heliograph.amqp.messages.message import Message, Value, encode_message
from heliograph.mqtt import Subscribe, Subscription, encode
from hostile.bystander import PATIENT, Bystander
from running import PATIENCE, RunningServer

CONFIG = f"""{BOTH}
[[queue]]
name = "q"
max_depth = 1000000
"""
HELD = 0.06
"""Processor time that a turn may take, in seconds. The rule is 5 ms, on a machine that has nothing else to do: where
others empty its caches all the time, the same work takes several times as long. What is tried here took 100 ms to 17 s
when it was done in one go."""
DEEP = 60_000
"""Messages in a queue that is deep."""
LONG = 4 * PATIENCE
"""Seconds that the work of an attack may take on a loaded machine, all of it: others are served meanwhile."""


@contextmanager
def bystander(server: RunningServer) -> Iterator[None]:
    """Somebody else is served meanwhile, and no turn takes long."""
    with Bystander(server.port, pid=server.process.pid) as other:
        yield
        other.count = 0
        server.wait_until(lambda _: other.count > 2)
    loop = server.stats()["loop"]
    assert loop["longest_turn_cpu_seconds"] < HELD, loop
    assert other.worst < PATIENT


def fill(server: RunningServer, number: int, *, durable: bool = False, **fields: str) -> None:
    """Put messages into the queue, with the number of each in place of `{}`."""
    with AmqpPeer(server.port_of("amqp")).opened(sender_to("q")) as peer:
        reader = threading.Thread(target=peer.is_closed, daemon=True)  # flows have to be read
        reader.start()
        for first in range(0, number, 1000):
            sent = [
                frames(
                    Transfer(0, index, b"%d" % index, settled=True),
                    payload=encode_message(
                        Message(Value("x"), durable, **{key: value.format(index) for key, value in fields.items()})  # type: ignore[arg-type]
                    ),
                )
                for index in range(first, first + 1000)
            ]
            peer.send_bytes(b"".join(sent))
            server.wait_until(lambda stats: depth(stats) >= first + len(sent), LONG)  # noqa: B023 - and gives new credit
        peer.socket.shutdown(socket.SHUT_RDWR)
        reader.join()


def depth(stats: dict) -> int:  # type: ignore[type-arg]
    return next(queue["depth"] for queue in stats["queues"]["named"] if queue["name"] == "q")


def subscribe(*filters: str) -> bytes:
    return encode(Subscribe(1, tuple(Subscription(one, 0) for one in filters)), 5)


def in_flight(stats: dict) -> int:  # type: ignore[type-arg]
    return next(queue["in_flight"] for queue in stats["queues"]["named"] if queue["name"] == "q")
