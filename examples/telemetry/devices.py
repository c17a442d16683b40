"""Twenty simulated devices that publish what they measure by MQTT, until Ctrl-C.

python examples/telemetry/devices.py [HOST:PORT] [MESSAGES_PER_SECOND]

Each message is kept until the server has acknowledged it, and sent again after a lost connection: nothing is lost when
the server is stopped or killed. One device in three gets too hot now and then, one message in fifty is a technician's
test, and one in two hundred is from a device that nobody knows.
"""

import contextlib
import itertools
import json
import math
import socket
import sys
import time
from datetime import UTC, datetime

from heliograph.mqtt import ConnAck, Connect, Packet, PubAck, Publish, decode, encode, packet_bounds

VERSION = 4
DEVICES = 20
MOST_WAITING = 1000
"""Messages that the server has not acknowledged yet; when there are so many, devices wait."""
LONGEST_ANSWER = 1024
"""Bytes; acknowledgements have four."""


def reading(number: int, now: float) -> tuple[str, bytes]:
    """Topic and payload of the message with a number."""
    device = f"press-{number % DEVICES + 1:02d}"
    heat = 30 if number % DEVICES % 3 == 0 and math.sin(now / 10 + number % DEVICES) > 0 else 0
    said = {
        "device": device if number % 200 != 100 else "oven-99",
        "time": datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds"),
        "temperature": round(40 + heat + 5 * math.sin(number / 7), 2),
    }
    if number % 50 == 49:
        said["mode"] = "test"
    return f"plant/{device}/telemetry", json.dumps(said).encode()


class Gateway:
    """Sends for all devices over one connection, with QoS 1."""

    def __init__(self, host: str, port: int) -> None:
        self._address = host, port
        self.waiting: dict[int, Publish] = {}
        """What has not been acknowledged, oldest first."""
        self._identifiers = itertools.cycle(range(1, 65536))

    def connect(self) -> None:
        """Connect, and send again what was on its way when the connection was lost."""
        self._socket = socket.create_connection(self._address, timeout=5)
        self._received = bytearray()
        self._socket.sendall(encode(Connect("plant-gateway", VERSION, clean_start=False), VERSION))
        while not any(isinstance(packet, ConnAck) for packet in self._packets()):
            pass
        for message in self.waiting.values():
            self._socket.sendall(encode(message, VERSION))

    def publish(self, topic: str, payload: bytes) -> None:
        """Send a message; wait if too many are on their way."""
        while len(self.waiting) >= MOST_WAITING:
            self.take()
        identifier = next(self._identifiers)
        message = self.waiting[identifier] = Publish(topic, payload, qos=1, packet_id=identifier)
        self._socket.sendall(encode(message, VERSION))

    def take(self, timeout: float = 5.0) -> None:
        """Take acknowledgements, waiting for one no longer than this."""
        self._socket.settimeout(max(timeout, 0.001))
        with contextlib.suppress(TimeoutError):
            for packet in self._packets():
                if isinstance(packet, PubAck):
                    self.waiting.pop(packet.packet_id, None)

    def _packets(self) -> list[Packet]:
        data = self._socket.recv(65536)
        if not data:
            raise ConnectionError("the server has closed the connection")
        self._received += data
        found: list[Packet] = []
        while (bounds := packet_bounds(self._received, 0, LONGEST_ANSWER)) is not None:
            start, end = bounds
            if end > len(self._received):
                break
            found.append(decode(self._received[0], bytes(self._received[start:end]), VERSION))
            del self._received[:end]
        return found


def run(gateway: Gateway, rate: float) -> None:
    """Publish steadily; come back after a lost connection."""
    for number in itertools.count():
        due = START + number / rate
        message = reading(number, time.time())
        while True:
            try:
                while (left := due - time.monotonic()) > 0:
                    gateway.take(left)
                gateway.publish(*message)
                break
            except OSError as error:
                print(f"devices: {error}; trying again", file=sys.stderr)
                reconnect(gateway)


def reconnect(gateway: Gateway) -> None:
    """Until it works."""
    while True:
        try:
            return gateway.connect()
        except OSError:
            time.sleep(0.5)


START = time.monotonic()

if __name__ == "__main__":
    host, _, port = (sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:1883").rpartition(":")
    devices = Gateway(host, int(port))
    reconnect(devices)
    with contextlib.suppress(KeyboardInterrupt):
        run(devices, float(sys.argv[2]) if len(sys.argv) > 2 else 100)
