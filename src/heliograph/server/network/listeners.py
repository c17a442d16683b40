"""Listeners: a configured address with its sockets, its rules, and the layers that each client gets.

A new client goes the shortest way that its listener allows: straight to the reactor for plain TCP and Unix sockets,
else through a `LayeredOutlet`. There, `Handshake` is first in line for TLS, and `_begin` puts the layers together once
it is known how the client is authenticated.
"""

import logging
import os
from contextlib import suppress
from typing import Any

from heliograph.broker import Authenticator
from heliograph.common.network_errors import network_error_text
from heliograph.server.access.authentication import CertificateAuthenticator, Credentials, ListenerAuthenticator
from heliograph.server.config.schema import ListenerConfig, ListenerKind, ListenerProtocol
from heliograph.server.hosts import address_text, is_listed, is_own_host, is_own_origin
from heliograph.server.logs import RepeatedWarnings
from heliograph.server.network import certificates
from heliograph.server.network.accepting import Acceptor, cannot_listen, most_clients, tcp_sockets, unix_socket
from heliograph.server.network.handshake import Handshake
from heliograph.server.network.layered import LayeredOutlet
from heliograph.server.network.sockets import Reactor, Receiver
from heliograph.server.network.tls import Tls
from heliograph.server.network.websocket import WebSocket
from heliograph.server.network.writing import Writer

log = logging.getLogger(__name__)
warnings = RepeatedWarnings(log)

_SCHEMES = {
    (ListenerProtocol.MQTT, ListenerKind.TCP): "mqtt",
    (ListenerProtocol.MQTT, ListenerKind.TLS): "mqtts",
    (ListenerProtocol.AMQP, ListenerKind.TCP): "amqp",
    (ListenerProtocol.AMQP, ListenerKind.TLS): "amqps",
}
# Clients past the limit are told so; when that many wait to be told, the next ones are just closed.
_REFUSED_AT_ONCE = 256


class Listener:
    """One configured listener: its sockets, its rules, its certificate."""

    def __init__(self, config: ListenerConfig, writer: Writer, credentials: Credentials, reactor: Reactor) -> None:
        self.config = config
        self._writer = writer
        self._reactor = reactor
        self._authenticator = ListenerAuthenticator(config, credentials)
        self._context = certificates.tls_context(config) if config.encrypted else None
        self._is_plain = config.kind in {ListenerKind.TCP, ListenerKind.UNIX}
        self._most_clients = most_clients()
        self._acceptors: list[Acceptor] = []

    async def start(self) -> None:
        """Listen; CannotListen says why not."""
        config = self.config
        try:
            if config.kind is ListenerKind.UNIX:
                sockets = [unix_socket(config.path)]
            else:
                sockets = await tcp_sockets(config.host, config.port)
        except OSError as error:
            raise cannot_listen(f'listener "{config.name}"', "its [[listener]]", config.address, error) from None
        self._acceptors = [Acceptor(sock, config.name, self._take, self._reactor) for sock in sockets]

    def _take(self, fd: int, address: object) -> None:
        if self._overrun():
            os.close(fd)
            return
        try:
            if self._is_plain:
                self._reactor.add(fd, address, self._authenticator, self.config.protocol)
            else:
                self._take_layered(LayeredOutlet(self._reactor, fd, address))
        except BaseException:
            self._reactor.drop(fd)
            raise

    def _take_layered(self, outlet: LayeredOutlet) -> None:
        if self._context is None:
            self._begin(outlet, None, self._authenticator)
        else:
            outlet.connection = outlet.above = Handshake(outlet, self._context, self._begin, self._refused)
            self._writer.outlets.add(outlet)
        self._reactor.register(outlet)

    def _begin(self, outlet: LayeredOutlet, tls: Tls | None, authenticator: Authenticator | None) -> None:
        """Begin the conversation and stack its layers; without an authenticator, the client's certificate decides."""
        config = self.config
        self._writer.opened(outlet, authenticator or self._authenticator_for(tls), config.protocol)
        top: Receiver = outlet.connection
        if config.kind in {ListenerKind.WS, ListenerKind.WSS}:
            top = outlet.websocket = WebSocket(outlet, config.protocol, config.path, self._may_open)
        if tls is not None:
            tls.above = top
            top = tls
        outlet.above = top

    def _refused(self, outlet: LayeredOutlet, why: Exception) -> None:
        """Log a client whose handshake failed or took too long."""
        peer = outlet.peer()
        warnings.warning(
            "handshake", "client refused", listener=self.config.name, peer=peer, detail=network_error_text(why, peer)
        )

    def _may_open(self, origin: str, host: str) -> bool:
        """Whether a web page of this origin may use this listener: one that is listed, or of the listener's address.

        A host name that is not ours is no danger where a page needs a password or a certificate of that name.
        """
        config = self.config
        safe = config.encrypted or not config.anonymous or is_own_host(host, (config.host,))
        if is_listed(origin, config.origins) or (safe and is_own_origin(origin, host)):
            return True
        warnings.warning(
            "origin", "WebSocket connection refused: origin not allowed", listener=config.name, origin=origin
        )
        return False

    def _authenticator_for(self, tls: Tls | None) -> Authenticator:
        if tls is not None and self._authenticator.listener.certificate_user:
            user = certificates.common_name(tls.certificate())
            if user is not None:
                return CertificateAuthenticator(user)
        return self._authenticator

    def _overrun(self) -> bool:
        """Whether there are so many connections that a new one is closed without an answer."""
        number = len(self._writer.outlets)
        # The limit can be changed from outside while we run; asking for each client would cost a system call each.
        if not number % 16 or number >= self._most_clients - _REFUSED_AT_ONCE:
            self._most_clients = most_clients()
        most = self._most_clients
        limit = min(self._writer.broker.limits.connections, most)
        if number < most and number + self._writer.pages() < limit + _REFUSED_AT_ONCE:
            return False
        warnings.warning("connections", "too many connections; new ones are closed at once", limit=limit)
        return True

    def is_at(self, config: ListenerConfig) -> bool:
        """Whether this configuration is for the socket that this listener has."""
        return all(
            getattr(self.config, key) == getattr(config, key) for key in ("protocol", "kind", "host", "port", "path")
        )

    @property
    def is_plain_mqtt(self) -> bool:
        """Whether an MQTT client needs to know nothing but the port."""
        return self.config.protocol is ListenerProtocol.MQTT and self.config.kind is ListenerKind.TCP

    def check(self, config: ListenerConfig) -> None:
        """CertificateError if the files that these rules name cannot be used."""
        if config.encrypted:
            certificates.tls_context(config)

    def reload(self, config: ListenerConfig) -> None:
        """Use new rules for the same address, and the certificate as it is now; CertificateError changes nothing."""
        if self._context is not None:
            certificates.reload(self._context, config)
        self.config = config
        self._authenticator.listener = config

    @property
    def addresses(self) -> list[str]:
        """Addresses as URLs, one for each socket."""
        scheme = _SCHEMES.get((self.config.protocol, self.config.kind), str(self.config.kind))
        if self.config.kind is ListenerKind.UNIX:
            return [f"unix:{self.config.path}"]
        tail = self.config.path if self.config.kind in {ListenerKind.WS, ListenerKind.WSS} else ""
        names = [acceptor.socket.getsockname() for acceptor in self._acceptors]
        return [f"{scheme}://{address_text(*name[:2])}{tail}" for name in names]

    @property
    def facts(self) -> list[dict[str, Any]]:
        """What a client has to know to connect, once for each socket."""
        what = {"protocol": str(self.config.protocol), "kind": str(self.config.kind)}
        if self.config.kind is ListenerKind.UNIX:
            return [{**what, "path": self.config.path}]
        path = {"path": self.config.path} if self.config.path else {}
        names = [acceptor.socket.getsockname() for acceptor in self._acceptors]
        return [{**what, "host": host, "port": port, **path} for host, port, *_ in names]

    @property
    def port(self) -> int:
        """The port in use, also where the configuration leaves it open."""
        return int(self._acceptors[0].socket.getsockname()[1])

    def close(self) -> None:
        """Accept no more."""
        for acceptor in self._acceptors:
            acceptor.close()
        if self.config.kind is ListenerKind.UNIX:
            with suppress(OSError):
                os.unlink(self.config.path)
