"""The folder of the log, as an operator meets it."""

from pathlib import Path

import pytest

from configurations import PLAIN
from heliograph.mqtt import Publish
from plain_client import PlainClient
from running import Serve

LASTING = {"session_expiry_interval": 3600}


def storage(folder: Path, durability: str = "disk") -> str:
    return f'{PLAIN}\n[storage]\ndirectory = "{folder}"\ndurability = "{durability}"\n'


@pytest.mark.parametrize("durability", ["disk", "memory"])
def test_the_durability_in_force_is_told(serve: Serve, tmp_path: Path, durability: str) -> None:
    server = serve(storage(tmp_path / "data", durability))
    assert f"Data: {tmp_path / 'data'} (durability: {durability})" in server.banner.text()
    assert server.stats()["storage"]["durability"] == durability
    assert f'heliograph_storage_info{{durability="{durability}"}} 1' in server.page("/metrics")


def test_with_either_durability_a_killed_server_keeps_what_it_acknowledged(serve: Serve, tmp_path: Path) -> None:
    for durability in ("disk", "memory"):
        config = storage(tmp_path / durability, durability)
        server = serve(config)
        with PlainClient(server.port).connected("away", clean_start=False, properties=LASTING) as away:
            away.subscribe("kept", qos=1)
        with PlainClient(server.port).connected() as speaker:
            speaker.publish("kept", b"safe")
        server.kill()
        with PlainClient(serve(config).port).connected("away", clean_start=False, properties=LASTING) as away:
            assert away.receive().payload == b"safe"


def test_two_servers_cannot_have_one_folder(serve: Serve, tmp_path: Path) -> None:
    first = serve(storage(tmp_path / "data"))
    second = serve(storage(tmp_path / "data"), announced=False)
    assert second.ended() == 1
    assert f"in use by another server (process {first.process.pid})" in second.log.text()


def check_that_it_does_not_start(serve: Serve, folder: Path, why: str) -> None:
    server = serve(storage(folder), announced=False)
    assert server.ended() == 1
    assert why in server.log.text()
    assert "Traceback" not in server.log.text()


def test_a_folder_that_cannot_be_had_is_a_clear_error(serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("not a folder")
    check_that_it_does_not_start(serve, tmp_path / "data", f"storage.directory: {tmp_path / 'data'}: File exists")


def test_a_server_does_not_start_with_a_log_that_is_damaged_and_says_where(serve: Serve, tmp_path: Path) -> None:
    server = serve(storage(tmp_path / "data"))
    with PlainClient(server.port).connected("away", clean_start=False, properties=LASTING) as away:
        away.subscribe("kept", qos=1)
    with PlainClient(server.port).connected() as speaker:
        for _ in range(3):
            speaker.publish("kept", b"safe")
    server.kill()
    (segment,) = (tmp_path / "data").glob("*.log")
    data = bytearray(segment.read_bytes())
    data[200] ^= 1
    segment.write_bytes(data)
    check_that_it_does_not_start(serve, tmp_path / "data", f"{segment}: damaged at byte")


def test_messages_of_qos_0_and_for_passing_clients_never_touch_the_disk(serve: Serve, tmp_path: Path) -> None:
    server = serve(storage(tmp_path / "data"))
    with (
        PlainClient(server.port).connected("durable", clean_start=False, properties=LASTING) as durable,
        PlainClient(server.port).connected() as passing,
    ):
        durable.subscribe("a", qos=1)
        passing.subscribe("b", qos=1)
        before = server.stats()["storage"]["log_end"]
        durable.send(Publish("a", b"QoS 0"))
        assert durable.receive().payload == b"QoS 0"
        passing.send(Publish("b", b"QoS 1", qos=1, packet_id=1))
        assert {type(passing.receive()).__name__, type(passing.receive()).__name__} == {"PubAck", "Publish"}
        assert server.stats()["storage"]["log_end"] == before
        durable.send(Publish("a", b"QoS 1", qos=1, packet_id=1))
        durable.receive()
        assert server.stats()["storage"]["log_end"] > before
