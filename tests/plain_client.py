"""A client that can be told to do anything, right or wrong, packet by packet or byte by byte."""

import socket
import ssl
from types import TracebackType
from typing import Any, Self

from heliograph.mqtt import decode, encode, packet_bounds, packets
from running import PATIENCE

_ANY_SIZE = 1 << 28


class PlainClient:
    """One connection, blocking; everything it waits for has a time limit."""

    def __init__(
        self, address: int | str | socket.socket, version: int = 5, *, tls: ssl.SSLContext | None = None
    ) -> None:
        """Connect to a port on this machine, to the path of a Unix socket, or use a socket that is connected."""
        self.version = version
        if isinstance(address, socket.socket):
            self.socket = address
        elif isinstance(address, str):
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.settimeout(PATIENCE)
            self.socket.connect(address)
        else:
            self.socket = socket.create_connection(("127.0.0.1", address), PATIENCE)
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_hostname="localhost")
        self._received = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def send(self, *packets: packets.Packet) -> None:
        self.send_bytes(b"".join(encode(packet, self.version) for packet in packets))

    def send_bytes(self, data: bytes) -> None:
        self.socket.sendall(data)

    def receive(self) -> packets.Packet:
        """The next packet; ConnectionError if the server closes the connection instead."""
        while True:
            bounds = packet_bounds(self._received, 0, _ANY_SIZE)
            if bounds is not None and bounds[1] <= len(self._received):
                data, self._received = self._received, self._received[bounds[1] :]
                return decode(data[0], data[bounds[0] : bounds[1]], self.version)
            more = self.socket.recv(1 << 18)
            if not more:
                raise ConnectionError("the server closed the connection")
            self._received += more

    def connect(self, client_id: str = "", **options: Any) -> packets.ConnAck:
        """Send CONNECT; the answer."""
        self.send(packets.Connect(client_id, self.version, **options))
        answer = self.receive()
        assert isinstance(answer, packets.ConnAck)
        return answer

    def connected(self, client_id: str = "", **options: Any) -> Self:
        """Connect, which must succeed."""
        try:
            answer = self.connect(client_id, **options)
            assert answer.reason == 0, answer
        except BaseException:
            self.close()
            raise
        return self

    def subscribe(self, *filters: str, qos: int = 0) -> tuple[int, ...]:
        """Subscribe; the reasons in SUBACK."""
        self.send(packets.Subscribe(1, tuple(packets.Subscription(one, qos) for one in filters)))
        answer = self.receive()
        assert isinstance(answer, packets.SubAck)
        return answer.reasons

    def publish(self, topic: str, payload: bytes = b"") -> packets.PubAck:
        """Publish with QoS 1; the PUBACK."""
        self.send(packets.Publish(topic, payload, qos=1, packet_id=1))
        answer = self.receive()
        assert isinstance(answer, packets.PubAck)
        return answer

    def is_closed(self) -> bool:
        """Whether the server ends the connection; waits for it, and passes over what comes before that."""
        try:
            while self.socket.recv(1 << 18):
                pass
        except TimeoutError:
            return False
        except ConnectionError:
            pass
        return True

    def goodbye(self) -> packets.Disconnect:
        """The DISCONNECT with which the server ends the connection."""
        answer = self.receive()
        assert isinstance(answer, packets.Disconnect)
        assert self.is_closed()
        return answer

    def close(self) -> None:
        self.socket.close()


def is_served(port: int) -> bool:
    """Whether a new client gets what it publishes: the server is alive and well."""
    with PlainClient(port).connected() as client:
        assert client.subscribe("is/served") == (0,)
        client.send(packets.Publish("is/served", b"yes"), packets.Disconnect())
        answer = client.receive()
        return isinstance(answer, packets.Publish) and answer.payload == b"yes"
