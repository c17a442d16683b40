"""Qpid Proton's blocking client, with what these tests need besides."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from typing import Any

from proton import Message, SSLDomain, Terminus, symbol
from proton.handlers import MessagingHandler, TransactionHandler
from proton.reactor import Container, LinkOption
from proton.utils import BlockingConnection

from running import PATIENCE


@contextlib.contextmanager
def connected(url: str, **options: Any) -> Iterator[BlockingConnection]:
    """A connection that is closed at the end."""
    connection = BlockingConnection(url, timeout=PATIENCE, **options)
    try:
        yield connection
    finally:
        connection.close()


def trusting(authority: str, certificate: tuple[str, str] | None = None) -> SSLDomain:
    """A client's TLS that trusts this authority and may show a certificate."""
    domain = SSLDomain(SSLDomain.MODE_CLIENT)
    domain.set_trusted_ca_db(authority)
    domain.set_peer_authentication(SSLDomain.VERIFY_PEER_NAME, authority)
    if certificate is not None:
        domain.set_credentials(*certificate, None)
    return domain


class Capability(LinkOption):
    """Says what the address of a link stands for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def apply(self, link: Any) -> None:
        terminus: Terminus = link.source if link.is_receiver else link.target
        terminus.capabilities.put_object(symbol(self._name))


class Dynamic(LinkOption):
    """Asks for a node of the client's own to send to."""

    def apply(self, link: Any) -> None:
        link.target.dynamic = True


class Transactional(MessagingHandler, TransactionHandler):
    """Receives one message from a queue and sends an answer to another, in one transaction."""

    def __init__(self, url: str, source: str, target: str, *, commit: bool) -> None:
        super().__init__(auto_accept=False, prefetch=1)
        self.url, self.source, self.target, self.commit = url, source, target, commit
        self.ended = ""
        self._delivery: Any = None
        self._request: Any = None
        self._transaction: Any = None

    def on_start(self, event: Any) -> None:
        self.connection = event.container.connect(self.url, reconnect=False)
        self.sender = event.container.create_sender(self.connection, self.target)
        event.container.create_receiver(self.connection, self.source)

    def on_message(self, event: Any) -> None:
        self._delivery, self._request = event.delivery, event.message
        event.container.declare_transaction(self.connection, handler=self)

    def on_transaction_declared(self, event: Any) -> None:
        transaction = event.transaction
        transaction.accept(self._delivery)
        transaction.send(self.sender, Message(body=f"answer to {self._request.body}"))
        if self.commit:
            transaction.commit()
        else:
            transaction.abort()

    def on_transaction_committed(self, event: Any) -> None:
        self._done("committed")

    def on_transaction_aborted(self, event: Any) -> None:
        self._done("aborted")

    def _done(self, how: str) -> None:
        self.ended = how
        self.connection.close()

    def run(self) -> str:
        """How the transaction ended."""
        container = Container(self)
        timer = threading.Timer(PATIENCE, container.stop)
        timer.start()
        try:
            container.run()
        finally:
            timer.cancel()
        return self.ended


def read_exactly(sock: socket.socket, size: int) -> bytes:
    """That many bytes."""
    data = b""
    while len(data) < size:
        piece = sock.recv(size - len(data))
        assert piece, "the server has closed the connection"
        data += piece
    return data
