"""`helio log`: what an operator sees of a log's files."""

import json
from pathlib import Path

import pytest

from heliograph.cli.main import main
from heliograph.log.segment import segment_files
from log.waiting import WatchedLog


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    log = WatchedLog(tmp_path / "log", segment_size=200)
    for number in range(6):
        log.append(number % 2 + 1, b"message %d" % number, offset=number, count=1)
        log.flush()
    log.append(3, b"\xff\xfe", count=2)
    log.close()
    return log.directory


def test_info_lists_the_segments(directory: Path, capsys) -> None:
    assert main(["log", "info", str(directory)]) == 0
    shown = capsys.readouterr().out
    assert all(path.name in shown for path in segment_files(directory))
    assert len(segment_files(directory)) > 1


def test_info_tells_what_was_deleted_and_check_takes_it_for_granted(directory: Path, capsys) -> None:
    first, second, third = [int(path.stem) for path in segment_files(directory)[:3]]
    segment_files(directory)[1].unlink()
    assert main(["log", "info", str(directory)]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[1] == f"  a server that starts reads from position {first} on"
    assert shown[3] == f"  {third - second:,} bytes deleted"
    assert main(["log", "check", str(directory)]) == 0
    assert main(["log", "dump", str(directory)]) == 0


def test_check_counts_what_is_whole(directory: Path, capsys) -> None:
    assert main(["log", "check", str(directory)]) == 0
    assert "ok, 7 records (kind 1: 3, kind 2: 3, kind 3: 1), 8 messages" in capsys.readouterr().out


def test_check_ends_with_1_at_damage_and_says_where(directory: Path, capsys) -> None:
    path = segment_files(directory)[0]
    raw = bytearray(path.read_bytes())
    raw[-12] ^= 1
    path.write_bytes(raw)
    assert main(["log", "check", str(directory)]) == 1
    told = capsys.readouterr().err
    assert str(path) in told
    assert "damaged at byte" in told


def test_check_tells_of_an_unfinished_batch_and_leaves_it_alone(directory: Path, capsys) -> None:
    path = segment_files(directory)[-1]
    whole = path.read_bytes()
    path.write_bytes(whole + b"half a batch")
    assert main(["log", "check", str(directory)]) == 0
    assert "unfinished at the end: 12 bytes" in capsys.readouterr().out
    assert path.read_bytes() == whole + b"half a batch"


def test_dump_prints_records_as_json(directory: Path, capsys) -> None:
    assert main(["log", "dump", str(directory)]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [record["offset"] for record in records[:6]] == list(range(6))
    assert records[0]["body"] == "message 0"
    assert records[6]["body_base64"] == "//4="
    main(["log", "dump", str(directory), "--from", str(records[2]["position"]), "--limit", "2"])
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == records[2:4]


def test_what_is_no_log_is_refused(tmp_path: Path, capsys) -> None:
    assert main(["log", "info", str(tmp_path)]) == 1
    assert "expected the directory of a log, found no segments there" in capsys.readouterr().err
