"""AMQP clients that nobody here wrote, behind one face, so that each rule is checked with all of them."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from interop.amqp_letters import Letter, Terminus
from interop.proton_peer import Proton, ProtonConnection, ProtonDelivery, ProtonReceiver, ProtonSender
from interop.rhea_peer import Rhea, RheaConnection, RheaDelivery, RheaReceiver, RheaSender

Peer = Proton | Rhea
PeerConnection = ProtonConnection | RheaConnection
PeerSender = ProtonSender | RheaSender
PeerReceiver = ProtonReceiver | RheaReceiver
PeerDelivery = ProtonDelivery | RheaDelivery
Connect = Callable[..., PeerConnection]
"""Connects to the server, with options of the peer's `connect`."""

QUIET = 0.15
"""Seconds in which nothing comes."""


@contextmanager
def connecting(peer: Peer, port: int) -> Iterator[Connect]:
    """A way to connect; all connections are closed at the end."""
    with ExitStack() as stack:

        def connect(**options: Any) -> PeerConnection:
            connection = peer.connect(options.pop("port", port), **options)
            stack.callback(connection.close)
            return connection

        yield connect


def got(receiver: PeerReceiver) -> PeerDelivery:
    """The next message, which must come."""
    delivery = receiver.get()
    assert delivery is not None, "no message came"
    return delivery


def take(receiver: PeerReceiver) -> Letter:
    """The next message, which must come, and is gone then."""
    delivery = got(receiver)
    if not delivery.settled:
        delivery.settle()
    return delivery.letter


def nothing(receiver: PeerReceiver) -> bool:
    """Whether no message comes."""
    return receiver.get(QUIET) is None


def rest(connection: PeerConnection, source: str | Terminus) -> list[Any]:
    """The bodies of all messages that are there, and they are gone."""
    receiver = connection.receiver(source, credit=100)
    receiver.drain()
    bodies = []
    while (delivery := receiver.get(0)) is not None:
        bodies.append(delivery.letter.body)
        delivery.settle()
    receiver.close()
    return bodies
