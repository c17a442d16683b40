"""Elements that are made while a document is read: early fields are found before the rest is looked at."""

import pytest

from flow.formats.xml.documents import part
from heliograph.flow.errors import FormatProblem


def test_early_field_is_found_without_reading_the_rest() -> None:
    top = part("<a>" + "<b>text</b>" * 10_000 + "<<<</a>").ensure("a")
    assert top.nth("b", 3) is not None
    assert len(top.loaded or ()) < 500
    with pytest.raises(FormatProblem):
        top.first("c")


def test_early_field_of_a_small_document_is_found_without_reading_the_rest() -> None:
    fields = "".join(f"<f{number}>some text</f{number}>" for number in range(30))
    top = part(f"<a><b>1</b>{fields}<broken></a>").ensure("a")
    assert top.value_of("b") == "1"
    with pytest.raises(FormatProblem):
        top.value_of("missing")


def test_early_field_is_found_without_reading_the_rest_behind_a_comment() -> None:
    top = part("<a><!--c-->" + "<b>text</b>" * 10_000 + "<<<</a>").ensure("a")
    assert top.nth("b", 3) is not None
    assert len(top.loaded or ()) < 1500


def test_value_of_an_element_that_is_not_read_yet_is_final() -> None:
    long = "x" * 10_000
    top = part(f"<a><b>{long}<c/></b></a>", "XML").children[0]
    b = top.first("b")
    assert b is not None
    assert b.value is None
    assert [child.value for child in b.children] == [long, ""]


def test_element_can_be_deleted_and_changed_while_the_rest_is_unread() -> None:
    read = part("<a>" + "<b><c>text</c></b>" * 2000 + "</a>")
    top = read.ensure("a")
    first = top.first("b")
    assert first is not None
    first.delete()
    top.set_value("v")
    assert top.count("b") == 1999
    assert top.value == "v"
