"""Rows become messages, by their columns."""

from typing import Any

import pyarrow as pa
import pytest

from heliograph.client.encoded import BYTES, TEXT, Read, read
from heliograph.errors import Problem
from heliograph.pipeline.sink.columns import KNOWN
from heliograph.pipeline.sink.messages import Messages
from heliograph.pipeline.sink.options import SinkOptions

NOW = 1_700_000_000_000
PROPERTIES = pa.map_(pa.string(), pa.string())


def messages(first: int = 0, options: SinkOptions | None = None, **columns: Any) -> list[Read]:
    batch = pa.RecordBatch.from_pydict(columns)
    maker = Messages(tuple(KNOWN), options or SinkOptions(), "query/7/0/", lambda row: f"row {row}")
    return [read(payload) for payload in maker.of(batch, first, NOW)]


def test_a_binary_payload_is_data_and_a_string_is_a_text() -> None:
    (data,) = messages(payload=pa.array([b"\xff"]), topic=["t"])
    (text,) = messages(payload=pa.array(["grüße"]), topic=["t"])
    assert (data.kind, data.body) == (BYTES, b"\xff")
    assert (text.kind, text.body) == (TEXT, "grüße".encode())


def test_a_binary_payload_can_be_called_a_text() -> None:
    both = messages(payload=[b"a", b"b"], topic=["t", "t"], text=[True, False])
    assert [each.kind for each in both] == [TEXT, BYTES]


def test_a_text_that_is_none_is_refused() -> None:
    with pytest.raises(Problem, match="row 1: the payload is to be a text, but is not UTF-8"):
        messages(payload=[b"a", b"\xff"], topic=["t", "t"], text=[True, True])


def test_a_null_payload_is_an_empty_body() -> None:
    assert [each.body for each in messages(payload=pa.array([None, b"x"]), topic=["t", "t"])] == [b"", b"x"]


def test_ids_in_queues_are_made_of_the_place_of_the_row_unless_it_has_one() -> None:
    rows = messages(9, payload=[b"", b"", b""], queue=["q"] * 3, message_id=[None, "mine", None])
    assert [each.message_id for each in rows] == ["query/7/0/9", "mine", "query/7/0/11"]
    rows = messages(9, payload=[b"", b""], queue=["q"] * 2)
    assert [each.message_id for each in rows] == ["query/7/0/9", "query/7/0/10"]


def test_messages_of_topics_have_ids_of_their_rows_only() -> None:
    rows = messages(payload=[b""] * 3, topic=["t"] * 3, message_id=[None, "mine", None])
    assert [each.message_id for each in rows] == [None, "mine", None]
    assert messages(payload=[b"x"], topic=["t"])[0].message_id is None


def test_rows_go_to_topics_and_queues() -> None:
    rows = messages(payload=[b""] * 3, topic=["plant/1", None, "plant/2"], queue=[None, "orders", None])
    assert [each.to for each in rows] == ["topic://plant/1", "queue://orders", "topic://plant/2"]


def test_kind_and_destination_say_it_too() -> None:
    kinds = ["topic", "queue", "dead-letter"]
    rows = messages(payload=[b""] * 3, kind=kinds, destination=["a", "b", "c"], topic=["where it came from"] * 3)
    assert [each.to for each in rows] == ["topic://a", "queue://b", "queue://c"]


def test_an_option_goes_before_the_columns() -> None:
    (row,) = messages(options=SinkOptions(queue="all"), payload=[b""], topic=["t"])
    assert row.to == "queue://all"


def test_a_message_gets_all_that_the_columns_say() -> None:
    (row,) = messages(
        payload=[b"x"],
        topic=["t"],
        qos=[0],
        retain=[True],
        content_type=["text/plain"],
        correlation=pa.array([b"\xff\x01"]),
        reply_to=["answers"],
        properties=pa.array([[("a", "1"), ("b", None)]], PROPERTIES),
        priority=[9],
        expiry=[1500],
        group_id=["g"],
        group_sequence=[3],
    )
    assert row.front.persistent is False
    assert row.front.priority == 9
    assert row.front.annotations["x-opt-retain-message"] is True
    assert row.content_type == "text/plain"
    assert row.correlation_id == b"\xff\x01"
    assert row.reply_to == "topic://answers"
    assert row.properties == {"a": "1"}
    assert (row.created, row.expires) == (NOW, NOW + 1500)
    assert (row.group_id, row.group_sequence) == ("g", 3)


def test_messages_are_persistent_unless_a_column_says_otherwise() -> None:
    rows = messages(
        payload=[b""] * 5,
        topic=["t"] * 5,
        qos=pa.array([None, 0, 1, 2, 0], pa.int32()),
        persistent=pa.array([None, None, None, False, True]),
    )
    assert [each.front.persistent for each in rows] == [True, False, True, False, True]


def test_a_bare_reply_to_is_of_the_kind_that_the_message_goes_to() -> None:
    rows = messages(
        payload=[b""] * 3, topic=["t", None, None], queue=[None, "q", "q"], reply_to=["a", "a", "topic://a"]
    )
    assert [each.reply_to for each in rows] == ["topic://a", "queue://a", "topic://a"]


def test_readable_correlation_data_is_a_text() -> None:
    assert messages(payload=[b""], topic=["t"], correlation=pa.array([b"42"]))[0].correlation_id == "42"


def test_a_dead_letter_says_why() -> None:
    (row,) = messages(
        payload=[b""], kind=["dead-letter"], destination=["dlq"], reason=["no such order"], node=["check"]
    )
    assert row.front.annotations["x-opt-dead-letter-reason"] == "no such order"
    assert row.front.annotations["x-opt-dead-letter-node"] == "check"
    assert row.front.annotations["x-opt-dead-letter-time"] == NOW


def test_properties_of_each_row_are_its_own() -> None:
    maps = pa.array([[("n", "1")], None, [("n", "2")], []], PROPERTIES)
    rows = messages(payload=[b""] * 4, topic=["t"] * 4, properties=maps)
    assert [each.properties for each in rows] == [{"n": "1"}, {}, {"n": "2"}, {}]


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        ({"topic": ["t", None]}, "row 6: has no destination"),
        ({"topic": ["t", ""]}, "row 6: has no destination"),
        ({"topic": ["t", "t"], "queue": [None, "q"]}, 'row 6: expected a topic or a queue, found both: "t" and "q"'),
        ({"topic": ["t", "t"], "qos": [1, 3]}, "row 6: expected 0 to 2 as qos, found 3"),
        ({"topic": ["t", "t"], "priority": [1, 10]}, "row 6: expected 0 to 9 as priority, found 10"),
        ({"kind": ["topic", "file"], "destination": ["t", "t"]}, "row 6: expected topic, queue, dead-letter as kind"),
        ({"kind": ["topic", "queue"], "destination": ["t", None]}, "row 6: has the kind queue and no destination"),
        ({"topic": ["t", "t"], "content_type": ["a", "ü"]}, "row 6: 'ü' cannot be written as Symbol"),
    ],
)
def test_a_row_that_cannot_be_a_message_is_named(columns: dict[str, Any], text: str) -> None:
    with pytest.raises(Problem, match=text):
        messages(5, payload=[b"", b""], **columns)
