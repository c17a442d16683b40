"""Each rule about pipelines finds what breaks it, and nothing in a history that is in order."""

from dataclasses import replace
from pathlib import Path

import pytest

from faults.durable_clients import payload_of
from faults.history import Stream
from faults.pipelines.outputs import Checkpoint, files_of_spark
from faults.pipelines.rules import Row, Stored, Story, violations

TOPIC = Stream("publisher", "load/0", 1, sent=4, acknowledged={1, 2, 3})


def stored(*numbers: int) -> dict[tuple[int, int], Stored]:
    return {(0, offset): Stored(TOPIC.topic, payload_of(TOPIC, number)) for offset, number in enumerate(numbers)}


def rows(*numbers: int) -> list[Row]:
    return [Row(0, offset, payload_of(TOPIC, number)) for offset, number in enumerate(numbers)]


def queue(*numbers: int) -> list[bytes]:
    return [payload_of(TOPIC, number) for number in numbers]


# 2 was sent again, 4 is not acknowledged and there all the same: both may be.
GOOD = Story([TOPIC], stored(1, 2, 2, 3, 4), rows(1, 2, 2, 3, 4), queue(4, 2, 3, 1, 2))


def broken(story: Story) -> set[str]:
    return {one.rule for one in violations(story)}


def test_a_good_story_breaks_no_rule() -> None:
    assert not violations(GOOD)
    assert not violations(replace(GOOD, queue=None))
    assert not violations(Story([TOPIC], stored(1, 2, 3), rows(1, 2, 3)))


@pytest.mark.parametrize(
    ("story", "rule"),
    [
        (Story([TOPIC], stored(1, 2), rows(1, 2)), "lost"),
        (Story([TOPIC], stored(1, 2, 3, 5), rows(1, 2, 3, 5)), "never sent"),
        (Story([TOPIC], {**stored(1, 2, 3), (0, 4): Stored("other", b"x")}), "never sent"),
        (Story([TOPIC], {key: value for key, value in stored(1, 1, 2, 3).items() if key[1] != 1}), "gap"),
        (replace(GOOD, rows=GOOD.rows[:2] + GOOD.rows[3:]), "missing"),
        (replace(GOOD, rows=[*GOOD.rows, GOOD.rows[2]]), "twice"),
        (replace(GOOD, rows=[*GOOD.rows, Row(0, 5, b"x")]), "invented"),
        (replace(GOOD, rows=[*GOOD.rows, Row(1, 0, GOOD.rows[0].payload)]), "invented"),
        (replace(GOOD, rows=rows(1, 2, 2, 4, 4)), "invented"),
        (replace(GOOD, queue=queue(1, 2, 3, 4)), "missing"),
        (replace(GOOD, queue=queue(1, 2, 2, 2, 3, 4)), "twice"),
        (replace(GOOD, queue=[*queue(1, 2, 2, 3, 4), b"x"]), "invented"),
    ],
)
def test_what_must_not_be_is_found(story: Story, rule: str) -> None:
    assert rule in broken(story)


def test_only_files_in_the_log_of_spark_are_output(tmp_path: Path) -> None:
    log = tmp_path / "_spark_metadata"
    log.mkdir()
    for name, files in {"8": ["a"], "9.compact": ["a", "b%20b"], "10": ["c"], ".11.tmp": ["d"]}.items():
        lines = [f'{{"path":"file://{tmp_path}/{file}.parquet","action":"add"}}' for file in files]
        (log / name).write_text("\n".join(["v1", *lines]))
    (tmp_path / "of-an-attempt-that-failed.parquet").touch()
    assert [file.name for file in files_of_spark(tmp_path)] == ["a.parquet", "b b.parquet", "c.parquet"]


def test_a_batch_is_done_when_it_is_committed(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path)
    assert (checkpoint.batches, checkpoint.done()) == (0, {})
    for folder, names in {"offsets": ["0", "1"], "commits": ["0", ".1.crc"]}.items():
        (tmp_path / folder).mkdir()
        for name in names:
            offsets = f'{{"stream": "load", "partitions": {{"0": 7{name}, "1": 5}}}}'
            (tmp_path / folder / name).write_text(f"v1\n{{}}\n{offsets}")
    assert (checkpoint.batches, checkpoint.done()) == (1, {0: 70, 1: 5})
