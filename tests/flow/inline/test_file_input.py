"""Files that come into flows and go out of them."""

import time

import pytest

from heliograph.errors import Problem
from heliograph.flow.engine.outcome import WriteFile
from heliograph.flow.inline.file_input import delimiter_of, records
from heliograph.flow.inline.file_output import write_file

CHECK = """
def process(message):
    if b"bad" in message.body.bytes():
        raise ValueError("this one is bad")
    return message
"""


def wait_for(path):
    end = time.monotonic() + 20
    while not path.exists():
        assert time.monotonic() < end, f"{path} never came about"
        time.sleep(0.01)
    return path


@pytest.mark.parametrize(
    ("data", "kind", "expected"),
    [
        (b"a\nb\n", "whole", [(0, b"a\nb\n")]),
        (b"", "whole", [(0, b"")]),
        (b"a\r\nb\nc", "line", [(0, b"a"), (3, b"b"), (5, b"c")]),
        (b"a||b||", "delimited", [(0, b"a"), (3, b"b")]),
        (b"abcde", "fixed", [(0, b"ab"), (2, b"cd"), (4, b"e")]),
        (b"", "line", []),
    ],
)
def test_a_file_is_taken_apart_into_records(tmp_path, data, kind, expected):
    file = tmp_path / "f"
    file.write_bytes(data)
    assert list(records(file, kind, b"||", 2)) == expected


def test_records_may_be_larger_than_what_is_read_at_once(tmp_path):
    file = tmp_path / "f"
    parts = [b"x" * 3_000_000, b"y", b"z" * 1_500_000]
    file.write_bytes(b"||".join(parts))
    assert [record for _, record in records(file, "delimited", b"||")] == parts


@pytest.mark.parametrize(
    ("text", "expected"), [("\\n", b"\n"), ("\\r\\n", b"\r\n"), ("\\x1e", b"\x1e"), (";", b";"), ("\\\\", b"\\")]
)
def test_delimiters_are_written_as_in_most_languages(text, expected):
    assert delimiter_of(text) == expected


def test_files_are_taken_and_put_away(flow, queue_fixture, tmp_path):
    folder = tmp_path / "inbox"
    nodes = f"""
in: {{type: FileInput, directory: {folder}, pattern: "*.txt", record: line, interval: 0.01}}
out: {{type: QueueOutput, queue: OUT}}
"""
    with flow(nodes, "in.out -> out"):
        (folder / "note.md").write_text("not mine")
        (folder / ".part").write_text("one\ntwo\n")
        (folder / ".part").rename(folder / "a.txt")
        assert queue_fixture.bodies("OUT", 2) == ["one", "two"]
        wait_for(folder / "processed/a.txt")
    assert (folder / "note.md").exists()


def test_a_file_that_fails_is_put_away_as_failed_with_its_other_records_done(flow, queue_fixture, tmp_path):
    folder = tmp_path / "inbox"
    folder.mkdir()
    (folder / "a").write_text("one\nbad\ntwo\n")
    nodes = f"""
in: {{type: FileInput, directory: {folder}, record: line, interval: 0.01}}
check: {{type: Python, file: check.py}}
out: {{type: QueueOutput, queue: OUT}}
"""
    with flow(nodes, "in.out -> check\ncheck.out -> out", files={"check.py": CHECK}):
        assert queue_fixture.bodies("OUT", 2) == ["one", "two"]
        wait_for(folder / "failed/a")


def test_what_was_claimed_before_a_crash_is_taken_again(flow, queue_fixture, tmp_path):
    folder = tmp_path / "inbox"
    claimed = folder / ".claimed.tested.0.0.in"
    claimed.mkdir(parents=True)
    (claimed / "a").write_text("left")
    nodes = f"in: {{type: FileInput, directory: {folder}, interval: 0.01}}\nout: {{type: QueueOutput, queue: OUT}}"
    with flow(nodes, "in.out -> out"):
        assert queue_fixture.bodies("OUT") == ["left"]


def test_a_flow_writes_files(flow, queue_fixture, tmp_path):
    nodes = f"""
in: {{type: QueueInput, queue: IN}}
file: {{type: FileOutput, directory: {tmp_path}/outbox, name: log.txt, mode: append, record: line}}
out: {{type: QueueOutput, queue: OUT}}
"""
    queue_fixture.put("IN", "one", "two")
    with flow(nodes, "in.out -> file\nfile.out -> out"):
        queue_fixture.get("OUT", 2)
    assert (tmp_path / "outbox/log.txt").read_text() == "one\ntwo\n"


def test_a_file_that_cannot_be_written_is_an_error_of_the_node(flow, queue_fixture, tmp_path):
    (tmp_path / "blocked").write_text("a file, not a folder")
    nodes = f"""
in: {{type: QueueInput, queue: IN}}
file: {{type: FileOutput, directory: {tmp_path}/blocked, name: x}}
other: {{type: QueueOutput, queue: OTHER}}
"""
    queue_fixture.put("IN", "one")
    with flow(nodes, "in.out -> file\nfile.failure -> other"):
        assert queue_fixture.bodies("OTHER") == ["one"]


def test_a_file_is_replaced_as_a_whole(tmp_path):
    for data in (b"long before", b"new"):
        write_file(WriteFile(str(tmp_path), "f", data, False, "node"))
    assert (tmp_path / "f").read_bytes() == b"new"
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


@pytest.mark.parametrize("name", ["../f", "/etc/f", "a/b", "..", ""])
def test_a_file_stays_in_its_folder(tmp_path, name):
    with pytest.raises(Problem, match="is not the name of a file"):
        write_file(WriteFile(str(tmp_path), name, b"", False, "node"))


def test_a_file_that_still_grows_is_left_until_it_stays_as_it_is(flow, queue_fixture, tmp_path):
    folder = tmp_path / "inbox"
    folder.mkdir()
    nodes = f"in: {{type: FileInput, directory: {folder}, interval: 0.3}}\nout: {{type: QueueOutput, queue: OUT}}"
    parts = [str(number) for number in range(50)]
    with flow(nodes, "in.out -> out"):
        with (folder / "two words.txt").open("w") as file:
            for part in parts:
                file.write(part)
                file.flush()
                time.sleep(0.02)
        assert queue_fixture.bodies("OUT") == ["".join(parts)]
        wait_for(folder / "processed/two words.txt")


def test_two_runs_of_one_flow_share_a_folder(flow, queue_fixture, tmp_path):
    """The second must not take what the first has claimed for what a crash has left."""
    folder = tmp_path / "inbox"
    nodes = f"in: {{type: FileInput, directory: {folder}, interval: 0.01}}\nout: {{type: QueueOutput, queue: OUT}}"
    with flow(nodes, "in.out -> out"):
        (folder / ".claimed.tested.0.0.in/mine").write_text("in hand")
        with flow(nodes, "in.out -> out"):
            (folder / "b").write_text("new")
            assert queue_fixture.bodies("OUT") == ["new"]
        assert queue_fixture.rest("OUT") == []
    with flow(nodes, "in.out -> out"):
        assert queue_fixture.bodies("OUT") == ["in hand"]


@pytest.mark.parametrize("kind", ["whole", "line", "delimited"])
def test_a_record_that_is_too_large_fails_the_file(flow, queue_fixture, tmp_path, monkeypatch, caplog, kind):
    monkeypatch.setattr("heliograph.flow.inline.file_input.LARGEST_RECORD", 1 << 20)
    folder = tmp_path / "inbox"
    folder.mkdir()
    (folder / "a").write_bytes(b"x" * 3_000_000)
    nodes = f"""
in: {{type: FileInput, directory: {folder}, record: {kind}, delimiter: ";", interval: 0.01}}
out: {{type: QueueOutput, queue: OUT}}
"""
    with flow(nodes, "in.out -> out"):
        wait_for(folder / "failed/a")
    assert "the record at offset 0 has more than 1 MB" in caplog.text
    assert queue_fixture.rest("OUT") == []


def test_a_file_that_cannot_be_read_fails(flow, queue_fixture, tmp_path, monkeypatch, caplog):
    folder = tmp_path / "inbox"
    folder.mkdir()
    (folder / "a").write_text("x")

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("heliograph.flow.inline.file_input.records", refuse)
    nodes = f"in: {{type: FileInput, directory: {folder}, interval: 0.01}}\nout: {{type: QueueOutput, queue: OUT}}"
    with flow(nodes, "in.out -> out"):
        wait_for(folder / "failed/a")
    assert "cannot read a: " in caplog.text
