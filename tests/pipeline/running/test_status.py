"""The file in which a pipeline says how it is doing."""

import os
from pathlib import Path

from heliograph.pipeline.running.status import State, Status, StatusFile, ticks_of


def status(**given: object) -> Status:
    return Status(**{"name": "p", "source": "stream:s", "server": "http://x", "runs": "flow", **given})  # type: ignore[arg-type]


def test_what_was_written_is_read(tmp_path: Path) -> None:
    written = status(state=State.RUNNING, batch=3, rows=70, offsets={"s": {"0": 5}}, lag_messages=2, lag_seconds=0.5)
    StatusFile(tmp_path).write(written)
    assert StatusFile(tmp_path).read() == written
    assert written.updated > 0
    assert os.listdir(tmp_path) == ["status.json"]


def test_nothing_is_read_where_there_is_nothing_of_use(tmp_path: Path) -> None:
    file = StatusFile(tmp_path)
    assert file.read() is None
    for text in ("", "[]", '{"name": "p"}', '{"state": "nonsense"}'):
        (tmp_path / "status.json").write_text(text)
        assert file.read() is None


def test_a_new_process_goes_on_counting(tmp_path: Path) -> None:
    now = status()
    now.begin(status(batch=3, rows=70, offsets={"s": {"0": 5}}, pid=1, error="it was bad", restarts=4))
    assert (now.batch, now.rows, now.offsets) == (3, 70, {"s": {"0": 5}})
    assert (now.pid, now.born, now.error, now.restarts) == (os.getpid(), ticks_of(os.getpid()), "", 0)


def test_with_another_source_it_begins_anew() -> None:
    now = status(source="stream:other")
    now.begin(status(batch=3, rows=70, offsets={"s": {"0": 5}}))
    assert (now.batch, now.rows, now.offsets) == (None, 0, {})
