"""Values that Python has no type for are subclasses of what they are like."""

import pytest

from amqp.known_bytes import SHORTEST
from heliograph.amqp.codec.values import Composite, Symbol, Timestamp, UInt


def test_a_value_equals_what_it_is_like():
    assert UInt(5) == 5
    assert Symbol("queue") == "queue"
    assert {Symbol("queue"): 1}["queue"] == 1
    assert Timestamp(1) + 1 == 2


@pytest.mark.parametrize(
    "value", [value for value, _ in SHORTEST if isinstance(value, int | str | bytes | float)], ids=repr
)
def test_a_value_costs_no_dictionary(value):
    assert not hasattr(value, "__dict__")


def test_only_declared_composites_have_bytes():
    with pytest.raises(TypeError, match="not declared"):
        Composite().encoded()
