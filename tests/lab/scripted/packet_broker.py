"""A tiny MQTT broker in a thread that forwards packets as a script says."""

import socket

from heliograph.lab.load.mqtt.acknowledgements import PUBACK, PUBCOMP, PUBREC, PUBREL
from heliograph.mqtt import packet_bounds
from lab.scripted.server import Script, ScriptedServer, faithful


def _packet(first: int, body: bytes) -> bytes:
    return bytes((first, len(body))) + body


class PacketBroker(ScriptedServer):
    """Forwards by topic, or by the start of a topic before `#`, what `script` makes of each message."""

    def __init__(self, script: Script = faithful) -> None:
        super().__init__()
        self._script = script
        self._seen = 0
        self._next_id: dict[socket.socket, int] = {}  # of every subscriber
        self._filters: dict[socket.socket, bytes] = {}
        self._rest: dict[socket.socket, bytes] = {}  # of every connection
        self._properties: dict[socket.socket, bytes] = {}  # none, as each version says it

    def accepted(self, client: socket.socket) -> None:
        self._rest[client] = b""

    def received(self, client: socket.socket, data: bytes) -> None:
        data = self._rest[client] + data
        at = 0
        while at < len(data) and (bounds := packet_bounds(data, at, 1 << 24)) and bounds[1] <= len(data):
            self._handle(client, data[at : bounds[1]])
            at = bounds[1]
        self._rest[client] = data[at:]

    def forget(self, client: socket.socket) -> None:
        super().forget(client)
        self._next_id.pop(client, None)

    def _handle(self, client: socket.socket, packet: bytes) -> None:
        kind = packet[0] >> 4
        if kind == 1:
            self._properties[client] = b"\x00" if packet[8] == 5 else b""
            client.sendall(_packet(0x20, b"\x00\x00" + self._properties[client]))
        elif kind == 8:
            self._next_id[client] = 1
            self._filters[client] = packet[packet.index(b"lab/") : -1]  # behind identifier, properties and length
            client.sendall(_packet(0x90, b"\x00\x01" + self._properties[client] + packet[-1:]))
        elif kind == 3:
            self._publish(client, packet)
        elif kind == 14:
            client.shutdown(socket.SHUT_WR)
        elif packet[0] in {PUBREC, PUBREL}:
            answer = PUBREL if packet[0] == PUBREC else PUBCOMP
            client.sendall(bytes([answer]) + packet[1:])

    def _publish(self, client: socket.socket, packet: bytes) -> None:
        qos = packet[0] >> 1 & 3
        id_at = 4 + packet[3]  # all test packets are short: two bytes of header, two of topic length
        if qos:
            client.sendall(bytes([0, PUBACK, PUBREC][qos : qos + 1]) + b"\x02" + packet[id_at : id_at + 2])
        for out in self._script(self._seen, packet):
            for subscriber, number in self._next_id.items():
                if not packet[4:id_at].startswith(self._filters[subscriber].rstrip(b"#")):
                    continue
                identifier = number.to_bytes(2, "big") if qos else b""
                subscriber.sendall(out[:id_at] + identifier + out[id_at + len(identifier) :])
                self._next_id[subscriber] = number % 65535 + 1
        self._seen += 1
