"""Records as parts of files: the same bytes that those get who read them."""

import os
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from heliograph.log import log_kinds
from heliograph.log.errors import BadRecord
from heliograph.log.record import frame
from heliograph.log.streams import stream_parts
from heliograph.log.streams.stream_block import block_of
from heliograph.log.streams.stream_parts import FilePart, RawRecords, raw_records
from log.streams.test_stream_block import MINE, OTHERS, grouped, mixed_record, record

FRONT = b"somewhere"[:8]
"""What is before the records in the file."""


def passage(path: Path, data: bytes, offset: int = 0, stop: int = 1000) -> tuple[RawRecords, bytes]:
    """What is found in a file with this data, and the bytes that are sent for it."""
    path.write_bytes(FRONT + data)
    descriptor = os.open(path, os.O_RDONLY)
    try:
        found = raw_records(descriptor, len(FRONT), len(FRONT) + len(data), 64, MINE, offset, stop)
        pieces = [
            os.pread(descriptor, piece.size, piece.place) if isinstance(piece, FilePart) else bytes(piece)
            for piece in found.pieces
        ]
    finally:
        os.close(descriptor)
    return found, b"".join(pieces)


KINDS = ["mine", "mixed", "shared", "others", "group", "fact"]


@st.composite
def logs(draw: st.DrawFn) -> bytes:
    """Records of one partition and of others, some of them in groups."""
    records, offset = [], 0
    for kind in draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=8)):
        payloads = [b"x" * draw(st.integers(0, 300))] * draw(st.integers(1, 3))
        if kind == "group" and not offset:
            records.append(grouped(b"y", b"zz"))  # has the messages 0 and 1
            offset = 2
        elif kind == "fact":
            records.append(b"".join(frame(log_kinds.ACKS, (b"x" * draw(st.integers(0, 40)),))[0]))
        elif kind == "others":
            records.append(record(payloads, 0, OTHERS))
        elif kind == "mixed":
            records.append(mixed_record(payloads, offset))
            offset += len(payloads)
        else:
            cursors = (MINE,) if kind == "mine" else (OTHERS, *range(100, 100 + draw(st.integers(0, 30))), MINE)
            records.append(record(payloads, offset, *cursors))
            offset += len(payloads)
    return b"".join(records)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    logs(), st.integers(0, 5), st.integers(1, 20), st.sampled_from([90, 200, 16 << 10]), st.sampled_from([0, 300, 2000])
)
def test_what_is_sent_is_what_would_have_been_read(
    tmp_path: Path, data: bytes, offset: int, stop: int, window: int, worth: int
) -> None:
    with patch.object(stream_parts, "_WINDOW", window), patch.object(stream_parts, "_WORTH_SENDING", worth):
        found, sent = passage(tmp_path / "log", data, offset, stop)
    block = block_of(data, 0, MINE, offset, stop)
    assert (sent, found.next) == (b"".join(block.records()), block.next)
    assert found.seen == len(data)


def test_a_short_record_at_the_end_may_be_cut_by_a_window(tmp_path: Path) -> None:
    mine = record([b"x"], 0)
    short = b"".join(frame(log_kinds.ACKS, (b"",))[0])
    for window in range(90, len(mine) + len(short)):
        with patch.object(stream_parts, "_WINDOW", window):
            found, sent = passage(tmp_path / "log", mine + short)
        assert (sent, found.next) == (mine, 1)


def test_records_that_lie_one_behind_the_other_are_one_part(tmp_path: Path) -> None:
    mine = record([b"a" * 5000] * 9, 0) + record([b"b" * 100] * 200, 9) + record([b"c"] * 2, 209)
    others = record([b"x"], 0, OTHERS)
    more = record([b"d" * 70_000], 211)
    found, _ = passage(tmp_path / "log", mine + others + more)
    assert [(part.place, part.size) for part in found.pieces if isinstance(part, FilePart)] == [
        (len(FRONT), len(mine)),
        (len(FRONT) + len(mine) + len(others), len(more)),
    ]


@pytest.mark.parametrize("cursors", [(MINE,), (OTHERS, MINE)])
def test_records_that_lie_far_apart_are_copied_and_sent_together(tmp_path: Path, cursors: tuple[int, ...]) -> None:
    mine = [record([b"a"], offset, *cursors) for offset in range(500)]
    found, sent = passage(tmp_path / "log", b"".join(each + record([b"x"], 0, OTHERS) for each in mine))
    assert (list(found.pieces), found.next) == ([sent], 500)
    assert sent == b"".join(mine)


@pytest.mark.parametrize("spoiled", [b"\0" * 40, b"\1" * 40])
def test_where_there_is_no_record_is_told(tmp_path: Path, spoiled: bytes) -> None:
    first = record([b"a"], 0)
    with pytest.raises(BadRecord, match="there is no record here") as caught:
        passage(tmp_path / "log", first + spoiled)
    assert caught.value.position == 64 + len(first)


def test_a_file_that_is_shorter_than_it_should_be_is_told(tmp_path: Path) -> None:
    path, first = tmp_path / "log", record([b"a"], 0)
    path.write_bytes(first)
    descriptor = os.open(path, os.O_RDONLY)
    try:
        with pytest.raises(BadRecord, match="the file ends here"):
            raw_records(descriptor, 0, 2 * len(first), 64, MINE, 0, 9)
    finally:
        os.close(descriptor)
