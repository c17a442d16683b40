"""What a queue may be defined as."""

import json
from types import SimpleNamespace

import pytest

from heliograph.broker.core.queue_definition import Order, QueueDefinition, QueueKind
from heliograph.broker.storage.queue_records import QueueRecords, queue_record
from heliograph.broker.storage.record_kinds import QUEUE
from heliograph.errors import Problem


@pytest.mark.parametrize(
    "name", ["A", "orders.new", "a/b%c_d-e", "X" * 255, "$sub: anything at all, and long" + "x" * 99]
)
def test_names_that_are_allowed(name):
    assert QueueDefinition(name).name == name


@pytest.mark.parametrize("name", ["", "X" * 256, "a b", "größe", "a\n"])
def test_names_that_are_not(name):
    with pytest.raises(Problem, match="expected a queue name of 1 to 255"):
        QueueDefinition(name)


@pytest.mark.parametrize(
    ("attribute", "value", "expected"),
    [
        ("max_depth", 0, "max_depth: expected an integer from 1 to 999999999, found 0"),
        ("max_message_length", 257 << 20, "max_message_length: expected an integer from 1 to 268435456"),
        ("default_priority", 10, "default_priority: expected an integer from 0 to 9, found 10"),
        ("backout_threshold", -1, "backout_threshold: expected an integer from 0"),
        ("max_ttl", float("nan"), "max_ttl: expected a number from 0 to 999999999"),
        ("max_ttl", 10**15, "max_ttl: expected a number from 0 to 999999999"),
        ("max_depth", True, "max_depth: expected an integer from 1 to 999999999, found true"),
        ("put_enabled", "yes", 'put_enabled: expected true or false, found "yes"'),
        ("description", "x" * 1025, "description: expected at most 1024 characters, found 1025"),
        ("description", "half \ud800", "description: expected text that UTF-8 has"),
        ("order", "random", 'order: expected one of "priority", "fifo", found "random"'),
        ("kind", "remote", 'kind: expected one of "local", "alias", "model", found "remote"'),
        ("backout_queue", "a b", "backout_queue: expected a queue name"),
        ("dead_letter_queue", "Q", "dead_letter_queue: expected another queue, found the queue itself"),
        ("target", "OTHER", 'target: expected none for a local queue, found "OTHER"'),
    ],
)
def test_attributes_that_make_no_sense(attribute, value, expected):
    with pytest.raises(Problem, match=expected):
        QueueDefinition("Q", **{attribute: value})


def test_an_alias_needs_a_target():
    with pytest.raises(Problem, match="target: expected the name of a queue, which an alias needs, found none"):
        QueueDefinition("A", QueueKind.ALIAS)


def test_words_will_do_for_kind_and_order():
    definition = QueueDefinition("Q", kind="model", order="fifo")
    assert (definition.kind, definition.order) == (QueueKind.MODEL, Order.FIFO)


def test_changes_are_checked_too():
    definition = QueueDefinition("Q").replace(max_depth=7)
    assert definition.max_depth == 7
    with pytest.raises(Problem, match="max_depth: expected an integer from 1"):
        definition.replace(max_depth=-7)
    with pytest.raises(Problem, match="no attribute 'depth'"):
        definition.replace(depth=3)


def test_the_log_has_times_in_milliseconds():
    fact = json.loads(queue_record(QueueDefinition("Q", max_ttl=1.5), 0, [])[1])
    assert fact["definition"]["max_ttl"] == 1500
    assert read_back(fact) == QueueDefinition("Q", max_ttl=1.5)


@pytest.mark.parametrize("found", ["x", -(10**400), 10**400, 1.5, True, None])
def test_a_time_in_the_log_that_is_none_is_a_problem(found):
    fact = json.loads(queue_record(QueueDefinition("Q"), 0, [])[1])
    fact["definition"]["max_ttl"] = found
    with pytest.raises(Problem, match="max_ttl: expected milliseconds"):
        read_back(fact)


def test_a_time_is_as_exact_as_it_is_stored():
    assert QueueDefinition("Q", max_ttl=0.00149).max_ttl == 0.001


def read_back(fact):
    facts = QueueRecords()
    facts.take(SimpleNamespace(kind=QUEUE, body=json.dumps(fact)))
    return facts.definition("Q")[0]
