"""How far behind a reader is, by messages and by time."""

from pathlib import Path

import pytest

from broker.storage.test_streams import DurableScene
from heliograph.broker.storage.streams import StreamOptions
from heliograph.log.streams.stream_reader import StreamReader
from heliograph.log.streams.stream_source import Lag, stream_lag


@pytest.fixture
def reader(tmp_path: Path):
    """Of a stream with two partitions: ten messages in one, three in the other."""
    scene = DurableScene(tmp_path / "log", StreamOptions("s", "#", partitions=2))
    client = scene.client("p")
    topics = {scene.store.streams.by_name["s"].cursor_for(t.encode()).number: t for t in "abcdefgh"}
    first, second = (topics[cursor.number] for cursor in scene.store.streams.by_name["s"].cursors)
    for _ in range(10):
        client.publish(first, b"x")
    for _ in range(3):
        client.publish(second, b"x")
    scene.settle()
    with StreamReader(scene.directory, "s") as opened:
        yield opened
    scene.store.close()


def now_of(reader: StreamReader) -> float:
    return max(reader.read(p, 0)[-1].time for p in (0, 1)) + 5000


def test_what_is_not_done_is_counted_over_all_partitions(reader: StreamReader) -> None:
    assert stream_lag(reader, {0: 4, 1: 3}, now_of(reader)).messages == 6
    assert stream_lag(reader, {0: 0, 1: 0}, now_of(reader)).messages == 13


def test_the_oldest_message_that_waits_says_how_long(reader: StreamReader) -> None:
    waiting = reader.read(1, 2)[0].time
    now = now_of(reader)
    assert stream_lag(reader, {0: 10, 1: 2}, now) == Lag(1, (now - waiting) / 1000)


def test_who_has_done_all_is_not_behind(reader: StreamReader) -> None:
    assert stream_lag(reader, {0: 10, 1: 3}, now_of(reader)) == Lag(0, 0.0)


def test_of_a_partition_that_is_new_nothing_is_done(reader: StreamReader) -> None:
    assert stream_lag(reader, {0: 10}, now_of(reader)).messages == 3
