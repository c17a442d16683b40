"""Objects whose attributes are declared once: read, checked, compared and written."""

import tomllib
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import pytest

from heliograph.objects.attributes import About, Effect, Mistake, Range, attributes_by_key, check_object
from heliograph.objects.differences import Difference, differences
from heliograph.objects.errors import InvalidObject
from heliograph.objects.object_tables import TableReader, object_to_values, read_object
from heliograph.objects.reference import attribute_table, with_tables
from heliograph.objects.toml import toml_document


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


def short(text: str) -> str:
    return "" if len(text) < 10 else "expected a short text, found a long one"


@dataclass(frozen=True, slots=True)
class Lamp:
    """A kind of object, as the rest of the program would declare it."""

    name: Annotated[str, About("Name of the `lamp`.", check=short, effect=Effect.NEVER)]
    colour: Annotated[Colour, About("Colour of its light.")] = Colour.RED
    after: Annotated[float, About("Time until it is on.", unit="seconds", range=Range(0, 60))] = 1.5
    places: Annotated[tuple[str, ...], About("Where it is.", key="place")] = ()
    power: Annotated[int, About("What it takes.", range=Range(1), effect=Effect.RESTART)] = 40

    def __post_init__(self) -> None:
        check_object(self, self._broken_rules(), f"lamp {self.name}")

    def _broken_rules(self) -> list[Mistake]:
        wrong = self.colour == Colour.BLUE and self.power > 100
        return [("power", f"expected at most 100 for a blue lamp, found {self.power}")] if wrong else []


@dataclass(frozen=True, slots=True)
class House:
    door: Annotated[Path | None, About("A file.", default="none")] = None
    lamps: Annotated[tuple[Lamp, ...], About("Its lamps.", key="lamp", effect=Effect.RESTART)] = ()
    main: Annotated[Lamp, About("The lamp outside.")] = field(default_factory=lambda: Lamp("outside"))


def mistakes(table: dict[Any, Any]) -> list[Mistake]:
    with pytest.raises(InvalidObject) as caught:
        read_object(Lamp, table)
    return list(caught.value.mistakes)


def test_an_object_is_read_from_a_table_and_the_rest_has_defaults() -> None:
    lamp = read_object(Lamp, {"name": "hall", "colour": "blue", "after": 2, "place": ["a", "b"]})
    assert lamp == Lamp("hall", Colour.BLUE, 2.0, ("a", "b"), 40)
    assert isinstance(lamp.colour, Colour)
    assert isinstance(lamp.after, float)


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ({"colour": "green"}, ("colour", 'expected one of "red", "blue", found "green"')),
        ({"after": 61}, ("after", "expected a number from 0 to 60, found 61")),
        ({"after": float("nan")}, ("after", "expected a number from 0 to 60, found nan")),
        ({"after": True}, ("after", "expected a number from 0 to 60, found true")),
        ({"power": 10**400}, ("power", "expected an integer at least 1, found a number with too many digits to show")),
        ({"place": "a"}, ("place", 'expected an array of strings, found "a"')),
        ({"place": ["a", 1]}, ("place", "expected an array of strings, found an array")),
        ({"name": "a long name"}, ("name", "expected a short text, found a long one")),
        ({"powr": 1}, ("powr", "unknown key; did you mean power?")),
        ({"xyz": 1}, ("xyz", "unknown key; expected one of name, colour, after, place, power")),
        ({1: 1}, ("1", "unknown key; expected one of name, colour, after, place, power")),
        ({"colour": "blue", "power": 101}, ("power", "expected at most 100 for a blue lamp, found 101")),
    ],
)
def test_a_mistake_names_the_key_what_was_expected_and_what_was_found(values: dict[Any, Any], found: Mistake) -> None:
    assert mistakes({"name": "hall", **values}) == [found]


def test_all_mistakes_are_told_at_once() -> None:
    assert [key for key, _ in mistakes({"colour": 1, "after": -1, "x": 1})] == ["x", "colour", "after", "name"]


def test_what_has_no_default_is_needed() -> None:
    assert mistakes({}) == [("name", "expected a string, found none")]


def test_a_key_that_somebody_sends_is_shown_in_part_only() -> None:
    ((key, _),) = mistakes({"name": "hall", "k" * 100_000: 1})
    assert len(key) < 100


def test_of_many_unknown_keys_some_are_told_and_the_others_counted() -> None:
    found = mistakes({"name": "hall", **{f"x{number}": 1 for number in range(100_000)}})
    assert len(found) == 11
    assert found[-1] == ("x10", "unknown key, as are 99989 more")


def test_an_object_that_a_program_makes_is_checked_too() -> None:
    with pytest.raises(InvalidObject, match="lamp hall, power: expected an integer at least 1, found 0"):
        Lamp("hall", power=0)
    with pytest.raises(InvalidObject, match="lamp hall, power: expected at most 100 for a blue lamp"):
        replace(Lamp("hall", power=101), colour=Colour.BLUE)


def test_objects_within_an_object_are_named_by_their_place(tmp_path: Path) -> None:
    reader = TableReader(tmp_path)
    assert reader.read(House, {"lamp": [{"name": "a"}, {"name": "b", "power": 0}], "main": {"name": 1}}) is None
    assert [key for key, _ in reader.mistakes] == ["lamp[2].power", "main.name"]


def test_a_file_has_to_be_there_and_without_a_folder_there_are_none(tmp_path: Path) -> None:
    (tmp_path / "key").touch()
    assert TableReader(tmp_path).read(House, {"door": "key"}) == House(tmp_path / "key")
    reader = TableReader()
    assert reader.read(House, {"door": str(tmp_path / "key")}) is None
    assert reader.mistakes == [("door", f'expected no file here, found "{tmp_path / "key"}"')]


def test_values_for_json_make_an_equal_object() -> None:
    house = House(lamps=(Lamp("a", Colour.BLUE, 2.0, ("x",)),))
    values = object_to_values(house)
    assert values["lamp"] == [{"name": "a", "colour": "blue", "after": 2, "place": ["x"], "power": 40}]
    assert read_object(House, values) == house


def test_a_toml_file_explains_keys_and_makes_an_equal_object() -> None:
    house = House(lamps=(Lamp("a"), Lamp("b")))
    text = toml_document(house)
    assert read_object(House, tomllib.loads(text)) == house
    assert text.count("# Name of the lamp\n") == 2  # once for the array, once for the table
    assert "# Time until it is on; in seconds, from 0 to 60\nafter = 1.5\n" in text


def test_differences_say_when_they_count() -> None:
    old = House(lamps=(Lamp("a"), Lamp("b")))
    new = replace(old, lamps=(Lamp("a", power=60), Lamp("b", after=3.0)))
    assert list(differences(old, old)) == []
    assert list(differences(old, new)) == [
        Difference("lamp[1].power", 40, 60, Effect.RESTART),
        Difference("lamp[2].after", 1.5, 3.0, Effect.RELOAD),
    ]


def test_another_number_of_objects_is_a_difference_of_the_array() -> None:
    old, new = House(lamps=(Lamp("a"),)), House()
    assert [(one.key, one.effect) for one in differences(old, new)] == [("lamp", Effect.RESTART)]


def test_the_reference_has_a_line_for_each_attribute() -> None:
    lines = attribute_table(Lamp).splitlines()
    assert lines[2] == "| `name` | text | none (needed) | never | Name of the `lamp`. |"
    assert lines[4] == "| `after` | number from 0 to 60, in seconds | `1.5` | reload | Time until it is on. |"
    assert len(lines) == 2 + len(attributes_by_key(Lamp))


def test_tables_are_written_between_their_marks_and_nothing_else_changes() -> None:
    text = "before\n<!-- table: a -->\nold\n<!-- end of table -->\nafter\n"
    once = with_tables(text, lambda name: f"table {name}")
    assert once == "before\n<!-- table: a -->\n\ntable a\n\n<!-- end of table -->\nafter\n"
    assert with_tables(once, lambda name: f"table {name}") == once
