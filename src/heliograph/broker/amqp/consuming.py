"""Letting a link receive from a queue."""

from typing import TYPE_CHECKING

from heliograph.amqp import Link, Sender, Source
from heliograph.broker.amqp.outgoing import Outgoing
from heliograph.broker.queues.refusal import Refused

if TYPE_CHECKING:
    from heliograph.broker.amqp.connection import AmqpConnection

_CAPABILITIES = frozenset({"ANONYMOUS-RELAY", "DELAYED_DELIVERY", "SHARED-SUBS"})


def offered(link: Link) -> tuple[str, ...]:
    """Which of the capabilities that a client wants of a link it has."""
    desired = link.remote.desired_capabilities if link.remote is not None else ()
    return tuple(name for name in desired if name in _CAPABILITIES)


def consume(connection: "AmqpConnection", link: Sender, outgoing: Outgoing, source: Source) -> None:
    """Let a link receive from its queue; Refused if the queue does not agree."""
    refusal = outgoing.queue.add_consumer(outgoing)
    if refusal is not None:
        raise Refused(*refusal)
    link.accept(source=source, offered_capabilities=offered(link))
    connection.connect(link, outgoing)
    outgoing.serve()
