"""The words of a selector: what each is, what it stands for, and where it was found."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.broker.errors import SelectorError
from heliograph.broker.queues.selectors.tokens import KEYWORDS, LONGEST, error_at, tokens


def words(text):
    return [(token.kind, token.value) for token in tokens(text)[:-1]]


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("7", "number", 7),
        ("007", "number", 7),
        ("0x1F", "number", 31),
        ("017L", "number", 15),
        ("9223372036854775808", "number", 2**63),
        ("1.5e2f", "number", 150.0),
        (".5D", "number", 0.5),
        ("1E1", "number", 10.0),
        ("''", "string", ""),
        ("'it''s'", "string", "it's"),
        ('"a ""b"""', "name", 'a "b"'),
        ("$a.b_1", "name", "$a.b_1"),
        ("größe", "name", "größe"),
        ("<>", "<>", "<>"),
    ],
)
def test_a_word(text, kind, value):
    assert words(text) == [(kind, value)]
    assert type(tokens(text)[0].value) is type(value)


@pytest.mark.parametrize("keyword", sorted(KEYWORDS))
def test_keywords_have_no_case_but_keep_their_text(keyword):
    first, end = tokens(keyword.lower())
    assert (first.kind, first.text, end.kind) == (keyword, keyword.lower(), "end")
    assert words(f'"{keyword}"') == [("name", keyword)]


def test_words_need_no_space_between_them():
    assert [kind for kind, _ in words("a>=1AND(b<>'x')")] == [
        "name", ">=", "number", "AND", "(", "name", "<>", "string", ")",
    ]  # fmt: skip


@given(st.lists(st.sampled_from(["a", "NOT", "17", "1.5", "'x y'", '"q"', "<=", "(", "*"]), max_size=20), st.data())
def test_each_word_knows_its_place(parts, data):
    text, places = "", []
    for part in parts:
        text += data.draw(st.sampled_from([" ", "\t", "\n  "]))
        places.append(len(text))
        text += part
    found = tokens(text)
    assert [(token.at, token.text) for token in found[:-1]] == list(zip(places, parts, strict=True))
    assert (found[-1].kind, found[-1].at) == ("end", len(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = 'x", "character 5: expected a closing ', found the end"),
        (' "x', 'character 2: expected a closing ", found the end'),
        ("a ; b", "character 3: expected a name, a value or an operator, found ';'"),
        ('""', "character 1: expected a name between the double quotes, found nothing"),
        ("08", "character 1: expected an octal number, as it begins with 0, found 08"),
        ("9223372036854775809", "character 1: expected a number of at most 64 bits"),
        ("9" * 5000, "character 1: expected a number of at most 64 bits"),
        ("1e999", "character 1: expected a number of at most 1.8e308, found 1e999"),
    ],
)
def test_what_is_no_word(text, expected):
    with pytest.raises(SelectorError, match=r"^selector, ") as caught:
        tokens(text)
    assert expected in str(caught.value)


def test_length_is_limited():
    assert len(tokens("a" * LONGEST)) == 2
    with pytest.raises(SelectorError, match=f"at most {LONGEST} characters, found {LONGEST + 1}"):
        tokens("a" * (LONGEST + 1))


def test_places_are_counted_from_one():
    assert str(error_at(0, "a", "b")) == "selector, character 1: expected a, found b"
