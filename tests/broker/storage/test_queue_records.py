"""What the log says of queues is what it was told of them."""

import json

import pytest

from heliograph.broker.core.queue_definition import Order, QueueDefinition, QueueKind
from heliograph.broker.errors import MalformedObject
from heliograph.broker.storage import record_kinds
from heliograph.broker.storage.queue_records import DELIVERIES_ROW, QueueRecords, queue_gone_record, queue_record
from heliograph.errors import Problem
from heliograph.log import Record

BOUND = [{"filter": "a/#", "selector": "", "no_local": "", "name": ""}]


class Cursor:
    number = 7

    def is_pending(self, offset):
        return offset >= 2


def take(records, fact, position=0):
    return records.take(Record(position, *fact))


@pytest.mark.parametrize(
    "definition",
    [
        QueueDefinition("Q"),
        QueueDefinition("Q", max_ttl=1.5, max_depth=17, order=Order.FIFO, description="orders"),
        QueueDefinition("Q", QueueKind.ALIAS, target="other"),
        QueueDefinition("Q", QueueKind.MODEL, temporary=True),
    ],
)
def test_a_definition_is_read_back_as_it_was(definition):
    records = QueueRecords()
    assert take(records, queue_record(definition, 7, BOUND), 100)
    assert records.names() == ["Q"]
    assert records.definition("Q") == (definition, 7)
    assert records.bindings("Q") == BOUND
    assert records.records["Q"].position == 100


def test_the_last_word_on_a_queue_counts():
    records = QueueRecords()
    take(records, queue_record(QueueDefinition("Q", max_depth=1), 7, []))
    take(records, queue_record(QueueDefinition("Q", max_depth=2), 7, BOUND))
    assert records.definition("Q")[0].max_depth == 2
    take(records, queue_gone_record("Q"))
    assert records.names() == []
    take(records, queue_gone_record("Q"))  # of what is not known, nothing is forgotten


def test_failed_deliveries_are_those_of_messages_that_are_still_there():
    records = QueueRecords()
    take(records, queue_record(QueueDefinition("Q"), 7, []))
    rows = [DELIVERIES_ROW.pack(7, 1, 1), DELIVERIES_ROW.pack(7, 2, 1), DELIVERIES_ROW.pack(8, 3, 9)]
    take(records, (record_kinds.DELIVERIES, b"".join(rows)))
    take(records, (record_kinds.DELIVERIES, DELIVERIES_ROW.pack(7, 2, 4)))
    assert records.failed(Cursor()) == {2: 4}
    records.forget("Q")
    assert records.failed(Cursor()) == {}


def test_other_records_are_for_others():
    assert not take(QueueRecords(), (record_kinds.SESSION, b"{}"))


@pytest.mark.parametrize("cursor", [None, "7", 1.5])
def test_a_cursor_is_a_number(cursor):
    fact = {"queue": "Q", "cursor": cursor, "definition": {}, "bindings": []}
    with pytest.raises(MalformedObject, match="expected the number of a cursor"):
        take(QueueRecords(), (record_kinds.QUEUE, json.dumps(fact).encode()))


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"name": "other"}, "expected the definition of queue Q, found that of other"),
        ({"max_ttl": "1"}, "max_ttl: expected milliseconds"),
        ({"max_ttl": 1.5}, "max_ttl: expected milliseconds"),
        ({"max_ttl": 10**30}, "max_ttl: expected milliseconds"),
        ({"max_depth": -1}, "max_depth"),
    ],
)
def test_a_definition_that_makes_no_sense_is_a_problem(changes, text):
    kind, body = queue_record(QueueDefinition("Q"), 7, [])
    fact = json.loads(body)
    fact["definition"] |= changes
    records = QueueRecords()
    take(records, (kind, json.dumps(fact).encode()))
    with pytest.raises(Problem, match=text):
        records.definition("Q")
