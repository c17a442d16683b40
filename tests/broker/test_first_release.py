"""A log that the first release has written (`first_release`, a copy made while the server ran) opens, and goes on."""

import json
import shutil
from pathlib import Path

import pytest

from broker.amqp.amqp_clients import AmqpScene
from heliograph.cli.main import main
from heliograph.log.segment import read_segment, segment_files
from heliograph.log.streams.stream_reader import StreamReader

FILES = Path(__file__).parent / "first_release"


@pytest.fixture(params=["whole", "with half a batch"])
def scene(request: pytest.FixtureRequest, tmp_path: Path):
    shutil.copytree(FILES, tmp_path / "0")
    if request.param != "whole":
        with segment_files(tmp_path / "0")[-1].open("ab") as newest:
            newest.write(b"half a batch")
    scene = AmqpScene(tmp_path)
    yield scene
    scene.close()


def versions(log: Path) -> list[int]:
    return [read_segment(path).version for path in segment_files(log)]


def stream(log: Path) -> list[tuple[str, bytes]]:
    with StreamReader(log, "all") as reader:
        return [(message.topic, message.payload) for message in reader.messages(0, 0)]


THERE = [("a/0", b""), ("a/1", b"x"), ("a/2", b"xx"), ("a/later", b"later")]


def test_all_of_it_is_there(scene: AmqpScene) -> None:
    kept = scene.client("kept", clean=False)
    assert [(found.topic, found.payload, found.qos) for found in kept.messages()] == [
        ("a/1", b"x", 1),
        ("a/2", b"xx", 2),
        ("a/later", b"later", 1),
    ]
    new = scene.client("new")
    new.subscribe("a/1")
    assert new.payloads() == [b"x"], "it is retained"
    amqp = scene.amqp()
    assert amqp.bodies(amqp.receiver("q")) == ["two", "one"]
    assert stream(scene.log) == THERE


def test_what_comes_goes_into_a_segment_of_this_version_and_the_old_ones_stay_as_they_were(scene: AmqpScene) -> None:
    assert versions(scene.log)[:2] == [1, 1]
    scene.client("new").publish("a/new", b"new", 1)
    assert versions(scene.log) == [1, 1, 2]
    for path in segment_files(FILES):
        assert (scene.log / path.name).read_bytes() == path.read_bytes()
    scene.restart()
    assert versions(scene.log) == [1, 1, 2]
    scene.restart(crash=False)
    assert stream(scene.log) == [*THERE, ("a/new", b"new")]
    assert len(scene.client("kept", clean=False).messages()) == 4


def test_the_tools_read_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log"
    shutil.copytree(FILES, log)
    for action in ("info", "check", "dump", "repair", "compact"):
        assert main(["log", action, str(log)]) == 0
    assert set(versions(log)) == {2}
    capsys.readouterr()
    assert main(["log", "dump", str(log)]) == 0
    records = map(json.loads, capsys.readouterr().out.splitlines())
    assert {record["topic"] for record in records if "topic" in record} >= {"a/1", "a/2", "a/later"}
