"""One MQTT client connection: its handshake, its subscription and its end."""

from heliograph.lab import wire
from heliograph.lab.bytestream import BUFFER, PATIENCE, Address, BrokerGone, ByteStream
from heliograph.network_errors import sentence


class Link(ByteStream):
    """A connected MQTT client as far as bytes go."""

    def __init__(self, address: Address, client: str, version: int = wire.V3, *, durable: bool = False) -> None:
        """Connect and send CONNECT; `finish` waits for the answer, so that many links can be opened side by side."""
        super().__init__(address)
        self.version = version
        self._say(wire.connect(client, version, durable=durable))

    def finish(self) -> None:
        """Wait for CONNACK."""
        self._expect(wire.CONNACK)

    def subscribe(self, topic_filter: str, qos: int) -> None:
        """Subscribe and wait until the broker has granted exactly this."""
        self._say(wire.subscribe(topic_filter, qos, self.version))
        granted = self._expect(wire.SUBACK)[-1]
        if granted != qos:
            raise BrokerGone(f"asked for QoS {qos} on {topic_filter}, the broker granted {granted:#x}")

    def _say(self, packet: bytes) -> None:
        try:
            self.socket.sendall(packet)
        except OSError as error:
            raise BrokerGone(f"sending packet {packet[0]:#x} failed: {sentence(error, 'the broker')}") from None

    def _expect(self, first: int) -> bytes:
        try:
            head = self._exactly(2)
            body = self._exactly(head[1])
        except OSError as error:
            raise BrokerGone(f"waiting for packet {first:#x} failed: {sentence(error, 'the broker')}") from None
        if head[0] != first or (first == wire.CONNACK and body[1] != 0):
            raise BrokerGone(f"expected packet {first:#x}, the broker sent {(head + body).hex(' ')}")
        return body

    def leave(self) -> None:
        """Say goodbye and wait until the broker has closed the connection: from then on this client is away.

        What the broker sent meanwhile is thrown away unacknowledged; a durable session gets it again.
        """
        self.socket.setblocking(True)
        self.socket.settimeout(PATIENCE)
        self._say(wire.DISCONNECT)
        try:
            while self.socket.recv_into(BUFFER):
                pass
        except ConnectionError:
            pass  # gone, too
        except OSError as error:
            raise BrokerGone(f"waiting for the end of a connection failed: {sentence(error, 'the broker')}") from None
        self.close()
