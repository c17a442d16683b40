"""The table of functions, and those that are neither of numbers, texts nor datetimes."""

import inspect
import uuid
from typing import Any

import pytest

from heliograph.flow.errors import ConversionError, ExpressionError
from heliograph.flow.language.values.functions import ANY_NUMBER, CURRENT, FUNCTIONS, Function

NAMES = """
ABS ABSVAL ACOS ASIN ATAN ATAN2 BITAND BITNOT BITOR BITXOR CEIL CEILING COS COSH COT DEGREES EXP FLOOR LN LOG LOG10 MOD
POWER RADIANS RAND ROUND SIGN SIN SINH SQRT TAN TANH TRUNCATE
CONTAINS ENDSWITH LEFT LENGTH LOWER LCASE LTRIM OVERLAY POSITION REPLACE REPLICATE RIGHT RTRIM SPACE STARTSWITH
SUBSTRING TRANSLATE TRIM UPPER UCASE EXTRACT COALESCE NULLIF UUIDASBLOB UUIDASCHAR SLEEP
"""


def call(name: str, *arguments: Any) -> Any:
    return FUNCTIONS[name].call(*arguments)


def test_every_function_is_there() -> None:
    assert set(NAMES.split()) - set(FUNCTIONS) == set()
    assert set(CURRENT) >= {"CURRENT_DATE", "CURRENT_GMTTIMESTAMP", "LOCAL_TIMEZONE"}


@pytest.mark.parametrize(("name", "function"), FUNCTIONS.items(), ids=FUNCTIONS)
def test_counts_of_arguments_are_those_of_the_callable(name: str, function: Function) -> None:
    signature = inspect.signature(function.call)
    least, most = 0, 0
    for parameter in signature.parameters.values():
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            most = ANY_NUMBER
        else:
            most += 1
            least += parameter.default is inspect.Parameter.empty
    assert function.most == most
    assert function.least == least or most == ANY_NUMBER


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in ("COALESCE", "NULLIF", "EXTRACT")])
def test_null_in_any_place_gives_null(name: str) -> None:
    function = FUNCTIONS[name]
    for count in range(max(function.least, 1), min(function.most, 4) + 1):
        for place in range(count):
            arguments: list[Any] = ["1"] * count
            arguments[place] = None
            assert function.call(*arguments) is None


def test_coalesce_is_the_first_that_is_not_null() -> None:
    assert call("COALESCE", None, None, 0, 1) == 0
    assert call("COALESCE", "", "x") == ""
    assert call("COALESCE", None) is None


@pytest.mark.parametrize(
    ("value", "other", "result"), [(1, 1, None), (1, 2, 1), ("a ", "a", None), (None, 1, None), (1, None, 1)]
)
def test_nullif(value: Any, other: Any, result: Any) -> None:
    assert call("NULLIF", value, other) == result


def test_uuids() -> None:
    text = "0a0b0c0d-0102-4304-8506-0708090a0b0c"
    data = bytes.fromhex(text.replace("-", ""))
    assert call("UUIDASBLOB", text) == data
    assert call("UUIDASCHAR", data) == text
    assert len(call("UUIDASBLOB")) == 16
    assert uuid.UUID(call("UUIDASCHAR"))
    assert call("UUIDASCHAR") != call("UUIDASCHAR")


@pytest.mark.parametrize(
    ("name", "argument"), [("UUIDASBLOB", "x"), ("UUIDASBLOB", 5), ("UUIDASCHAR", b"x"), ("UUIDASCHAR", 5)]
)
def test_what_is_no_uuid(name: str, argument: Any) -> None:
    with pytest.raises(ConversionError, match="UUID"):
        call(name, argument)


def test_sleep() -> None:
    assert call("SLEEP", 0) == 0
    with pytest.raises(ExpressionError):
        call("SLEEP", -1)
    with pytest.raises(ExpressionError):
        call("SLEEP", "1")
