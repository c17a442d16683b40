"""What a queue may be defined as."""

import pytest

from heliograph.broker.queues.definition import Kind, Order, QueueDefinition
from heliograph.errors import Problem


@pytest.mark.parametrize(
    "name", ["A", "orders.new", "a/b%c_d-e", "X" * 48, "$sub: anything at all, and long" + "x" * 99]
)
def test_names_that_are_allowed(name):
    assert QueueDefinition(name).name == name


@pytest.mark.parametrize("name", ["", "X" * 49, "a b", "größe", "a\n"])
def test_names_that_are_not(name):
    with pytest.raises(Problem, match="expected a queue name of 1 to 48"):
        QueueDefinition(name)


@pytest.mark.parametrize(
    ("attribute", "value", "expected"),
    [
        ("max_depth", 0, "max_depth from 1 to 999999999, found 0"),
        ("max_message_length", 257 << 20, "max_message_length from 1 to 268435456"),
        ("default_priority", 10, "default_priority from 0 to 9, found 10"),
        ("backout_threshold", -1, "backout_threshold from 0"),
        ("order", "random", "order to be one of priority, fifo, found 'random'"),
        ("kind", "remote", "kind to be one of local, alias, model, found 'remote'"),
        ("backout_queue", "a b", "backout_queue: expected a queue name"),
        ("dead_letter_queue", "Q", "another queue as dead_letter_queue, found the queue itself"),
        ("target", "OTHER", "found kind = local, target = 'OTHER'"),
    ],
)
def test_attributes_that_make_no_sense(attribute, value, expected):
    with pytest.raises(Problem, match=expected):
        QueueDefinition("Q", **{attribute: value})


def test_an_alias_needs_a_target():
    with pytest.raises(Problem, match="target of an alias"):
        QueueDefinition("A", Kind.ALIAS)


def test_words_will_do_for_kind_and_order():
    definition = QueueDefinition("Q", kind="model", order="fifo")
    assert (definition.kind, definition.order) == (Kind.MODEL, Order.FIFO)


def test_changes_are_checked_too():
    definition = QueueDefinition("Q").replace(max_depth=7)
    assert definition.max_depth == 7
    with pytest.raises(Problem, match="max_depth from 1"):
        definition.replace(max_depth=-7)
    with pytest.raises(Problem, match="no attribute 'depth'"):
        definition.replace(depth=3)
