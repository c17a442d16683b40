"""From the properties of a field to its shape."""

from typing import Any

import pytest

from flow.formats.cwf.structures import BIG, LITTLE
from heliograph.common.documents import Place
from heliograph.flow.errors import ModelProblem
from heliograph.flow.formats.cwf.cwf_shapes import (
    FilledShape,
    FloatShape,
    IntegerShape,
    Shape,
    TextNumberShape,
    TextShape,
)
from heliograph.flow.formats.cwf.shape_selection import Properties, shape_of
from heliograph.flow.formats.model import Field, PhysicalFormat, Type
from heliograph.flow.tree import Text

HERE = Place("m.model.yaml", 3, 1)


def properties(own: dict[str, Any], form: dict[str, Any] | None = None, encoding: int = BIG) -> Properties:
    return Properties("F", HERE, own, PhysicalFormat("CWF1", "CWF", HERE, form or {}), Text(encoding=encoding))


def shape(kind: Type, own: dict[str, Any], **more: Any) -> Shape:
    return shape_of(Field("F", kind, HERE), properties(own, **more))


@pytest.mark.parametrize(
    ("kind", "own", "expected"),
    [
        (Type.STRING, {"length": 4}, TextShape),
        (Type.BINARY, {"length": 4}, Shape),
        (Type.BINARY, {"length": 4, "padCharacter": "%#x00;"}, FilledShape),
        (Type.INTEGER, {"length": 4}, IntegerShape),
        (Type.INTEGER, {"length": 4, "representation": "text"}, TextNumberShape),
        (Type.INTEGER, {"length": 4, "textNumberRep": "standard"}, TextNumberShape),
        (Type.FLOAT, {"length": 8}, FloatShape),
    ],
)
def test_type_and_properties_choose_the_shape(kind: Type, own: dict[str, Any], expected: type) -> None:
    found = shape(kind, own)
    assert type(found) is expected
    assert found.size == own["length"]


def test_a_property_of_the_field_comes_before_that_of_the_format() -> None:
    known = properties({"byteOrder": "littleEndian"}, {"byteOrder": "bigEndian", "encoding": "819"})
    assert known.order(0xF, 2) == "<"
    assert known.charset.name == "iso8859-1"
    assert known.get("length", 7) == 7


def test_without_a_byte_order_the_header_says_it() -> None:
    assert properties({}, encoding=LITTLE).order(0xF, 2) == "<"
    assert properties({}, encoding=BIG).order(0xF, 2) == ">"


@pytest.mark.parametrize(
    ("kind", "own", "said"),
    [
        (Type.STRING, {"length": 4, "representation": "binary"}, "a string has representation text"),
        (Type.STRING, {"length": 4, "encoding": "nonsense"}, "encoding: .*nonsense"),
        (Type.STRING, {"length": 4, "encoding": "99999"}, "encoding: .*99999"),
        (Type.INTEGER, {}, "length"),
        (Type.INTEGER, {"length": 9}, "length"),
        (Type.FLOAT, {"length": 5}, "length"),
    ],
)
def test_what_does_not_go_together_is_a_mistake_in_the_model(kind: Type, own: dict[str, Any], said: str) -> None:
    with pytest.raises(ModelProblem, match=rf"^m\.model\.yaml:3.*F in CWF1: .*{said}"):
        shape(kind, own)
