"""What generated readers and writers of TDS call: protected delimiters, and errors with their place."""

from collections.abc import Callable

import pytest

from flow.formats.modelled import Modelled, plain
from flow.formats.tds.one_field import one_field
from heliograph.flow.errors import FormatProblem
from heliograph.flow.formats.tds.generated_support import ErrorReports, choose, text_protector, text_taker
from heliograph.flow.tree import Element


class TestProtection:
    ESCAPED = one_field("type: string", "separator: ';', escapeCharacter: '!'")
    QUOTED = one_field("type: string", "separator: ';', quoteCharacter: '\"', reservedCharacters: '#'")

    @pytest.mark.parametrize(
        ("model", "value", "text"),
        [
            (ESCAPED, "a;b!c", "a!;b!!c"),
            (QUOTED, 'a;"b"', '"a;""b"""'),
            (QUOTED, "#", '"#"'),
            (QUOTED, "plain", "plain"),
        ],
        ids=["escaped", "quoted", "reserved", "nothing to protect"],
    )
    def test_keeps_delimiters_in_data(self, model: Modelled, value: str, text: str) -> None:
        data = f"a;{text};z".encode()
        assert model.write([("A", "a"), ("V", value), ("Z", "z")]) == data
        assert plain(model.read(data))[1] == ("V", value)


@pytest.mark.parametrize(
    ("stops", "quote", "escape", "text", "taken"),
    [
        ((";",), "", "", "ab;c", ("ab", 2)),
        ((";",), '"', "", '"a;b";c', ("a;b", 5)),
        ((";",), '"', "", '"a""b";c', ('a"b', 6)),
        ((";",), '"', "", '"ab', ("", -1)),
        ((";",), "", "\\", r"a\;b;c", ("a;b", 4)),
        ((";;", ";"), "", "", "a;b", ("a", 1)),
        ((), "", "", "all", ("all", 3)),
    ],
)
def test_text_is_taken_up_to_a_delimiter_that_is_no_data(
    stops: tuple[str, ...], quote: str, escape: str, text: str, taken: tuple[str, int]
) -> None:
    assert text_taker(stops, quote, escape)(text, 0, len(text)) == taken


@pytest.mark.parametrize(
    ("quote", "escape", "text", "protected"),
    [
        ('"', "", "plain", "plain"),
        ('"', "", "a;b", '"a;b"'),
        ('"', "", 'a"b', '"a""b"'),
        ("", "!", "a;b!", "a!;b!!"),
    ],
)
def test_text_with_delimiters_is_quoted_or_escaped(quote: str, escape: str, text: str, protected: str) -> None:
    assert text_protector((";",), quote, escape, "")(text) == protected


def test_without_quotes_and_escapes_delimiters_cannot_be_protected() -> None:
    protect = text_protector((";",), "", "", "_")
    for text in ("a;b", "a_b"):
        with pytest.raises(ValueError, match=text):
            protect(text)


def test_an_error_names_the_offset_in_bytes_and_the_line() -> None:
    errors = ErrorReports("TDS T of M", "utf-8", {})
    with pytest.raises(FormatProblem) as caught:
        errors.fail(Element("G"), "é\nab", 3, "a digit", "N")
    problem = caught.value
    assert (problem.offset, problem.line, problem.column, problem.path) == (4, 2, 2, "N")
    assert problem.found == "'b'"
    with pytest.raises(FormatProblem, match="found the end of data"):
        errors.fail(Element("G"), "", 0, "a digit")


def test_the_branch_that_comes_furthest_says_what_is_wrong() -> None:
    errors = ErrorReports("TDS T of M", "utf-8", {})
    parent = Element("G")
    parent.append(Element("before", 1))

    def branch(at: int) -> Callable[[Element, str, int, int], int]:
        def read(group: Element, text: str, start: int, limit: int) -> int:
            group.append(Element("part", None))
            errors.fail(group, text, at, f"something at {at}")

        return read

    with pytest.raises(FormatProblem, match="something at 2"):
        choose((branch(1), branch(2), branch(0)), parent, "abc", 0, 3)
    assert [child.name for child in parent.children] == ["before"]
    assert choose((branch(1), lambda *_: 3), parent, "abc", 0, 3) == 3
