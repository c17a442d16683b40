"""Short words for what tests of the core do all the time."""

from typing import Any

from client.memory import Memory
from heliograph.client.core.consumer import ReceiverEnd
from heliograph.client.core.producer import ProducerCore, SendOptions
from heliograph.client.core.session import SessionCore
from heliograph.client.core.settings import Acknowledge
from heliograph.client.destination import Destination, destination_of
from heliograph.client.message import Message
from heliograph.client.pending import Pending


def session(memory: Memory, mode: Acknowledge = Acknowledge.AUTO) -> SessionCore:
    return memory.finish(memory.core.session(mode))


def producer(
    memory: Memory, owner: SessionCore, to: str | Destination | None = "q", presettled: bool = False, **options: Any
) -> ProducerCore:
    core = ProducerCore(owner, None if to is None else destination_of(to), SendOptions(**options), presettled)
    memory.do(core.open())
    return core


def consumer(memory: Memory, owner: SessionCore, place: str | Destination = "q", **options: Any) -> ReceiverEnd:
    core = owner.consumer(destination_of(place), **options)
    memory.do(owner.add(core))
    memory.run()
    return core


def send(core: ProducerCore, body: Any, to: str | None = None, **options: Any) -> Pending[Any]:
    destination, sending = core.prepare(body, to, core.options_with(options))
    core.submit(destination, sending)
    return sending.done


def take(memory: Memory, core: ReceiverEnd) -> Message | None:
    message = core.next()
    memory.core.touch(core)
    memory.run()
    return message


def take_bodies(memory: Memory, core: ReceiverEnd) -> list[Any]:
    bodies = []
    while (message := take(memory, core)) is not None:
        bodies.append(message.body)
    return bodies


def fill(memory: Memory, *bodies: Any, queue: str = "q") -> None:
    """Put messages into a queue."""
    owner = session(memory)
    core = producer(memory, owner, queue)
    for body in bodies:
        memory.finish(send(core, body))
    memory.do(owner.close())
