"""Parts: read as far as somebody looks, written if they changed, copied without being read."""

import pickle
from collections.abc import Iterator

import pytest

from heliograph.flow.language import dump_tree
from heliograph.flow.tree import Element, Part, Step, Text


class Words:
    """A format for these tests: `name=value` words; counts how many it has read and how often it has written."""

    domain = "WORDS"

    def __init__(self) -> None:
        self.read_words = 0
        self.written = 0

    def read(self, part: Part, data: bytes) -> Iterator[None]:
        part.loaded = []
        for word in data.decode().split():
            if word == "!":
                raise ValueError("bad word")
            name, _, value = word.partition("=")
            element = Element(name, value)
            element.parent = part
            part.loaded.append(element)
            self.read_words += 1
            yield
        part.pending = None

    def write(self, part: Part) -> bytes:
        self.written += 1
        return " ".join(f"{child.name}={child.value}" for child in part.children).encode()


def words(count: int) -> bytes:
    return b" ".join(b"w%d=%d" % (number, number) for number in range(count))


def test_looking_for_an_early_field_does_not_read_the_rest() -> None:
    known = Words()
    part = Part(known, words(1000))
    assert part.first("w3") is part.match_first(Step("w3"))
    assert known.read_words == 4


def test_looking_for_the_nth_of_a_name_reads_until_it_is_there() -> None:
    known = Words()
    part = Part(known, b"a=1 b=2 a=3 b=4 a=5 a=6")
    assert part.nth("a", 2) is not None
    assert known.read_words == 3


def test_looking_for_something_that_is_not_there_reads_everything_once() -> None:
    known = Words()
    part = Part(known, words(100))
    assert part.first("none") is None
    assert part.nth("none", 2) is None
    assert known.read_words == 100


def test_step_to_the_next_sibling_reads_just_that() -> None:
    known = Words()
    first = Part(known, words(100)).first("w0")
    assert first is not None
    second = first.next_sibling()
    assert second is not None
    assert second.name == "w1"
    assert known.read_words == 2


def test_untouched_part_gives_the_bytes_that_came() -> None:
    known = Words()
    part = Part(known, b"a=1   b=2")
    _ = part.children
    assert part.bytes() == b"a=1   b=2"
    assert known.written == 0


def test_changed_part_is_written_once_until_it_changes_again() -> None:
    known = Words()
    part = Part(known, b"a=1   b=2")
    part.children[0].set_value(7)
    assert part.bytes() == part.bytes() == b"a=7 b=2"
    assert known.written == 1
    part.children[0].set_value(8)
    assert part.bytes() == b"a=8 b=2"


@pytest.mark.parametrize(
    "change",
    [
        lambda part: part.append(Element("x", 1)),
        lambda part: part.insert(0, Element("x", 1)),
        lambda part: part.children[0].delete(),
        lambda part: part.children[0].set_name("z"),
        lambda part: part.clear(),
        lambda part: part.ensure("new"),
    ],
    ids=["append", "insert", "delete", "rename", "clear", "ensure"],
)
def test_any_change_makes_the_bytes_out_of_date(change: object) -> None:
    part = Part(Words(), b"a=1   b=2")
    change(part)  # type: ignore[operator]
    assert part.bytes() != b"a=1   b=2"


def test_bytes_that_cannot_be_read_raise_every_time_and_are_still_handed_on() -> None:
    part = Part(Words(), b"a=1 ! b=2")
    assert part.first("a") is not None
    for _ in range(2):
        with pytest.raises(ValueError, match="bad word"):
            part.first("b")
    assert part.bytes() == b"a=1 ! b=2"


def test_copy_of_an_unread_part_reads_nothing() -> None:
    known = Words()
    copy = Part(known, words(10)).copy()
    assert copy.bytes() == words(10)
    assert known.read_words == 0


def test_copy_of_a_read_part_does_not_read_the_bytes_again() -> None:
    known = Words()
    part = Part(known, words(10))
    _ = part.children
    assert len(part.copy().children) == 10
    assert known.read_words == 10


def test_copy_of_a_changed_part_copies_nothing_before_it_is_looked_into() -> None:
    known = Words()
    part = Part(known, words(10))
    part.children[0].set_value("x")
    copy = part.copy()
    assert copy.loaded is None
    assert copy.bytes() == part.bytes()
    assert known.written == 1
    assert copy.loaded is None


@pytest.mark.parametrize("changed_before", [False, True])
def test_copy_does_not_see_later_changes_of_the_original(changed_before: bool) -> None:
    part = Part(Words(), b"a=1 b=2")
    a = part.children[0]
    if changed_before:
        a.set_value("x")
    copy, copy_of_copy = part.copy(), part.copy().copy()
    a.set_value("later")
    part.append(Element("c", 3))
    expected = b"a=x b=2" if changed_before else b"a=1 b=2"
    assert copy.bytes() == expected
    assert [child.value for child in copy_of_copy.children] == ["x" if changed_before else "1", "2"]


@pytest.mark.parametrize("changed_before", [False, True])
def test_original_does_not_see_changes_of_the_copy(changed_before: bool) -> None:
    part = Part(Words(), b"a=1 b=2")
    if changed_before:
        part.children[0].set_value("1")
    copy = part.copy()
    copy.ensure("a").set_value("mine")
    assert copy.bytes() == b"a=mine b=2"
    assert part.bytes() == b"a=1 b=2"


def test_copy_keeps_the_types_of_values_even_if_the_original_was_written() -> None:
    part = Part(Words())
    part.append(Element("a", 5))
    assert part.bytes() == b"a=5"
    assert part.copy().children[0].value == 5


def test_part_takes_the_content_of_one_like_it_without_reading() -> None:
    known = Words()
    target = Part(known, b"old=1")
    target.take_content(Part(known, words(10)))
    assert known.read_words == 0
    assert target.bytes() == words(10)
    assert len(target.children) == 10


def test_part_can_take_its_own_content_and_that_of_its_copy() -> None:
    part = Part(Words(), b"a=1")
    part.children[0].set_value("x")
    part.take_content(part)
    assert part.bytes() == b"a=x"
    part.take_content(part.copy())
    assert part.bytes() == b"a=x"
    assert part.children[0].value == "x"


def test_part_that_becomes_another_format_keeps_its_elements() -> None:
    part = Part(Words(), b"a=1   b=2")
    part.become(Words(), Text(ccsid=37))
    assert part.bytes() == b"a=1 b=2"
    assert part.text.ccsid == 37


def test_elements_can_be_pickled() -> None:
    root = Element("root")
    root.append(Element("a", 1))
    again = pickle.loads(pickle.dumps(root))
    assert dump_tree(again) == dump_tree(root)
    assert again.children[0].parent is again
