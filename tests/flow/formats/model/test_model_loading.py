"""Model files: what they say, and what is said of mistakes in them."""

from decimal import Decimal

import pytest

from flow.formats.model.order_model import ORDER, loaded
from heliograph.flow.errors import ModelProblem
from heliograph.flow.formats.model import Field, Group, Occurs, Order, Type
from heliograph.flow.tree import Text


def test_a_message_is_what_the_file_says() -> None:
    content = loaded(ORDER).find(Text(message_format="CWF1"))[0].content
    number, home, item, choice = content.members
    assert isinstance(number, Field)
    assert (number.name, number.type, number.default, number.place.line) == ("Number", Type.INTEGER, 7, 12)
    assert isinstance(home, Group)
    street = home.members[0]
    assert (street.physical["CWF1"], street.physical["CWF2"]) == ({"length": 30}, {"length": 40})
    assert item.occurs == Occurs(0, 20)
    assert isinstance(item, Group)
    price = item.members[0]
    assert isinstance(price, Field)
    assert (price.values, price.nillable) == ((Decimal("1.50"), Decimal(2)), True)
    assert isinstance(choice, Group)
    assert (choice.name, choice.order) == ("", Order.CHOICE)
    assert [field.name for field in content.fields()] == ["Number", "Street", "Price", "A", "B"]


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("kind: CWF}", "kind: FWC}", 3, "unknown kind of format FWC"),
        ("{kind: CWF}", "{}", 3, "format CWF1: expected a kind"),
        ("byteOrder: bigEndian", "byteOrder: bytes", 4, "byteOrder: expected one of bigEndian, littleEndian"),
        ("byteOrder: bigEndian", "byteorder: bigEndian", 4, "unknown property byteorder"),
        ("type: Address", "type: Adress", 13, "unknown type Adress"),
        ("type: integer, default: 7", "type: integer, default: x", 12, "expected a value of type integer, found 'x'"),
        ("occurs: 0..20", "occurs: some", 15, "occurs: expected N, N..M or N..*, found some"),
        ("occurs: 0..20", "occurs: 3..2", 15, "occurs: expected 0 <= N <= M, found 3..2"),
        ("nillable: true", "nillable: maybe", 17, "expected true or false, found 'maybe'"),
        ("CWF1: {length: 4}", "CWF9: {length: 4}", 12, "unknown key CWF9"),
        ("CWF1: {length: 4}", "CWF1: {length: four}", 12, "length: expected an integer or {../NAME}, found 'four'"),
        ("        sequence:\n", "", 16, ""),
        ("name: Number, ", "", 12, "a field needs a name"),
        ("  CWF1: {kind", "  name: {kind", 3, "a format cannot be called name"),
        ("name: Number, ", "name: Number, name: N, ", 12, "name is there twice"),
    ],
)
def test_mistakes_are_said_with_file_and_line(old: str, new: str, line: int, said: str) -> None:
    assert old in ORDER
    with pytest.raises(ModelProblem) as problem:
        loaded(ORDER.replace(old, new, 1))
    assert str(problem.value).startswith(f"m.model.yaml:{line}:")
    assert said in str(problem.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "m.model.yaml:1: this file is empty"),
        ("formats: {}", "m.model.yaml:1:1: expected messages, found none"),
        ("import: [{file: other.cpy}]", "m.model.yaml:1:10: expected a file beside this one, found 'other.cpy'"),
        ("types: {T: {sequence: [{name: A, type: T}]}}\nmessages: {M: {type: T}}", "type T contains itself"),
    ],
)
def test_files_without_messages_are_refused(text: str, said: str) -> None:
    with pytest.raises(ModelProblem, match=said.replace(".", r"\.")):
        loaded(text)
