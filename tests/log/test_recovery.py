"""Where a log ends: what is cut off, what is damage, and where segments end."""

import pytest

from heliograph.log.errors import BadSegment, LogDamaged
from heliograph.log.recovery import find_segments, recover, segment_spans
from heliograph.log.segment import segment_files
from log.watched_log import WatchedLog, fill


@pytest.fixture
def closed(open_log) -> WatchedLog:
    """A log of three batches in one segment."""
    log = open_log()
    fill(log, 3)
    log.close()
    return log


def test_a_log_that_was_closed_ends_behind_its_last_record(closed) -> None:
    seen = []
    found = recover(find_segments(closed.directory), seen.append)
    assert (found.end, found.torn) == (closed.end, None)
    assert [record.body[:3] for record in seen] == [b"000", b"001", b"002"]


def test_an_empty_folder_has_no_segments(tmp_path) -> None:
    found = recover(find_segments(tmp_path))
    assert (found.segments, found.end, found.torn) == ([], 0, None)
    assert segment_spans([], 0) == []


def test_what_is_left_of_the_last_batch_is_cut_off_and_described(closed) -> None:
    (path,) = segment_files(closed.directory)
    path.write_bytes(path.read_bytes()[:-10])
    torn = recover(find_segments(closed.directory)).torn
    assert torn is not None
    assert str(torn).startswith(f"{path}: cut at position {torn.position}, {torn.lost} bytes of an unfinished batch (")


def test_zeros_behind_the_last_record_are_nothing_to_lose(closed) -> None:
    (path,) = segment_files(closed.directory)
    path.write_bytes(path.read_bytes() + bytes(200))
    found = recover(find_segments(closed.directory))
    assert (found.end, found.torn) == (closed.end, None)


def test_a_bad_record_before_a_forced_batch_is_damage(closed) -> None:
    (path,) = segment_files(closed.directory)
    data = bytearray(path.read_bytes())
    data[data.index(b"000") + 5] ^= 1
    path.write_bytes(data)
    with pytest.raises(LogDamaged, match="damaged at byte"):
        recover(find_segments(closed.directory))


def test_a_message_that_looks_like_a_batch_is_none(open_log) -> None:
    log = open_log()
    fill(log, 1)
    log.flush()
    (path,) = segment_files(log.directory)
    batch = path.read_bytes()[48:88]  # the start of the first batch, as a message may contain it
    log.append(1, b"x" * 40)
    log.append(1, batch * 3)
    log.close()
    data = bytearray(path.read_bytes())
    data[data.index(b"x" * 40)] ^= 1
    path.write_bytes(data)
    assert recover(find_segments(log.directory)).torn is not None


def test_a_segment_without_a_whole_header_is_refused(closed) -> None:
    (path,) = segment_files(closed.directory)
    path.write_bytes(path.read_bytes()[:20])
    with pytest.raises(BadSegment, match="20 bytes long, a segment's header has 48"):
        find_segments(closed.directory)


def test_a_segment_whose_successor_was_deleted_ends_with_its_file(open_log) -> None:
    log = open_log(segment_size=200)
    fill(log, 6)
    log.close()
    segments = find_segments(log.directory)
    spans = segment_spans(segments, log.end)
    assert [start for start, _ in spans[1:]] == [end for _, end in spans[:-1]]
    without = [segments[0], *segments[2:]]
    assert segment_spans(without, log.end)[0] == spans[0]
