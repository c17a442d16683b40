"""Servers for tests of commands: mosquitto for `helio pub` and `helio sub`, scripted ones, and one with queues."""

import contextlib
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from cli.queue_server import CONFIG, QueueServer
from heliograph.mqtt import decode, encode, packet_bounds
from running import servers
from tools import program

SOURCE = Path(__file__).parents[2] / "src"
TIMEOUT = 20


class Process:
    """A program under test whose output can be waited for, line by line."""

    def __init__(self, command, env=None):
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env
        )
        self._watchdog = threading.Timer(TIMEOUT, self._process.kill)
        self._watchdog.start()

    def say(self, data):
        self._process.stdin.write(data)
        self._process.stdin.flush()

    def line(self):
        """The next line of standard output, without its end."""
        return self._process.stdout.readline().removesuffix(b"\n")

    def error_line(self):
        """The next line of standard error, without its end."""
        return self._process.stderr.readline().decode().removesuffix("\n")

    def wait_for(self, text):
        """Read standard error up to a line that contains `text`."""
        while text not in (line := self._process.stderr.readline().decode()):
            assert line, f"the program ended before it said {text!r}"

    def signal(self, number):
        self._process.send_signal(number)

    def stop_reading(self):
        self._process.stdout.close()

    def end(self, stdin=b""):
        """Let it end by itself: its exit status, standard output and standard error."""
        process = self._process
        if process.stdout.closed:
            process.stdin.close()
            errors = process.stderr.read()
            return process.wait(), b"", errors.decode()
        out, errors = process.communicate(stdin)
        return process.returncode, out, errors.decode()

    def close(self):
        self._watchdog.cancel()
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if not stream.closed:
                stream.close()


class Broker:
    """A running mosquitto, and what connects to it."""

    def __init__(self, port, unix, processes):
        self.port = port
        self.unix = unix
        self._processes = processes

    def start_helio(self, command, *options, address=None):
        """Start `helio pub` or `helio sub` on this server."""
        env = os.environ | {"PYTHONPATH": str(SOURCE)}
        words = [sys.executable, "-m", "heliograph.cli.main", command]
        return self._start([*words, *(address or self._address()), *options], env)

    def helio(self, command, *options, stdin=b"", address=None):
        """Run `helio pub` or `helio sub` to its end: exit status, standard output, standard error."""
        return self.start_helio(command, *options, address=address).end(stdin)

    def start_subscribed(self, *options, address=None):
        """Start `helio sub` and wait until the server has accepted its subscriptions."""
        process = self.start_helio("sub", "-d", *options, address=address)
        process.wait_for("<- SUBACK")
        return process

    def start_mosquitto_sub(self, *options):
        """Start mosquitto_sub and wait until it is subscribed."""
        process = self._start(["stdbuf", "-oL", _installed("mosquitto_sub"), *self._address(), "-d", *options])
        while not (line := process.line()).startswith(b"Subscribed"):
            assert line, "mosquitto_sub ended before it was subscribed"
        return process

    def received(self, process):
        """What mosquitto_sub has printed when it ends, without the lines of -d that are among it."""
        _, out, _ = process.end()
        return [line for line in out.splitlines() if not line.startswith(b"Client ")]

    def mosquitto_pub(self, *options):
        subprocess.run([_installed("mosquitto_pub"), *self._address(), *options], check=True, timeout=TIMEOUT)

    def _address(self):
        return ["-h", "127.0.0.1", "-p", str(self.port)]

    def _start(self, command, env=None):
        process = Process(command, env)
        self._processes.append(process)
        return process


def _installed(name):
    return program(name, "install the packages mosquitto and mosquitto-clients")


def _free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


@pytest.fixture
def start_broker(tmp_path):
    """Start mosquitto with more lines of configuration; `listener` stands for those of its first listener."""
    processes = []

    def start(*lines, listener=()):
        mosquitto = _installed("mosquitto")
        port, unix = _free_port(), tmp_path / "mqtt.sock"
        config = tmp_path / "mosquitto.conf"
        listeners = [f"listener {port} 127.0.0.1", *listener, f"listener 0 {unix}"]
        config.write_text("\n".join(["user root", "allow_anonymous true", *lines, *listeners, ""]))
        process = Process([mosquitto, "-c", str(config)])
        processes.append(process)
        process.wait_for("running")
        return Broker(port, unix, processes)

    yield start
    for process in reversed(processes):
        process.close()


@pytest.fixture
def broker(start_broker):
    return start_broker()


class ScriptedServer:
    """A server that answers each packet with what `script` returns for it; None ends the connection.

    It serves one client after the other.
    """

    def __init__(self, script, version):
        self._script = script
        self._version = version
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.received = []
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection, contextlib.suppress(OSError):
                self._converse(connection)

    def _converse(self, connection):
        buf = b""
        while chunk := connection.recv(65536):
            buf += chunk
            while (bounds := packet_bounds(buf, 0, 1 << 28)) is not None and bounds[1] <= len(buf):
                packet = decode(buf[0], buf[bounds[0] : bounds[1]], self._version)
                buf = buf[bounds[1] :]
                self.received.append(packet)
                answers = self._script(packet)
                if answers is None:
                    return
                connection.sendall(b"".join(encode(answer, self._version) for answer in answers))

    def close(self):
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes whoever waits in accept
        self._listener.close()
        self._thread.join(TIMEOUT)


@pytest.fixture
def scripted_server():
    """Start servers that answer by script, for what mosquitto cannot be made to do."""
    servers = []

    def start(script, version=5):
        servers.append(ScriptedServer(script, version))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


@pytest.fixture(scope="module")
def queue_server(tmp_path_factory):
    """A server with the queues of `queue_server.CONFIG`, for the commands of a test module."""
    with servers(tmp_path_factory.mktemp("queues")) as start:
        yield QueueServer(start(CONFIG))
