"""A real server: damaged handshakes, requests, frames and packets over sockets, while a bystander must be served."""

import random
import socket
import struct
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from frames import BINARY, CLOSE, PING, PONG, TEXT, frame, request
from fuzz.mutating import mutated, rearranged
from fuzz.target import Target
from fuzz.targets.amqp import conversations, frames_in
from fuzz.targets.mqtt import Mqtt, packets_in
from hostile.bystander import Bystander
from running import RunningServer, write_config

CONFIG = """
[[listener]]
port = 0
[[listener]]
protocol = "amqp"
port = 0
[[listener]]
kind = "ws"
port = 0
[[listener]]
protocol = "amqp"
kind = "ws"
port = 0
[http]
port = 0
[limits]
connect_timeout = 2.0
[[queue]]
name = "q"
[[stream]]
name = "s"
filter = "a/#"
"""
MQTT, AMQP, WS_MQTT, WS_AMQP, HTTP = range(5)
_HEAD = struct.Struct(">BBI")
_WHOLE, _CUT, _RESET = range(3)
_CONNECTIONS = 12
"""Connections of one input that was made."""
_SLOWEST = 5.0
"""Seconds that the bystander may have to wait on a busy machine."""
_SHORTEST_WAIT = 0.02
"""Seconds that are spent on listening to the server's answer."""
_PATHS = (
    *(
        "/",
        "/stats",
        "/metrics",
        "/subscriptions",
        "/queues",
        "/queues/q",
        "/streams",
        "/streams/s",
        "/clients",
        "/health",
    ),
    *(
        "/streams/s/0?offset=0",
        "/streams/s/0/0",
        "/%00",
        "/..%2f..%2fetc",
        "/streams/%ff",
        "//",
        "/?a=b&a=c",
        "*",
        "http://x/",
    ),
)
_HEADERS = (
    *(
        "AmqpHost: 127.0.0.1",
        "AmqpHost: evil.example",
        "Content-Length: 5",
        "Content-Length: -1",
        "Content-Length: 99999999999",
    ),
    *(
        "Transfer-Encoding: chunked",
        "Connection: keep-alive",
        "Connection: upgrade",
        "Expect: 100-continue",
        "Range: bytes=0-",
    ),
    *("Content-Type: application/json", "X: " + "y" * 9000, "A\0: b", "Origin: http://evil.example", "Accept: */*"),
)
_BODIES = (
    b"",
    b"{}",
    b'{"filter": "b/#"}',
    b'{"filter": 5, "partitions": 1e99}',
    b"5\r\nhello\r\n0\r\n\r\n",
    b"\xff" * 100,
)


class Live(Target):
    """An input is a list of connections: to which listener, how each ends, and what is sent."""

    name = "live"
    time = 30.0
    words = tuple(word.encode() for word in (*_PATHS, *_HEADERS, "GET", "PUT", "DELETE", "POST", "HTTP/1.1", "\r\n"))

    def __init__(self) -> None:
        self._server: RunningServer | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._ports: tuple[int, ...] = ()

    def seeds(self) -> list[bytes]:
        made = []
        for data in Mqtt().seeds()[:40]:
            made += [_connection(MQTT, _WHOLE, data[1:]), _connection(WS_MQTT, _WHOLE, _in_websocket(data[1:], "mqtt"))]
        for data in conversations():
            made += [_connection(AMQP, _WHOLE, data[1:]), _connection(WS_AMQP, _WHOLE, _in_websocket(data[1:], "amqp"))]
        for path in _PATHS:
            made += [_connection(HTTP, _WHOLE, _http("GET", path, _HEADERS[:1], b"") * 2)]
        return made

    def split(self, data: bytes) -> list[bytes]:
        return [_connection(*one) for one in _connections(data)]

    def made(self, chance: random.Random) -> bytes:
        return b"".join(self._another(chance) for _ in range(_CONNECTIONS))

    def _another(self, chance: random.Random) -> bytes:
        to, ends = chance.randrange(5), chance.choice((_WHOLE, _WHOLE, _CUT, _RESET))
        if to == HTTP:
            headers = chance.sample(_HEADERS, chance.randrange(5))
            method = chance.choice(("GET", "GET", "PUT", "DELETE", "POST", "HEAD", "OPTIONS", "PRI"))
            data = _http(method, chance.choice(_PATHS), [*headers, _HEADERS[0]], chance.choice(_BODIES))
            return _connection(to, ends, mutated(data, chance, (), self.words) if chance.random() < 0.7 else data * 3)
        mqtt = to in {MQTT, WS_MQTT}
        data = chance.choice([one[1:] for one in (_mqtt_seeds() if mqtt else conversations())])
        units = packets_in(data) if mqtt else frames_in(data)
        data = mutated(b"".join(rearranged(units, chance)), chance) if chance.random() < 0.8 else data
        if to in {WS_MQTT, WS_AMQP}:
            data = self._odd_websocket(data, "mqtt" if mqtt else "amqp", chance)
        return _connection(to, ends, data[: 256 << 10])

    def _odd_websocket(self, data: bytes, protocol: str, chance: random.Random) -> bytes:
        opening = request(0, path=f"/{protocol}", protocol=protocol, AmqpHost="127.0.0.1")
        if chance.random() < 0.2:
            opening = mutated(opening, chance, (), self.words)
        kinds = (BINARY,) * 12 + (TEXT, CLOSE, PING, PONG, 0, 3)
        step = max(1, chance.choice((len(data), 40, 1000)), len(data) // 200)
        pieces = [
            frame(
                data[at : at + step], chance.choice(kinds), masked=chance.random() < 0.99, final=chance.random() < 0.95
            )
            for at in range(0, len(data), step)
        ]
        pieces = rearranged(pieces, chance) if chance.random() < 0.3 else pieces
        sent = b"".join(pieces)
        return opening + (mutated(sent, chance) if chance.random() < 0.4 else sent)

    # Running

    def run(self, data: bytes) -> None:
        server = self._started()
        try:
            said = len(server.log.text())
            with Bystander(self._ports[MQTT], f"bystander-{random.randrange(1 << 40)}") as bystander:
                _play(_connections(data), self._ports)
            assert server.process.poll() is None, f"the server ended with status {server.process.poll()}"
            log = server.log.text()[said:]
            assert "Traceback" not in log, _last_call(log)
            assert "internal error" not in log, log[log.index("internal error") :]
            errors = server.stats()["internal_errors"]
            assert errors == 0, f"{errors} internal errors"
            assert bystander.worst < _SLOWEST, f"the bystander waited for {bystander.worst:.1f} s"
        except BaseException:
            self.close()  # the next input gets a server that nothing has happened to
            raise

    def _started(self) -> RunningServer:
        if self._server is None:
            self._folder = tempfile.TemporaryDirectory(prefix="fuzz-live-")
            config = Path(self._folder.name) / "server.toml"
            write_config(config, CONFIG)
            # Its own interpreter: the fuzzer's process has other things in mind.
            self._server = RunningServer(config, {"PYTHONUNBUFFERED": "1"})
            ports = [int(address.split(":")[2].split("/")[0]) for address in self._server.addresses]
            self._ports = tuple(ports)
        return self._server

    def close(self) -> None:
        if self._server is not None:
            self._server.kill()
            self._server = None
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None


def _last_call(log: str) -> str:
    """What tells one traceback from another: its last lines. The server's log is in the output of the target."""
    lines = log[log.index("Traceback") :].splitlines()
    end = next((at for at, line in enumerate(lines[1:], 1) if not line.startswith(" ")), len(lines))
    return "\n".join([lines[end], *lines[1:end][-6:], "", log[-3000:]])


def _mqtt_seeds() -> Sequence[bytes]:
    global _known  # noqa: PLW0603  (made once, because that takes a second)
    if not _known:
        _known = Mqtt().seeds()
    return _known


_known: Sequence[bytes] = ()


def _connection(to: int, ends: int, data: bytes) -> bytes:
    return _HEAD.pack(to, ends, len(data)) + data


def _connections(data: bytes) -> list[tuple[int, int, bytes]]:
    found, at = [], 0
    while at + _HEAD.size <= len(data):
        to, ends, size = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        found.append((to % 5, ends % 3, data[at : at + size]))
        at += size
    return found


def _http(method: str, path: str, headers: Sequence[str], body: bytes) -> bytes:
    return "\r\n".join([f"{method} {path} HTTP/1.1", *headers, "", ""]).encode() + body


def _in_websocket(data: bytes, protocol: str) -> bytes:
    return request(0, path=f"/{protocol}", protocol=protocol, AmqpHost="127.0.0.1") + frame(data)


def _play(connections: Sequence[tuple[int, int, bytes]], ports: Sequence[int]) -> None:
    """All connections are there at once, and each sends in two pieces."""
    with ExitStack() as stack:
        sockets = []
        for to, _, data in connections:
            one = stack.enter_context(socket.create_connection(("127.0.0.1", ports[to]), 5.0))
            one.settimeout(5.0)
            sockets.append(one)
            _send(one, data[: len(data) // 2])
        for one, (_, ends, data) in zip(sockets, connections, strict=True):
            _send(one, data[len(data) // 2 : len(data) - (5 if ends == _CUT else 0)])
            _listen(one)
            if ends == _RESET:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def _send(one: socket.socket, data: bytes) -> None:
    """Send, and read meanwhile: a server need not read what comes from somebody who does not."""
    view = memoryview(data)
    while view:
        one.setblocking(False)
        with suppress(BlockingIOError), suppress(OSError):
            while one.recv(1 << 16):
                pass
        one.settimeout(0.5)
        try:
            view = view[one.send(view[: 1 << 16]) :]
        except OSError:  # it was told to go, or is not read from any more
            return


def _listen(one: socket.socket) -> None:
    one.settimeout(_SHORTEST_WAIT)
    with suppress(OSError):
        for _ in range(20):
            if not one.recv(1 << 16):
                return
