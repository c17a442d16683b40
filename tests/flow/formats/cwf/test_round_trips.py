"""Whatever values a structure can hold come back from its bytes, and its bytes from its values."""

from datetime import date
from decimal import Decimal
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flow.formats.cwf.structures import BIG, LITTLE, S390, model_of, parsed, values_of, written, written_again
from heliograph.flow.errors import FormatProblem

TEXTS = [(1208, BIG), (1208, LITTLE), (819, BIG), (500, S390), (37, BIG), (1140, LITTLE), (1200, LITTLE), (1200, BIG)]
ZONED_TEXTS = [pair for pair in TEXTS if pair[0] != 1200]
letters = st.text(st.sampled_from("abcXYZ019 -.<é"), max_size=5).map(lambda text: text.rstrip(" "))
dates = st.dates(date(1, 1, 1), date(9999, 12, 31))


class Sample(NamedTuple):
    """A field, and what it can hold."""

    kind: str
    properties: str
    values: st.SearchStrategy[Any]


def scaled(digits: int, scale: int) -> st.SearchStrategy[Decimal]:
    largest = 10**digits - 1
    return st.integers(-largest, largest).map(lambda number: Decimal(number).scaleb(-scale))


def whole(size: int) -> st.SearchStrategy[int]:
    return st.integers(-(1 << 8 * size - 1), (1 << 8 * size - 1) - 1)


ZONED = "representation: text, textNumberRep: zoned"
ANY_TEXT = {
    "string": Sample("string", "length: 20", letters),
    "string with a length": Sample("string", "lengthKind: prefixed, prefixLength: 2", letters),
    "string with a NUL": Sample("string", "lengthKind: delimited", letters),
    "integer 1": Sample("integer", "length: 1", whole(1)),
    "integer 2": Sample("integer", "length: 2", whole(2)),
    "integer 4": Sample("integer", "length: 4", whole(4)),
    "integer 8": Sample("integer", "length: 8", whole(8)),
    "unsigned 8": Sample("integer", "length: 8, decimalSigned: false", st.integers(0, (1 << 64) - 1)),
    "binary decimal": Sample("decimal", "length: 8, virtualDecimalPoint: 3", scaled(18, 3)),
    "packed": Sample("decimal", "length: 6, binaryNumberRep: packed, virtualDecimalPoint: 2", scaled(11, 2)),
    "long packed": Sample("integer", "length: 16, binaryNumberRep: packed", st.integers(1 - 10**31, 10**31 - 1)),
    "bcd": Sample("integer", "length: 3, binaryNumberRep: bcd", st.integers(0, 999_999)),
    "float 8": Sample("float", "length: 8, binaryFloatRep: ieee", st.floats(allow_nan=False)),
    "float 4": Sample("float", "length: 4, binaryFloatRep: ieee", st.floats(width=32, allow_nan=False)),
    "boolean": Sample("boolean", "length: 1", st.booleans()),
    "bytes": Sample("binary", "length: 4", st.binary(min_size=4, max_size=4)),
    "number in text": Sample("integer", "length: 24, representation: text", whole(4)),
    "date": Sample("date", "calendarPattern: yyyy-MM-dd", dates),
    "packed date": Sample("date", "binaryCalendarRep: packed", dates),
    "time": Sample("time", "calendarPattern: 'HHmmss'", st.times().map(lambda value: value.replace(microsecond=0))),
    "dateTime": Sample("dateTime", "calendarPattern: yyyyMMddHHmmssSSSSSS", st.datetimes()),
    "packed dateTime": Sample(
        "dateTime", "binaryCalendarRep: bcd, calendarPattern: yyyyMMddHHmmssSSSSSS", st.datetimes()
    ),
    "milliseconds": Sample(
        "dateTime",
        "binaryCalendarRep: binaryMilliseconds",
        st.datetimes().map(lambda value: value.replace(microsecond=value.microsecond // 1000 * 1000)),
    ),
}
SINGLE_BYTE = {
    f"zoned, sign {sign}": Sample(
        "decimal", f"length: 8, virtualDecimalPoint: 2, signOrientation: {sign}, {ZONED}", scaled(7, 2)
    )
    for sign in ("leading", "leadingSeparate", "trailing", "trailingSeparate")
} | {
    "zoned with EBCDIC's signs": Sample(
        "integer", f"length: 6, textZonedSignStyle: asciiTranslatedEBCDIC, {ZONED}", st.integers(-99999, 99999)
    ),
    "zoned without a sign": Sample("integer", f"length: 4, decimalSigned: false, {ZONED}", st.integers(0, 9999)),
}


def members(samples: dict[str, Sample]) -> str:
    lines = []
    for number, sample in enumerate(samples.values()):
        lines.append(f"- {{name: F{number}, type: {sample.kind}, CWF1: {{{sample.properties}}}}}")
    return "\n".join(lines)


def check(samples: dict[str, Sample], values: dict[str, Any], ccsid: int, encoding: int) -> None:
    models = MODELS[id(samples)]
    data = written(models, values, ccsid, encoding)
    found = values_of(parsed(models, data, ccsid, encoding))
    assert found == values
    assert {name: type(value) for name, value in found.items()} == {name: type(values[name]) for name in values}
    assert written_again(models, data, ccsid, encoding) == data
    assert parsed(models, data, ccsid, encoding).bytes() is data


MODELS = {id(samples): model_of(members(samples)) for samples in (ANY_TEXT, SINGLE_BYTE)}


def drawn(samples: dict[str, Sample]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({f"F{number}": sample.values for number, sample in enumerate(samples.values())})


@pytest.mark.parametrize(("ccsid", "encoding"), TEXTS)
@settings(max_examples=15, deadline=None)
@given(values=drawn(ANY_TEXT))
def test_values_come_back(ccsid: int, encoding: int, values: dict[str, Any]) -> None:
    check(ANY_TEXT, values, ccsid, encoding)


@pytest.mark.parametrize(("ccsid", "encoding"), ZONED_TEXTS)
@settings(max_examples=15, deadline=None)
@given(values=drawn(SINGLE_BYTE))
def test_zoned_values_come_back(ccsid: int, encoding: int, values: dict[str, Any]) -> None:
    check(SINGLE_BYTE, values, ccsid, encoding)


NESTED = model_of(
    """
- {name: N, type: integer, CWF1: {length: 2}}
- name: Row
  occurs: 0..20
  CWF1: {occursCount: "{../N}"}
  sequence:
    - {name: M, type: integer, CWF1: {length: 1}}
    - {name: Cell, type: string, occurs: 0..9, CWF1: {lengthKind: prefixed, prefixLength: 1, occursCount: "{../M}"}}
    - {name: Id, type: integer, CWF1: {length: 4, alignment: 4}}
- {name: Rest, type: binary, CWF1: {lengthKind: endOfParent}}
"""
)
rows = st.lists(
    st.tuples(st.lists(letters, max_size=9), whole(4)).map(
        lambda row: {"M": len(row[0]), "Cell": row[0], "Id": row[1]}
    ),
    max_size=20,
)


@settings(max_examples=40, deadline=None)
@given(rows=rows, rest=st.binary(max_size=9), encoding=st.sampled_from([BIG, LITTLE]))
def test_nested_tables_come_back(rows: list[dict[str, Any]], rest: bytes, encoding: int) -> None:
    data = written(NESTED, {"N": len(rows), "Row": rows, "Rest": rest}, encoding=encoding)
    part = parsed(NESTED, data, encoding=encoding)
    found = [
        {"M": len(row.all("Cell")), "Cell": [cell.value for cell in row.all("Cell")], "Id": row.children[-1].value}
        for row in part.all("Row")
    ]
    assert found == rows
    assert part.children[-1].value == rest
    assert written_again(NESTED, data, encoding=encoding) == data


@settings(max_examples=50, deadline=None)
@given(data=st.binary(max_size=40))
def test_any_bytes_are_read_or_refused_with_a_place(data: bytes) -> None:

    part = parsed(NESTED, data)
    problem = None
    try:
        values_of(part)
    except FormatProblem as found:
        problem = found
    assert problem is None or problem.offset is not None
