"""Filters of a source: what is understood, what is repeated, and what is a mistake."""

import pytest

from heliograph.amqp import Described
from heliograph.amqp.messages.message import Message, Value, encode_message
from heliograph.broker.amqp.filters import NO_LOCAL, SELECTOR, Filters, read_filters
from heliograph.broker.errors import InvalidLink, SelectorError
from heliograph.broker.queues.message_view import MessageView

NO_FILTERS = Filters("", False, None)


@pytest.mark.parametrize("asked", [None, {}, {"other": Described("other", "x")}, {"other": 7}])
def test_without_a_filter_that_is_known_there_is_none(asked):
    assert read_filters(asked) == NO_FILTERS
    assert read_filters(asked).compiled() is None
    assert read_filters(asked).awaited is None


@pytest.mark.parametrize("descriptor", sorted(SELECTOR, key=str))
def test_a_selector_by_either_descriptor(descriptor):
    asked = {"mine": Described(descriptor, "a = 1")}
    assert read_filters(asked) == Filters("a = 1", False, asked)


@pytest.mark.parametrize("descriptor", sorted(NO_LOCAL, key=str))
def test_no_local_by_either_descriptor(descriptor):
    asked = {"mine": Described(descriptor, [])}
    assert read_filters(asked) == Filters("", True, asked)


def test_a_value_that_is_not_described_is_known_by_its_key():
    asked = {"apache.org:selector-filter:string": "a = 1"}
    assert read_filters(asked) == Filters("a = 1", False, asked)


def test_only_what_is_understood_is_repeated():
    known = {
        "s": Described("apache.org:selector-filter:string", "a"),
        "n": Described("apache.org:no-local-filter:list", []),
    }
    found = read_filters({**known, "x": Described("other", 1), "y": Described(1.5, 1)})
    assert found == Filters("a", True, known)


@pytest.mark.parametrize("value", [7, None, b"a = 1"])
def test_a_selector_is_a_string(value):
    with pytest.raises(InvalidLink, match="expected a string as selector, found"):
        read_filters({"s": Described("apache.org:selector-filter:string", value)})


@pytest.mark.parametrize(
    ("selector", "awaited"),
    [
        ("JMSCorrelationID = 'c1'", "c1"),
        ("(JMSCorrelationID = 'c1')", "c1"),
        ("JMSCorrelationID = 'ID:c1'", None),
        ("'c1' = JMSCorrelationID", None),
        ("JMSCorrelationID <> 'c1'", None),
        ("JMSCorrelationID = 7", None),
        ("JMSCorrelationID = 'c1' AND a = 1", None),
        ("other = 'c1'", None),
    ],
)
def test_who_asks_for_just_one_correlation_id_waits_for_it(selector, awaited):
    assert Filters(selector, False, None).awaited == awaited


def test_a_selector_is_compiled():
    matches = Filters("JMSType = 's'", False, None).compiled()
    assert matches(MessageView(encode_message(Message(Value("x"), subject="s"))))
    assert not matches(MessageView(encode_message(Message(Value("x"), subject="t"))))


def test_what_cannot_be_understood_is_a_mistake():
    with pytest.raises(SelectorError):
        Filters("a =", False, None).compiled()
