"""What Spark keeps of a spool, and how that is cut into tasks."""

import os
from pathlib import Path

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable

from heliograph.pipeline.source.message_properties import NO_PROPERTIES
from heliograph.pipeline.spool.inbox import Rows
from heliograph.pipeline.spool.reading import SpoolReader, spool_reader, spool_schema
from heliograph.pipeline.spool.segments import Spool

SEGMENTS = 8


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SpoolReader:
    """Of a spool with a few segments, each worth a task."""
    spool = Spool(tmp_path)
    for _ in range(SEGMENTS):
        rows = Rows()
        rows.add(0, "t", [b"x" * (1 << 20)], 1, False, NO_PROPERTIES)
        spool.append(rows, frozenset())
    spool.close()
    monkeypatch.setattr("heliograph.pipeline.spool.reading.Receiver", _Quiet)
    options = {"topic": "plant/#", "spool": str(tmp_path)}
    return spool_reader(spool_schema(options), options)


class _Quiet:
    """Receives nothing."""

    def __init__(self, _options: object) -> None:
        self.spool = self
        self.end = SEGMENTS

    def check(self) -> None:
        """All is well."""


def test_a_batch_is_cut_alike_on_a_machine_with_more_cores(
    reader: SpoolReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    start = reader.initialOffset()
    end = reader.latestOffset(start, ReadAllAvailable())
    before = reader.partitions(start, end)
    assert len(before) == 2
    monkeypatch.setattr(os, "cpu_count", lambda: SEGMENTS)
    assert reader.partitions(start, end) == before


def test_a_checkpoint_that_does_not_say_how_it_was_cut_is_read(reader: SpoolReader) -> None:
    parts = reader.partitions({"segment": 2}, {"segment": 5})
    assert (parts[0].first, parts[-1].end) == (2, 5)
    assert reader.latestOffset({"segment": 5}, ReadAllAvailable())["segment"] == SEGMENTS


def test_an_offset_is_the_same_while_nothing_comes(reader: SpoolReader, monkeypatch: pytest.MonkeyPatch) -> None:
    old = {"segment": SEGMENTS}
    assert reader.latestOffset(old, ReadAllAvailable()) == old
    before = reader.latestOffset(reader.initialOffset(), ReadAllAvailable())
    monkeypatch.setattr(os, "cpu_count", lambda: 99)
    assert reader.latestOffset(before, ReadAllAvailable()) == before
