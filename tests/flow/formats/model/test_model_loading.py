"""Model files: what they say, and what is said of mistakes in them."""

import pickle
from decimal import Decimal
from pathlib import Path

import pytest

from heliograph.errors import Problem
from heliograph.flow.formats.model import Field, Group, ModelProblem, Models, Occurs, Order, Reference, Type, reference
from heliograph.flow.tree import Text

ORDER = """
formats:
  CWF1: {kind: CWF}
  CWF2: {kind: CWF, byteOrder: bigEndian}
types:
  Address:
    sequence:
      - {name: Street, type: string, physical: {length: 30}, CWF2: {length: 40}}
messages:
  Order:
    sequence:
      - {name: Number, type: integer, default: 7, CWF1: {length: 4}, CWF2: {length: 8}}
      - {name: Home, type: Address}
      - name: Item
        occurs: 0..20
        sequence:
          - {name: Price, type: decimal, values: [1.50, 2], nillable: true, physical: {length: 4}}
      - choice:
          - {name: A, type: string, physical: {length: 1}}
          - {name: B, type: binary, default: 00ff, physical: {length: 2}}
"""


def loaded(text: str) -> Models:
    return Models({"m.model.yaml": text})


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


def test_what_is_the_only_one_need_not_be_named() -> None:
    message, form = loaded(ORDER).find(Text(message_format="CWF2"))
    assert (message.name, form.name) == ("Order", "CWF2")
    with pytest.raises(Problem, match="do not name a physical format; model m has CWF1, CWF2"):
        loaded(ORDER).find(Text())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (Text(message_set="x"), "has no model x; it has m"),
        (Text(message_type="x"), "model m has no message x; it has Order"),
        (Text(message_format="x"), "model m has no physical format x; it has CWF1, CWF2"),
    ],
)
def test_names_that_nobody_knows_are_refused(text: Text, said: str) -> None:
    with pytest.raises(Problem, match=said):
        loaded(ORDER).format(text)


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


def test_a_folder_is_loaded_and_imported_files_are_no_models_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "a.model.yaml").write_text("import: [{file: b.cpy, format: COBOL}]")
    (tmp_path / "b.cpy").write_text("       01  REC.\n           05  A PIC X.\n")
    (tmp_path / "c.cpy").write_text("       01  REC.\n           05  A PIC X.\n")
    (tmp_path / "notes.txt").write_text("no model")
    models = Models.load(tmp_path)
    assert sorted(models.models) == ["a", "c"]
    assert list(models.models["a"].formats) == ["COBOL"]
    assert Models.load(tmp_path / "missing").models == {}


def test_models_are_pickled_as_their_sources() -> None:
    models = loaded(ORDER)
    _ = models.format(Text(message_format="CWF1"))
    again = pickle.loads(pickle.dumps(models))
    assert again.sources == models.sources
    assert again.models == models.models


def test_the_generated_source_can_be_read() -> None:
    source = loaded(ORDER).codec(Text(message_format="CWF1")).source
    assert "def read(part, data):" in source
    assert "def write(part):" in source


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{../n}", Reference(0, ("n",))),
        ("{../../g/n}", Reference(1, ("g", "n"))),
        ("{/g/n}", Reference(None, ("g", "n"))),
        ("{n}", None),
        ("5", None),
        (5, None),
    ],
)
def test_references(text: object, expected: Reference | None) -> None:
    assert reference(text) == expected


SEVERAL = """
formats:
  C: {kind: CWF}
  X: {kind: XML}
messages:
  M:
    sequence:
      - {name: Open, type: boolean, physical: {representation: text, length: 1, textBooleanTrueRep: Y, maxLength: 9}}
"""


def test_a_property_for_all_formats_holds_for_those_that_know_it() -> None:
    field = loaded(SEVERAL).find(Text(message_format="C"))[0].content.members[0]
    assert field.physical["C"] == {"representation": "text", "length": 1, "textBooleanTrueRep": "Y"}
    assert field.physical["X"] == {"maxLength": 9}


def test_a_property_for_all_formats_is_known_to_one_of_them() -> None:
    with pytest.raises(
        ModelProblem, match=r"m\.model\.yaml:8:\d+: no format of the model knows property maxLen; known"
    ):
        loaded(SEVERAL.replace("maxLength", "maxLen"))
