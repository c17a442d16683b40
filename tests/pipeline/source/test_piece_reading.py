"""What a task does when messages are gone that its micro-batch was to have: from a real server, without Spark.

It happens to a query that was killed in a micro-batch and is started again much later. All of it is so for a task on
the server's machine, which reads its files, and on another, which asks its pages.
"""

import socket
import threading
from pathlib import Path

import pytest

from heliograph.log.buffer_pool import BufferPool
from heliograph.log.errors import ServerUnreachable
from heliograph.log.streams import remote_stream_reader
from heliograph.log.streams.remote_stream_reader import RemoteStreamReader
from heliograph.log.streams.stream_reader import StreamReader
from heliograph.pipeline.errors import DataLoss
from heliograph.pipeline.source import access
from heliograph.pipeline.source.filters import Wanted
from heliograph.pipeline.source.offsets import Piece
from heliograph.pipeline.source.options import source_options
from heliograph.pipeline.source.piece_reading import read_pieces
from heliograph.pipeline.source.schema import arrow_schema, stream_schema
from pipeline.source.plants import CONFIG, Plant, wait_until
from running import RunningServer, Serve

ONE = CONFIG.replace("partitions = 2", "partitions = 1")
SHORT = CONFIG.replace("partitions = 2", "retention_age = 0.5")


def offsets(plant: Plant, first: int, end: int, identity: str = "", **options: str) -> list[int]:
    """The offsets of the rows of a piece."""
    checked = source_options({"server": plant.url, "stream": "plant", **options}, streaming=True)
    batches = read_pieces(checked, arrow_schema(stream_schema("binary")), Wanted(), [Piece(0, first, end)], identity)
    return [offset for batch in batches for offset in batch.column("offset").to_pylist()]


def identity(plant: Plant) -> str:
    with StreamReader(plant.directory, "plant") as reader:
        return reader.identity


@pytest.fixture(autouse=True, params=["beside the server", "on another machine"])
def place(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where the task runs."""
    if request.param == "on another machine":
        monkeypatch.setattr(access, "_THIS_MACHINE", ())
    return str(request.param)


@pytest.fixture
def server(serve: Serve, tmp_path: Path) -> RunningServer:
    """Its stream has 20 messages."""
    server = serve(ONE)
    Plant(server, tmp_path / "data").publish_numbers(0, 20)
    return server


def test_messages_that_retention_took_fail_the_task_unless_they_may_be_lost(
    server: RunningServer, serve: Serve, tmp_path: Path
) -> None:
    server.stop()
    later = Plant(serve(SHORT), tmp_path / "data")
    wait_until(lambda: later.ends()[0][0] == 20)
    with pytest.raises(DataLoss, match="offsets 5 to 19 were deleted by retention before they were read"):
        offsets(later, 5, 20)
    assert offsets(later, 5, 20, failOnDataLoss="false") == []


def test_a_stream_whose_data_was_thrown_away_fails_the_task_unless_it_may_be_lost(
    server: RunningServer, serve: Serve, tmp_path: Path
) -> None:
    anew = Plant(serve(ONE.replace('"data"', '"other"')), tmp_path / "other")
    anew.publish_numbers(0, 8)
    with pytest.raises(DataLoss, match="the server's data was thrown away, or this is another server"):
        offsets(anew, 5, 20)
    assert offsets(anew, 5, 20, failOnDataLoss="false") == [5, 6, 7]
    assert offsets(anew, 10, 20, failOnDataLoss="false") == []


def test_a_stream_that_was_made_anew_fails_the_task_however_much_it_has_grown(
    server: RunningServer, serve: Serve, tmp_path: Path
) -> None:
    before = identity(Plant(server, tmp_path / "data"))
    anew = Plant(serve(ONE.replace('"data"', '"other"')), tmp_path / "other")
    anew.publish_numbers(0, 30)
    with pytest.raises(DataLoss, match='stream "plant" is not the one that was read before'):
        offsets(anew, 5, 20, before)
    assert offsets(anew, 5, 20, before, failOnDataLoss="false") == []
    assert offsets(anew, 5, 20, identity(anew)) == list(range(5, 20))


def test_a_stream_keeps_its_identity_when_the_server_is_started_again(
    server: RunningServer, serve: Serve, tmp_path: Path
) -> None:
    before = Plant(server, tmp_path / "data")
    there = identity(before)
    with RemoteStreamReader(before.url, "plant") as remote:
        assert there == remote.identity == remote.state().identity != ""
    server.stop()
    assert identity(Plant(serve(ONE), tmp_path / "data")) == there


def away(server: RunningServer, tmp_path: Path) -> Plant:
    """A server that was there."""
    plant = Plant(server, tmp_path / "data")
    server.stop()
    return plant


def test_a_task_waits_for_a_server_that_it_has_never_reached(
    server: RunningServer, serve: Serve, tmp_path: Path
) -> None:
    port, plant = server.port_of("http"), away(server, tmp_path)
    found: list[list[int]] = []
    task = threading.Thread(target=lambda: found.append(offsets(plant, 5, 20)))
    task.start()
    serve(ONE.replace("[http]\nport = 0", f"[http]\nport = {port}"))
    task.join(access.PATIENCE)
    assert found == [list(range(5, 20))]


def test_a_task_says_for_how_long_it_has_waited(
    server: RunningServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant = away(server, tmp_path)
    monkeypatch.setattr(access, "PATIENCE", 0.5)
    with pytest.raises(ServerUnreachable, match=r"the server cannot be reached: .*; it was waited for, 0.5 seconds"):
        offsets(plant, 5, 20)


def test_blocks_are_asked_for_ahead_and_none_is_lost(
    server: RunningServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant = Plant(server, tmp_path / "data")
    plant.publish_numbers(20, 400)
    monkeypatch.setattr(remote_stream_reader, "_MUCH", 4096)
    assert offsets(plant, 0, 400) == list(range(400))


def test_an_answer_that_nobody_wants_any_more_is_not_taken_for_another(
    server: RunningServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_stream_reader, "_MUCH", 4096)
    plant = Plant(server, tmp_path / "data")
    plant.publish_numbers(20, 400)
    with RemoteStreamReader(plant.url, "plant") as reader:
        first = next(reader.blocks(0, 0, 400, 4096, BufferPool(1 << 20)))
        assert first.next < 400
        assert reader.latest(0) == 400
        assert next(reader.blocks(0, 100, 101)).firsts[0] <= 100


def test_a_connection_that_is_lost_between_two_blocks_is_made_again(
    server: RunningServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_stream_reader, "_MUCH", 4096)
    plant = Plant(server, tmp_path / "data")
    plant.publish_numbers(20, 400)
    with RemoteStreamReader(plant.url, "plant") as reader:
        blocks = reader.blocks(0, 0, 400, 4096, BufferPool(1 << 20))
        assert next(blocks).next < 400
        reader._connection.sock.shutdown(socket.SHUT_RDWR)
        assert [block.next for block in blocks][-1] == 400


def test_files_are_read_only_on_the_machine_of_the_server(server: RunningServer, tmp_path: Path, place: str) -> None:
    plant = Plant(server, tmp_path / "data")
    with access.open_for_task(source_options({"server": plant.url, "stream": "plant"}, streaming=True)) as reader:
        assert isinstance(reader, StreamReader if place == "beside the server" else RemoteStreamReader)


def test_files_of_another_log_in_the_same_place_are_not_read(server: RunningServer, tmp_path: Path) -> None:
    plant = Plant(server, tmp_path / "data")
    with RemoteStreamReader(plant.url, "plant") as reader:
        reader.identity = "that of another"
        assert access._files_of(reader) is None
        reader.identity, reader.directory = identity(plant), str(tmp_path / "not here")
        assert access._files_of(reader) is None
