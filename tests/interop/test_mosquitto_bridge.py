"""mosquitto as a bridge: another broker that is our client, with the settings that it has by itself."""

import getpass
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from heliograph.mqtt import Publish
from plain_client import PlainClient
from running import PATIENCE, Lines, RunningServer, Serve
from tools import program

NAME = "to-heliograph"

CONFIG = """
user {user}
listener 0 {socket}
allow_anonymous true
log_dest stderr
connection {name}
address 127.0.0.1:{port}
remote_clientid {name}
topic # both 1
"""

STATE = f"$SYS/broker/connection/{NAME}/state"

EVERY_VERSION = pytest.mark.parametrize("version", ["mqttv31", "mqttv311", "mqttv50"])


class Bridge:
    """A mosquitto on a Unix socket that carries all topics to our server and back."""

    def __init__(self, folder: Path, port: int, more: str) -> None:
        self.socket = str(folder / "mosquitto.socket")
        config = folder / "mosquitto.conf"
        text = CONFIG.format(user=getpass.getuser(), socket=self.socket, name=NAME, port=port)
        config.write_text(text + more)
        command = [program("mosquitto", "install the package mosquitto"), "-v", "-c", str(config)]
        self._process = subprocess.Popen(command, stderr=subprocess.PIPE)
        self.log = Lines(self._process.stderr)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(PATIENCE)
        self.log.close()


StartBridge = Callable[..., Bridge]


@pytest.fixture
def server(serve: Serve) -> RunningServer:
    return serve()


@pytest.fixture
def bridge(server: RunningServer, tmp_path: Path) -> Iterator[StartBridge]:
    """Start a bridge that is connected and subscribed."""
    started: list[Bridge] = []

    def start(more: str = "") -> Bridge:
        started.append(Bridge(tmp_path, server.port, more))
        started[-1].log.wait_for("Received SUBACK")
        return started[-1]

    yield start
    for each in started:
        each.kill()


def message(client: PlainClient) -> tuple[str, bytes, bool]:
    """The next message: its topic, its payload, and its retain flag."""
    packet = client.receive()
    assert isinstance(packet, Publish)
    return packet.topic, packet.payload, packet.retain


def test_a_bridge_says_whether_it_is_connected(server: RunningServer, bridge: StartBridge) -> None:
    mosquitto = bridge()
    with PlainClient(server.port).connected() as watcher:
        watcher.subscribe("$SYS/broker/connection/#")
        assert message(watcher) == (STATE, b"1", True)
        mosquitto.kill()
        assert message(watcher) == (STATE, b"0", False), "its will"
    with PlainClient(server.port).connected() as late:
        late.subscribe("$SYS/broker/connection/#")
        assert message(late) == (STATE, b"0", True)


def test_the_default_is_taken_at_the_first_attempt(bridge: StartBridge) -> None:
    """A server that does not know the bit of bridges makes them connect again without it."""
    mosquitto = bridge()
    assert mosquitto.log.text().count("sending CONNECT") == 1


@EVERY_VERSION
def test_messages_cross_once_in_each_direction(server: RunningServer, bridge: StartBridge, version: str) -> None:
    mosquitto = bridge(f"bridge_protocol_version {version}\n")
    with (
        PlainClient(server.port).connected("here") as here,
        PlainClient(mosquitto.socket, 4).connected("there") as there,
    ):
        here.subscribe("a/#", qos=0)
        there.subscribe("a/#", qos=0)
        for sender, receiver in ((here, there), (there, here)):
            for payload in (b"first", b"last"):
                # What comes back over the bridge comes before what is sent after it has arrived.
                sender.send(Publish("a/b", payload))
                assert message(sender) == ("a/b", payload, False)
                assert message(receiver) == ("a/b", payload, False)


@EVERY_VERSION
def test_what_is_retained_is_retained_on_the_other_side(
    server: RunningServer, bridge: StartBridge, version: str
) -> None:
    mosquitto = bridge(f"bridge_protocol_version {version}\n")
    for sender, receiver in ((server.port, mosquitto.socket), (mosquitto.socket, server.port)):
        topic = f"from/{'us' if sender == server.port else 'mosquitto'}"
        with PlainClient(sender, 4).connected() as client, PlainClient(receiver, 4).connected() as watcher:
            watcher.subscribe(topic)
            client.send(Publish(topic, b"kept", retain=True))
            assert message(watcher) == (topic, b"kept", False)
        with PlainClient(receiver, 4).connected() as late:
            late.subscribe(topic)
            assert message(late) == (topic, b"kept", True)
