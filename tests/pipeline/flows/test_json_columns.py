"""JSON payloads become columns of a schema."""

from datetime import UTC, datetime

import pyarrow as pa
import pytest

from heliograph.errors import Problem
from heliograph.pipeline.flows.json_columns import json_rows, refused_payloads

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string()), ("at", pa.timestamp("us", "UTC"))])


def test_fields_are_columns():
    rows = json_rows([b'{"id": 1, "name": "a", "at": "2026-01-01T12:00:00Z"}', b'{"more": [1],\n "id": 2}'], SCHEMA)
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    assert rows.to_pylist() == [{"id": 1, "name": "a", "at": noon}, {"id": 2, "name": None, "at": None}]


@pytest.mark.parametrize("payload", [b"", b"no json", b'{"id": "x"}', b'{"id": 1}{"id": 2}', b"[1]", b'{"id": 1', b"7"])
def test_what_is_not_as_the_schema_says_is_told(payload):
    with pytest.raises(Problem, match=r"expected .*JSON"):
        json_rows([payload], SCHEMA)


def test_those_that_are_wrong_are_found_among_many():
    payloads = [b'{"id": %d}' % n for n in range(100)]
    payloads[17], payloads[60] = b'{"id": "x"}', b"{"
    assert sorted(refused_payloads(payloads, SCHEMA)) == [17, 60]


def test_two_halves_are_no_whole():
    assert sorted(refused_payloads([b'{"id": 1', b'}{"id": 2}'], SCHEMA)) == [0, 1]
