"""Arithmetic of parameters."""

import pytest

from heliograph.errors import Problem
from heliograph.lab.scenarios.parameters import Value, evaluate, is_expression, names_in

PARAMETERS: dict[str, Value] = {"topics": 10, "fan_out": 100, "share": 0.25, "door": "main"}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${topics}", 10),
        ("${topics * fan_out}", 1000),
        ("${fan_out // 3 - -1}", 34),
        ("${topics / 4}", 2.5),
        ("${topics / 5}", 2),
        ("${max(1, topics % 4, share)}", 2),
        ("${ceil(share)}", 1),
        ("${door}", "main"),
        ("to-${door}-${topics + 1}", "to-main-11"),
        ("t{client}", "t{client}"),
        ("q${topics}{client}", "q10{client}"),
    ],
)
def test_expressions_are_worked_out(text: str, value: Value) -> None:
    result = evaluate(text, PARAMETERS.__getitem__)
    assert (result, type(result)) == (value, type(value))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("${topics.real}", "expected numbers, parameters"),
        ("${__import__('os')}", "expected numbers, parameters"),
        ("${topics ** 2}", "expected numbers, parameters"),
        ("${}", "is not arithmetic of parameters"),
        ("${topics / 0}", "divides by zero"),
        ("${door * share}", "mixes numbers and words"),
    ],
)
def test_anything_else_is_refused(text: str, message: str) -> None:
    with pytest.raises(Problem, match=message):
        evaluate(text, PARAMETERS.__getitem__)


def test_it_is_known_what_a_text_mentions() -> None:
    assert names_in("a${max(topics, 2)}b${door}") == {"topics", "door"}
    assert not is_expression("{client}")
    assert not is_expression(5)
