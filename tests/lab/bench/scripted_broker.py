"""A tiny MQTT broker in a thread that does as it is told with every message: for testing those who count."""

import selectors
import socket
import threading
from collections.abc import Callable
from typing import Self

from heliograph.lab.load.mqtt.acknowledgements import PUBACK, PUBCOMP, PUBREC, PUBREL
from heliograph.mqtt import packet_bounds

# Given the number of a message at this broker and its packet: the packets to deliver instead.
Script = Callable[[int, bytes], list[bytes]]


def faithful(_number: int, packet: bytes) -> list[bytes]:
    """Deliver what came."""
    return [packet]


def _packet(first: int, body: bytes) -> bytes:
    return bytes((first, len(body))) + body


class ScriptedBroker:
    """Forwards by topic, or by the start of a topic before `#`, once `script` has had its way with a message."""

    def __init__(self, script: Script = faithful) -> None:
        self._script = script
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._stop, self._stopped = socket.socketpair()
        self._selector = selectors.DefaultSelector()
        self._thread = threading.Thread(target=self._serve)
        self._seen = 0
        self._next_id: dict[socket.socket, int] = {}  # of every subscriber
        self._filters: dict[socket.socket, bytes] = {}
        self._rest: dict[socket.socket, bytes] = {}  # of every connection
        self._properties: dict[socket.socket, bytes] = {}  # none, as each version says it

    def __enter__(self) -> Self:
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._stopped, selectors.EVENT_READ)
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._stop.close()
        self._thread.join()
        for sock in (*self._rest, self._listener, self._stopped):
            sock.close()
        self._selector.close()

    def _serve(self) -> None:
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is self._stopped:
                    return
                if key.fileobj is self._listener:
                    client, _address = self._listener.accept()
                    self._rest[client] = b""
                    self._selector.register(client, selectors.EVENT_READ)
                else:
                    self._read(key.fileobj)

    def _read(self, client: socket.socket) -> None:
        try:
            data = client.recv(65536)
        except ConnectionError:
            data = b""
        if not data:
            self._selector.unregister(client)
            self._next_id.pop(client, None)
            return
        data = self._rest[client] + data
        at = 0
        while at < len(data) and (bounds := packet_bounds(data, at, 1 << 24)) and bounds[1] <= len(data):
            self._handle(client, data[at : bounds[1]])
            at = bounds[1]
        self._rest[client] = data[at:]

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
