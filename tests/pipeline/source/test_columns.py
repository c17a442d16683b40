"""Columns that are made of many records at a time say what the messages say one by one."""

from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.errors import Problem
from heliograph.log import log_kinds
from heliograph.log.buffer_pool import BufferPool
from heliograph.log.messages import Receivers
from heliograph.log.queue_messages import QueueMessages, encode_queue_messages
from heliograph.log.record import frame
from heliograph.log.streams.stream_block import StreamBlock, block_of
from heliograph.log.streams.stream_span import span_at
from heliograph.mqtt import encode_properties
from heliograph.pipeline.source import gathering
from heliograph.pipeline.source.columns import Columns
from heliograph.pipeline.source.filters import Wanted
from heliograph.pipeline.source.gathering import gathered
from heliograph.pipeline.source.message_properties import message_properties
from heliograph.pipeline.source.numbered_text import numbered
from heliograph.pipeline.source.schema import arrow_schema, stream_schema
from pipeline.source.records_of_messages import CURSOR, Mix, Run, Together, log_of

EVERYTHING = Wanted()
PROPERTIES = [
    b"",
    encode_properties({"content_type": "text/plain", "correlation_data": b"\0\xff"})[1:],
    encode_properties({"response_topic": "a/b", "user_property": [("k", "1"), ("l", "ü"), ("k", "2")]})[1:],
]


LARGE = st.sampled_from([0, 150, gathering.LARGE_RECORD])
"""From which size on records are large: all, some or none of those that are made here."""


@st.composite
def runs(draw: st.DrawFn) -> Run:
    size = draw(st.integers(0, 12))
    payload = st.binary(min_size=size, max_size=size)
    return Run(
        draw(st.sampled_from(["a", "plant/ü", "plant/line/" + 30 * "x"])),
        draw(st.lists(payload, min_size=1, max_size=5)),
        time=draw(st.integers(0, 2**41)),
        qos=draw(st.integers(0, 2)),
        retain=draw(st.booleans()),
        properties=draw(st.sampled_from(PROPERTIES)),
        cursors=draw(CURSORS),
    )


TOPICS = st.sampled_from(["a", "plant/ü", "plant/line/" + 30 * "x", "t" * 200])
PAYLOADS = st.one_of(st.binary(max_size=12), st.sampled_from([bytes(100), bytes(130), bytes(16_400)]))
LONG = encode_properties({"content_type": "x" * 200})
CURSORS = st.sampled_from([(CURSOR,), (1, CURSOR), (CURSOR, 9, 7), (1,)])


@st.composite
def mixes(draw: st.DrawFn) -> Mix:
    properties = st.sampled_from([*PROPERTIES, LONG[2:]])
    return Mix(
        draw(st.lists(st.tuples(TOPICS, PAYLOADS, properties), min_size=1, max_size=8)),
        time=draw(st.integers(0, 2**41)),
        qos=draw(st.integers(0, 2)),
        version5=draw(st.booleans()),
        cursors=draw(CURSORS),
    )


@st.composite
def groups(draw: st.DrawFn) -> Together:
    return Together(draw(st.lists(st.one_of(runs(), mixes()), min_size=1, max_size=4)))


@st.composite
def anything(draw: st.DrawFn, most: int) -> list[Run | Mix | Together]:
    return draw(st.lists(st.one_of(runs(), mixes(), groups()), min_size=1, max_size=most))


class ColumnsOfBlocks(Columns):
    """What becomes of some blocks that are gathered for one batch, as far as it is told by all of their rows."""

    def of(self, blocks: list[StreamBlock], first: int, end: int) -> pa.RecordBatch | None:
        batches, offset = [], first
        for records in gathered(iter(blocks), first, end, BufferPool(0), copying=self.all_wanted):
            batches.append(self.batch(records, offset, end))
            offset = records.next
        whole = [batch for batch in batches if batch is not None]
        return pa.concat_batches(whole) if whole else None


def columns(wanted: Wanted = EVERYTHING, names: list[str] | None = None) -> ColumnsOfBlocks:
    schema = arrow_schema(stream_schema("binary"))
    if names is not None:
        schema = schema.empty_table().select(names).schema
    return ColumnsOfBlocks("plant", 3, schema, wanted)


def one_by_one(block: StreamBlock, first: int, end: int) -> list[dict[str, Any]]:
    """The rows that a block is, message by message."""
    rows = []
    for place in block:
        for message in span_at(block, place):
            if first <= message.offset < end:
                known = message_properties(message.properties)
                row = {
                    "stream": "plant",
                    "partition": 3,
                    "offset": message.offset,
                    "timestamp": message.time,
                    "topic": message.topic,
                    "payload": message.payload,
                    "qos": message.qos,
                    "retain": message.retain,
                    "content_type": known.content_type,
                    "correlation": known.correlation,
                    "reply_to": known.reply_to,
                    "properties": list(known.properties.items()) if known.properties else None,
                    "message_id": known.message_id or f"plant/3/{message.offset}",
                }
                rows.append(row)
    return rows


def rows_of(batch: Any) -> list[dict[str, Any]]:
    whole = batch.set_column(3, "timestamp", batch["timestamp"].cast("int64"))
    return [{**row, "timestamp": row["timestamp"] // 1000} for row in whole.to_pylist()]


@settings(deadline=None)  # the first call imports much
@given(anything(12), st.integers(0, 1000), st.data())
def test_columns_say_what_messages_say_one_by_one(
    some: list[Run | Mix | Together], start: int, data: st.DataObject
) -> None:
    total = sum(run.number for run in some if CURSOR in run.cursors)
    if not total:
        return
    first = start + data.draw(st.integers(0, total - 1))
    end = data.draw(st.integers(first + 1, start + total))
    block = block_of(log_of(some, start), 0, CURSOR, first, end)
    with patch.object(gathering, "LARGE_RECORD", data.draw(LARGE)):
        batch = columns().of([block], first, end)
    assert batch is not None
    assert batch.schema == arrow_schema(stream_schema("binary"))
    batch.validate(full=True)
    assert rows_of(batch) == one_by_one(block, first, end)
    assert batch["offset"].to_pylist() == list(range(first, end))


@settings(deadline=None)
@given(st.lists(anything(3), min_size=1, max_size=4), LARGE)
def test_several_blocks_are_the_same_as_one(several: list[list[Run | Mix | Together]], large: int) -> None:
    runs_of_all = [run for some in several for run in some]
    total = sum(run.number for run in runs_of_all if CURSOR in run.cursors)
    if not total:
        return
    blocks, offset = [], 0
    for some in several:
        data = log_of(some, offset)
        found = block_of(data, 0, CURSOR, offset, total) if offset < total else StreamBlock(b"")
        if len(found):
            blocks.append(found)
            offset = found.next
    together = columns().of([block_of(log_of(runs_of_all), 0, CURSOR, 0, total)], 0, total)
    with patch.object(gathering, "LARGE_RECORD", large):
        assert columns().of(blocks, 0, total) == together


@pytest.mark.parametrize("sizes", [[(40_000, 3), (0, 2), (70_000, 1), (25_000, 4)], [(0, 2), (7, 3), (50_000, 5)]])
def test_large_records_say_what_messages_say_one_by_one(sizes: list[tuple[int, int]]) -> None:
    some = [Run("a", [bytes([number]) * size] * count) for number, (size, count) in enumerate(sizes)]
    block = block_of(log_of(some), 0, CURSOR, 0, 10)
    for first, end in ((0, 10), (1, 9), (6, 7)):
        part = block_of(log_of(some), 0, CURSOR, first, end)
        batch = columns().of([part], first, end)
        assert batch is not None
        batch.validate(full=True)
        assert rows_of(batch) == one_by_one(block, first, end)


def test_how_long_messages_live_is_told_on_request() -> None:
    some = [Run("a", [b"1", b"2"], time=1000, expires=61_000), Run("a", [b"3"]), Run("a", [b"4"], time=9, expires=5)]
    schema = pa.schema([("expiry", pa.int64())])
    for part, expected in ((some, [60_000, 60_000, None, 0]), (some[1:2], [None])):
        block = block_of(log_of(part), 0, CURSOR, 0, 4)
        batch = ColumnsOfBlocks("plant", 3, schema, EVERYTHING).of([block], 0, len(expected))
        assert batch is not None
        assert batch["expiry"].to_pylist() == expected


@pytest.mark.parametrize(
    ("said", "told"), [("ANSWERS", "queue://ANSWERS"), ("queue://A", "queue://A"), ("x://y", "x://y")]
)
def test_where_to_reply_is_a_queue_if_it_is_no_topic(said: str, told: str) -> None:
    properties = encode_properties({"user_property": [("amqp.reply_to", said)]})[1:]
    assert message_properties(properties).reply_to == told


@settings(deadline=None)
@given(st.lists(st.integers(0, 10**18 - 1), unique=True))
def test_texts_are_numbered(numbers: list[int]) -> None:
    found = numbered("plant/3/", np.array(sorted(numbers), np.int64))
    found.validate(full=True)
    assert found.to_pylist() == [f"plant/3/{number}" for number in sorted(numbers)]


def test_topics_that_are_not_wanted_make_no_rows() -> None:
    block = block_of(log_of([Run("a", [b"1", b"2"]), Run("b", [b"3"]), Run("a/c", [b"4"])]), 0, CURSOR, 0, 4)
    named = columns(Wanted(topics=frozenset({"b", "nobody"}))).of([block], 0, 4)
    assert named is not None
    assert [(row["offset"], row["payload"]) for row in rows_of(named)] == [(2, b"3")]
    prefixed = columns(Wanted(prefixes=("a",))).of([block], 0, 4)
    assert prefixed is not None
    assert prefixed["offset"].to_pylist() == [0, 1, 3]
    assert columns(Wanted(topics=frozenset({"b"}), prefixes=("a",))).of([block], 0, 4) is None


@settings(deadline=None)
@given(anything(6), st.sets(TOPICS), st.sampled_from(["", "plant/", "plant/line"]))
def test_a_filter_on_topics_leaves_the_rows_that_pass(
    some: list[Run | Mix | Together], names: set[str], prefix: str
) -> None:
    total = sum(run.number for run in some if CURSOR in run.cursors)
    if not total:
        return
    block = block_of(log_of(some), 0, CURSOR, 0, total)
    expected = [r for r in one_by_one(block, 0, total) if r["topic"] in names and r["topic"].startswith(prefix)]
    batch = columns(Wanted(topics=frozenset(names), prefixes=(prefix,))).of([block], 0, total)
    assert (rows_of(batch) if batch is not None else []) == expected


def test_only_the_columns_that_are_asked_for_are_made() -> None:
    block = block_of(log_of([Run("a", [b"1", b"2"])]), 0, CURSOR, 0, 2)
    batch = columns(names=["payload", "qos"]).of([block], 0, 2)
    assert batch is not None
    assert batch.to_pydict() == {"payload": [b"1", b"2"], "qos": [1, 1]}


def test_a_message_of_amqp_has_its_own_identifier_and_the_queue_for_answers() -> None:
    properties = encode_properties(
        {"user_property": [("amqp.message_id", "m-1"), ("amqp.reply_to", "queue://answers"), ("amqp.subject", "s")]}
    )[1:]
    block = block_of(log_of([Run("a", [b"1"], properties=properties), Run("a", [b"2"])]), 0, CURSOR, 0, 2)
    batch = columns(names=["message_id", "reply_to", "properties"]).of([block], 0, 2)
    assert batch is not None
    assert batch.to_pydict() == {
        "message_id": ["m-1", "plant/3/1"],
        "reply_to": ["queue://answers", None],
        "properties": [[("amqp.subject", "s")], None],
    }


def test_records_of_queues_are_not_taken_for_those_of_a_stream() -> None:
    messages = QueueMessages.of([b"message"], [4], [0])
    body = encode_queue_messages(messages, Receivers((CURSOR,), (0,), (0,)))
    data = b"".join(frame(log_kinds.MESSAGES, (body, messages.data), 0, 1, 1)[0])
    with pytest.raises(Problem, match=r"MQTT packets \(forms 1 and 3\) in a stream, found form 2"):
        columns().of([block_of(data, 0, CURSOR, 0, 1)], 0, 1)


def test_whether_a_payload_is_text_is_a_column_for_those_who_ask() -> None:
    text = encode_properties({"payload_format_indicator": 1})[1:]
    block = block_of(log_of([Run("a", [b"1"], properties=text), Run("a", [b"2"])]), 0, CURSOR, 0, 2)
    batch = ColumnsOfBlocks("plant", 3, pa.schema([("text", pa.bool_())]), EVERYTHING).of([block], 0, 2)
    assert batch is not None
    assert batch.to_pydict() == {"text": [True, None]}
