"""The connection to an MQTT broker: socket, CONNECT and subscriptions."""

import select
import socket
import ssl
import time
from contextlib import suppress
from typing import TypeVar

from heliograph.common.network_errors import certificate_file_error, network_error_text
from heliograph.errors import Problem
from heliograph.mqtt import Connect, Properties, Reason, SubAck, Subscription
from heliograph.mqtt.client import ClientSession, Connected, Disconnected, Event, Failed, Refused
from heliograph.pipeline.errors import BrokerLost, PipelineError, UnsupportedVersion
from heliograph.pipeline.spool.inbox import Inbox
from heliograph.pipeline.spool.options import SpoolOptions

KEEP_ALIVE = 30
_TIMEOUT = 20.0
_CHUNK = 256 << 10
_FOR_EVER = 0xFFFFFFFF
_LATER = frozenset({Reason.SERVER_UNAVAILABLE, Reason.SERVER_BUSY, Reason.SERVER_SHUTTING_DOWN})


Answer = TypeVar("Answer", Connected, SubAck)


class Broker:
    """A connection that the broker has accepted. Received bytes go to its inbox."""

    def __init__(self, options: SpoolOptions, client_id: str, version: int, held: frozenset[int]) -> None:
        """Connect; `held` are packet identifiers of QoS 2 of an earlier connection. BrokerLost, or another Problem."""
        self._options = options
        self._session = ClientSession(manual=True, received=held)
        self.inbox = Inbox(self._session)
        self._socket = _open(options)
        try:
            self.session_present = self._enter(client_id, version)
        except BaseException:
            self._socket.close()
            raise

    def _enter(self, client_id: str, version: int) -> bool:
        options = self._options
        connect = Connect(
            client_id,
            version,
            clean_start=False,
            keep_alive=KEEP_ALIVE,
            username=options.user or None,
            password=options.password.encode() if options.user else None,
            properties=Properties(session_expiry_interval=_FOR_EVER) if version == 5 else Properties(),
        )
        self._session.open(connect, time.monotonic())
        self.send(self._session.take_output())
        return self._wait_for(Connected).session_present

    def subscribe(self) -> None:
        """Subscribe to the topic filters of the options."""
        options = self._options
        # What is retained comes with the first subscription only, not each time that we come back.
        wanted = Subscription(options.topic, options.qos, retain_as_published=True, retain_handling=1)
        self._session.subscribe([wanted])
        self.send(self._session.take_output())
        answer = self._wait_for(SubAck)
        if answer.reasons[0] >= Reason.UNSPECIFIED_ERROR:
            what = f'{options.server} does not allow a subscription to "{options.topic}"'
            raise _refusal(what, Reason(answer.reasons[0]))

    def _wait_for(self, kind: type[Answer]) -> Answer:
        deadline = time.monotonic() + _TIMEOUT
        while True:
            for event in self.inbox.others:
                if isinstance(event, kind):
                    self.inbox.others.remove(event)
                    return event
            left = deadline - time.monotonic()
            if left <= 0:
                raise BrokerLost(f"{self._options.server} did not answer for {_TIMEOUT:.0f} seconds")
            self.receive(left)

    def send(self, data: bytes) -> None:
        """Send these bytes."""
        try:
            self._socket.settimeout(_TIMEOUT)
            self._socket.sendall(data)
        except OSError as error:
            raise self._lost(error) from None

    def receive(self, timeout: float) -> bool:
        """Take bytes that have arrived or arrive within `timeout` seconds; False if there were none."""
        if not self._can_be_read(timeout):
            return False
        try:
            self._socket.settimeout(_TIMEOUT)
            data = self._socket.recv(_CHUNK)
        except OSError as error:
            raise self._lost(error) from None
        if not data:
            raise BrokerLost(f"{self._options.server} has closed the connection")
        self.inbox.receive(data, time.monotonic(), time.time_ns() // 1000)
        for event in self.inbox.others:
            self._check(event)
        return True

    def _check(self, event: Event) -> None:
        """Raise what ends the connection."""
        server = self._options.server
        match event:
            case Refused():
                raise _refusal(f"{server} does not let us in", event.reason)
            case Disconnected():
                raise _refusal(f"{server} has ended the connection", event.reason)
            case Failed(reason=Reason.KEEP_ALIVE_TIMEOUT):
                raise BrokerLost(f"{server} is silent: {event.text}")
            case Failed():
                raise BrokerLost(f"{server} sent something that is not MQTT: {event.text}")

    def _lost(self, error: OSError) -> BrokerLost:
        server = self._options.server
        return BrokerLost(f"the connection to {server} was lost: {network_error_text(error, server)}")

    def _can_be_read(self, timeout: float) -> bool:
        if isinstance(self._socket, ssl.SSLSocket) and self._socket.pending():
            return True
        return bool(select.select([self._socket], [], [], timeout)[0])

    def keep_alive(self, *, reading: bool) -> None:
        """Send a ping when one is due; BrokerLost if the broker does not answer although we are `reading`."""
        events, _ = self._session.tick(time.monotonic(), reading=reading)
        for event in events:
            self._check(event)
        if ping := self._session.take_output():
            self.send(ping)
        self.inbox.others.clear()

    def close(self, *, orderly: bool = False) -> None:
        """End the connection; the broker keeps the session."""
        if orderly:
            self._session.disconnect()
            with suppress(BrokerLost):
                self.send(self._session.take_output())
        self._socket.close()


def _refusal(what: str, reason: Reason) -> Problem:
    text = f"{what}: {reason.name.lower().replace('_', ' ')}"
    if reason in _LATER:
        return BrokerLost(text)
    return UnsupportedVersion(text) if reason is Reason.UNSUPPORTED_PROTOCOL_VERSION else PipelineError(text)


def _open(options: SpoolOptions) -> socket.socket:
    context = _context(options) if options.tls else None
    try:
        plain = socket.create_connection((options.host, options.port), _TIMEOUT)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except OSError as error:
        raise BrokerLost(f"cannot connect to {options.server}: {network_error_text(error, options.server)}") from None
    if context is None:
        return plain
    try:
        return context.wrap_socket(plain, server_hostname=options.host)
    except ssl.SSLCertVerificationError as error:
        plain.close()
        raise PipelineError(f"the certificate of {options.server} is not accepted: {error.verify_message}") from None
    except OSError as error:
        plain.close()
        raise BrokerLost(
            f"no TLS connection to {options.server}: {network_error_text(error, options.server)}"
        ) from None


def _context(options: SpoolOptions) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=options.ca or None)
        if options.cert:
            context.load_cert_chain(options.cert, options.key or None)
    except (OSError, ssl.SSLError) as error:
        files = f"{options.ca} {options.cert} {options.key}"
        raise PipelineError(f"cannot use the certificate files {files}: {certificate_file_error(error)}") from None
    return context
