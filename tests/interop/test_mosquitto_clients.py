"""mosquitto_pub and mosquitto_sub, which people have in their scripts."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from heliograph import __version__
from running import PATIENCE, Lines, RunningServer
from tools import program

REMEDY = "install the package mosquitto-clients"
TIMED_OUT = 27  # mosquitto_sub's exit status after -W
EVERY_VERSION = pytest.mark.parametrize("version", ["mqttv31", "mqttv311", "mqttv5"])
EVERY_QOS = pytest.mark.parametrize("qos", ["0", "1", "2"])


class Subscriber:
    """A mosquitto_sub that has subscribed."""

    def __init__(self, command: list[str]) -> None:
        line_by_line = [program("stdbuf", "install the package coreutils"), "-oL"]
        self._process = subprocess.Popen([*line_by_line, *command, "-d"], stdout=subprocess.PIPE)
        self._output = Lines(self._process.stdout)
        self._output.wait_for("Subscribed")

    def lines(self) -> list[str]:
        """What it has printed, once it has ended, without the lines of -d."""
        assert self._process.wait(PATIENCE) == 0
        self._output.close()
        return [line for line in self._output.text().splitlines() if not line.startswith(("Client ", "Subscribed "))]

    def kill(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self._output.close()


class Tools:
    """Both programs, aimed at our server."""

    def __init__(self, port: int) -> None:
        self._address = ["-h", "127.0.0.1", "-p", str(port)]
        self._started: list[Subscriber] = []

    def pub(self, *options: str, stdin: bytes = b"") -> None:
        """Run mosquitto_pub to its end."""
        command = [program("mosquitto_pub", REMEDY), *self._address, *options]
        subprocess.run(command, input=stdin, capture_output=True, timeout=PATIENCE, check=True)

    def sub(self, *options: str) -> list[str]:
        """Run mosquitto_sub to its end; the lines that it prints."""
        command = [program("mosquitto_sub", REMEDY), *self._address, *options]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert ended.returncode in {0, TIMED_OUT}, ended.stderr
        return ended.stdout.splitlines()

    def start_sub(self, *options: str) -> Subscriber:
        """Start mosquitto_sub and wait until it is subscribed."""
        self._started.append(Subscriber([program("mosquitto_sub", REMEDY), *self._address, *options]))
        return self._started[-1]

    def close(self) -> None:
        for subscriber in self._started:
            subscriber.kill()


@pytest.fixture
def tools(server: RunningServer) -> Iterator[Tools]:
    made = Tools(server.port)
    yield made
    made.close()


@EVERY_VERSION
@EVERY_QOS
def test_messages(tools: Tools, topic: str, version: str, qos: str) -> None:
    received = tools.start_sub("-V", version, "-t", topic, "-q", qos, "-C", "1", "-F", "%t %q %r %p")
    tools.pub("-V", version, "-t", topic, "-q", qos, "-m", "hé")
    assert received.lines() == [f"{topic} {qos} 0 hé"]


@EVERY_VERSION
@EVERY_QOS
def test_ten_thousand_lines_in_a_pipe(tools: Tools, topic: str, version: str, qos: str) -> None:
    lines = [f"line {number}" for number in range(10_000)]
    # With as many in flight as MQTT 5 may have, mosquitto_pub sends line upon line.
    received = tools.start_sub("-V", version, "-t", topic, "-q", qos, "-C", str(len(lines)))
    tools.pub("-V", version, "-t", topic, "-q", qos, "-l", stdin="\n".join(lines).encode())
    assert received.lines() == lines


@EVERY_VERSION
def test_a_will(tools: Tools, topic: str, version: str) -> None:
    watching = tools.start_sub("-V", version, "-t", topic, "-q", "1", "-C", "1")
    will = ["--will-topic", topic, "--will-payload", "gone", "--will-qos", "1"]
    tools.start_sub("-V", version, "-i", "mortal", "-t", "nothing", *will).kill()
    assert watching.lines() == ["gone"]


@EVERY_VERSION
def test_a_session_that_is_kept(tools: Tools, topic: str, version: str) -> None:
    keeping = ["-V", version, "-i", topic[-20:], "-t", topic, "-q", "1"]
    keeping += ["-c", "-x", "60"] if version == "mqttv5" else ["-c"]
    tools.sub(*keeping, "-E")
    for number in range(5):
        tools.pub("-V", version, "-t", topic, "-q", "1", "-m", str(number))
    assert tools.sub(*keeping, "-C", "5") == ["0", "1", "2", "3", "4"]


@EVERY_VERSION
def test_retained_messages(tools: Tools, topic: str, version: str) -> None:
    tools.pub("-V", version, "-t", f"{topic}/a", "-m", "kept", "-r")
    assert tools.sub("-V", version, "-t", f"{topic}/#", "-C", "1", "-F", "%t %r %p") == [f"{topic}/a 1 kept"]
    tools.pub("-V", version, "-t", f"{topic}/a", "-n", "-r")
    assert tools.sub("-V", version, "-t", f"{topic}/#", "-W", "1") == []


def test_retained_messages_are_removed(tools: Tools, topic: str) -> None:
    tools.pub("-t", f"{topic}/a", "-m", "kept", "-r")
    tools.pub("-t", f"{topic}/b", "-m", "kept", "-r")
    tools.sub("-t", f"{topic}/#", "--remove-retained", "-W", "1")
    assert tools.sub("-t", f"{topic}/#", "-W", "1") == []


def test_a_file_of_any_bytes(tools: Tools, topic: str, tmp_path: Path) -> None:
    (tmp_path / "payload").write_bytes(bytes(range(256)) * 1000)
    received = tools.start_sub("-t", topic, "-q", "2", "-C", "1", "-F", "%x")
    tools.pub("-t", topic, "-q", "2", "-f", str(tmp_path / "payload"))
    assert received.lines() == [(bytes(range(256)) * 1000).hex()]


def test_properties(tools: Tools, topic: str) -> None:
    given = [("user-property", "a b"), ("content-type", "text/plain"), ("response-topic", "answers")]
    options = [word for name, value in given for word in ("-D", "publish", name, *value.split(" "))]
    received = tools.start_sub("-V", "5", "-t", topic, "-C", "1", "-F", "%P %C %R")
    tools.pub("-V", "5", "-t", topic, "-m", "x", *options)
    assert received.lines() == ["a:b text/plain answers"]


def test_topic_aliases(tools: Tools, topic: str) -> None:
    received = tools.start_sub("-V", "5", "-t", topic, "-C", "3")
    tools.pub("-V", "5", "-t", topic, "--repeat", "3", "-m", "x", "-D", "publish", "topic-alias", "3")
    assert received.lines() == ["x", "x", "x"]


def test_figures_below_sys(tools: Tools) -> None:
    assert tools.sub("-t", "$SYS/broker/version", "-C", "1") == [f"heliograph version {__version__}"]
    (uptime,) = tools.sub("-t", "$SYS/broker/uptime", "-C", "1")
    assert uptime.endswith(" seconds")
