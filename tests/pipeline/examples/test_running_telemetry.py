"""examples/telemetry/run.py: what it starts, what it shows, and how it ends; without the pipeline, so without Spark."""

import re
import runpy
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from heliograph.server.config.loading import load_config
from plain_client import PlainClient
from running import PATIENCE, Lines, environment

RUN = Path(__file__).parents[3] / "examples" / "telemetry" / "run.py"
CONFIG = """
[storage]
directory = "data"
[[listener]]
port = {port}
[http]
port = 0
"""


class Example:
    """The example in a process of its own."""

    def __init__(self, folder: Path, port: int = 0) -> None:
        config = folder / "heliograph.toml"
        config.write_text(CONFIG.format(port=port))
        self.process = subprocess.Popen(
            [sys.executable, RUN, config], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
        )
        self.shown, self.told = Lines(self.process.stdout), Lines(self.process.stderr)

    @property
    def port(self) -> int:
        """Where its server listens."""
        return urlsplit(self.shown.wait_for("mqtt://").strip()).port or 0

    def child(self, word: str) -> int:
        """The process with a word in its command line, as soon as it is there."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        give_up = time.monotonic() + PATIENCE
        while time.monotonic() < give_up:
            for child in children.read_text().split():
                if word in Path(f"/proc/{child}/cmdline").read_text():
                    return int(child)
            time.sleep(0.02)
        raise AssertionError(f"there is no {word}")

    def ended(self) -> int:
        """The exit status; nothing that it started is left."""
        return self.process.wait(PATIENCE)


@pytest.fixture
def started(tmp_path: Path) -> Iterator[list[Example]]:
    """Those that are to be ended in any case."""
    examples: list[Example] = []
    yield examples
    for example in examples:
        example.process.terminate()
        example.ended()
        example.shown.close()
        example.told.close()


def begun(started: list[Example], folder: Path, port: int = 0) -> Example:
    started.append(Example(folder, port))
    return started[-1]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_alerts_are_shown_until_it_is_told_to_stop_however_often(
    started: list[Example], tmp_path: Path, number: signal.Signals
) -> None:
    example = begun(started, tmp_path)
    example.child("devices.py")
    with PlainClient(example.port).connected() as client:
        give_up = time.monotonic() + PATIENCE
        while "alerts/press-07 hot" not in example.shown.text():  # until the subscriber is there
            assert time.monotonic() < give_up, example.shown.text()
            client.publish("alerts/press-07", b"hot")
            time.sleep(0.1)
    assert "-- the first alert" in example.shown.text()
    example.process.send_signal(number)
    example.shown.wait_for("-- stopping; what is in hand is finished")
    while example.process.poll() is None:
        example.process.send_signal(number)
        time.sleep(0.01)
    assert example.ended() == 0
    assert "Traceback" not in example.told.text()


def test_a_port_that_another_broker_has_is_told(started: list[Example], tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        example = begun(started, tmp_path, other.getsockname()[1])
        assert example.ended() == 1
    assert "-- the server ended by itself, with exit status 1; all is stopped" in example.told.text()
    assert "Traceback" not in example.told.text()


@pytest.mark.parametrize(("word", "name"), [("devices.py", "simulated devices"), ("alerts/#", "subscriber")])
def test_one_that_ends_by_itself_ends_all(started: list[Example], tmp_path: Path, word: str, name: str) -> None:
    example = begun(started, tmp_path)
    subprocess.run(["kill", "-KILL", str(example.child(word))], check=True)
    example.told.wait_for(f"-- the {name} ended by itself, with exit status -9; all is stopped")
    assert example.ended() == 1
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", example.port))


def test_ports_that_other_programs_have_are_replaced_by_free_ones(tmp_path: Path) -> None:
    usable = runpy.run_path(str(RUN))["usable"]
    shipped = (RUN.parent / "heliograph.toml").read_text()
    (tmp_path / "job.py").touch()
    config = tmp_path / "heliograph.toml"
    free = {str(port): str(_free_port()) for port in (1883, 5672, 15880)}
    config.write_text(re.sub(r"(?<=port = )\d+", lambda found: free[found[0]], shipped))
    assert usable(config) == config
    with (
        socket.create_server(("127.0.0.1", int(free["1883"]))),
        socket.create_server(("127.0.0.1", int(free["15880"]))),
    ):
        loaded = load_config(usable(config))
    assert [listener.port for listener in loaded.listeners] == [0, int(free["5672"])]
    assert loaded.http.port == 0


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port
