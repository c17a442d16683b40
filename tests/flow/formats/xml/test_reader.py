"""The quick reader and expat make the same elements of any document, and refuse the same documents."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.flow.errors import FormatProblem
from heliograph.flow.formats.xml import XML, XMLNS, XMLNSC, XmlFormat
from heliograph.flow.formats.xml.builder import Builder
from heliograph.flow.formats.xml.dialect import Dialect
from heliograph.flow.formats.xml.expat_reader import decode, read_with_expat
from heliograph.flow.language import dump_tree
from heliograph.flow.language.values.types import character, schema_text
from heliograph.flow.tree import Element, Part, Text

FORMATS = st.sampled_from([XML, XMLNS, XMLNSC])
NAMES = st.sampled_from(["a", "b", "c", "long-name.1", "_x", "p:a", "q:b", "é", "a:b:c", ":a"])
SOUND_NAMES = st.sampled_from(["a", "b", "c", "long-name.1", "_x"])
TEXTS = st.one_of(
    st.sampled_from(
        ["", " ", "\n  ", "text", "&lt;", "&amp;x", "&#65;", "&#x1F600;", "a > b", "]]", "é\u2028", "\xa0"]
    ),
    st.text(alphabet="ab \n\t\r>'\"]é\u3042", max_size=12),
)
ASIDES = st.sampled_from(["<!--c-->", "<?pi data?>", "<![CDATA[<x>&]]>", "<![CDATA[]]>", "<?pi?>"])
ATTRIBUTES = st.lists(
    st.tuples(
        st.sampled_from(["x", "y", "p:x", "xmlns", "xmlns:p", "xmlns:q"]),
        st.sampled_from(["1", "", "a b", "&quot;\n", "urn:p", "urn:q", "1>2"]),
        st.sampled_from("'\""),
        st.sampled_from([" ", "\n  "]),
    ),
    max_size=3,
    unique_by=lambda attribute: attribute[0],
)


def _element(names: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    def tag(name: str, attributes: list[tuple[str, str, str, str]], content: list[str], short: bool) -> str:
        start = name + "".join(f"{space}{key}={quote}{value}{quote}" for key, value, quote, space in attributes)
        return f"<{start}/>" if short and not content else f"<{start}>{''.join(content)}</{name}>"

    leaf = st.builds(tag, names, ATTRIBUTES, st.lists(TEXTS, max_size=1), st.booleans())
    plain = st.builds(lambda name, text: f"<{name}>{text}</{name}>", names, TEXTS)
    return st.recursive(
        st.one_of(leaf, plain),
        lambda inner: st.builds(
            tag, names, ATTRIBUTES, st.lists(st.one_of(inner, inner, TEXTS, ASIDES), max_size=5), st.booleans()
        ),
        max_leaves=12,
    )


DOCUMENTS = st.builds(
    lambda declaration, before, element, behind: declaration + before + element + behind,
    st.sampled_from(["", '<?xml version="1.0"?>', "<?xml version='1.0' encoding='UTF-8' standalone='yes'?>"]),
    st.sampled_from(["", "", "\n", "<!--c-->"]),
    _element(NAMES),
    st.sampled_from(["", "", "\n", "<!--c-->", "x", "<a/>"]),
)
BROKEN = st.builds(
    lambda document, at, drop, put: (
        document[: at % (len(document) + 1)] + put + document[at % (len(document) + 1) + drop :]
    ),
    DOCUMENTS,
    st.integers(0, 400),
    st.integers(0, 3),
    st.sampled_from(
        ["", "<", ">", "/", "&", ";", "'", "=", " ", "\x01", "]]>", "<!", "<?", ":", "\ufffe", "<b>", "</b>"]
    ),
)


class OnlyExpat:
    """A format that reads with expat alone."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect, self.domain = dialect, dialect.domain

    def read(self, part: Part, data: bytes):
        return read_with_expat(Builder(part, self.dialect), decode(data, part.text, self.domain), 0)

    def write(self, part: Part) -> bytes:
        raise AssertionError


def _read(part: Part) -> str:
    try:
        return dump_tree(part)
    except FormatProblem as problem:
        return f"refused: {problem}"


@settings(max_examples=150, deadline=None)
@given(st.one_of(DOCUMENTS, BROKEN), FORMATS)
def test_both_readers_agree(document: str, known: XmlFormat) -> None:
    data = document.encode()
    assert _read(Part(known, data)) == _read(Part(OnlyExpat(known._dialect), data))


@settings(max_examples=100, deadline=None)
@given(DOCUMENTS, FORMATS)
def test_what_is_written_is_read_as_the_same_elements(document: str, known: XmlFormat) -> None:
    part = Part(known, document.encode())
    before = _read(part)
    if not before.startswith("refused"):
        part.touch()
        assert _read(Part(known, part.bytes())) == before


@settings(max_examples=100, deadline=None)
@given(DOCUMENTS, st.sampled_from(["text", "", "a > b", "&lt;&amp;", "é"]), FORMATS)
def test_what_nobody_made_elements_of_is_written_in_the_same_way(document: str, other: str, known: XmlFormat) -> None:
    for _ in range(2):
        _read(Part(known, document.encode()))
    packed, made = (Part(known, document.replace("text", other).encode()) for _ in range(2))
    if not _read(made).startswith("refused"):
        _ = packed.children
        packed.touch()
        made.touch()
        assert packed.bytes() == made.bytes()


VALUES = st.one_of(
    st.none(), st.text(max_size=10), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.booleans()
)
TREES = st.recursive(
    st.builds(lambda name, value: (name, value, []), SOUND_NAMES, VALUES),
    lambda inner: st.builds(
        lambda name, below: (name, None, below), SOUND_NAMES, st.lists(inner, min_size=1, max_size=12)
    ),
    max_leaves=20,
)


def _built(tree: tuple[str, object, list]) -> Element:
    name, value, below = tree
    element = Element(name, value)
    for child in below:
        element.append(_built(child))
    return element


def _same(built: Element, read: Element, domain: str) -> bool:
    text_of = schema_text if domain == "XMLNSC" else character
    text = "" if built.value is None else text_of(built.value)
    return (
        built.name == read.name
        and (text == (read.value or ""))
        and len(built.children) == len(read.children)
        and all(_same(*pair, domain) for pair in zip(built.children, read.children, strict=True))
    )


@settings(max_examples=150, deadline=None)
@given(TREES, FORMATS)
def test_any_tree_is_written_so_that_it_is_read_again_or_refused(
    tree: tuple[str, object, list], known: XmlFormat
) -> None:
    part = Part(known, None, Text())
    part.append(_built(tree))
    if re.search(
        "[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]",
        "".join(str(element.value) for element in part.descendants()),
    ):
        with pytest.raises(FormatProblem, match="characters that XML allows"):
            part.bytes()
    else:
        assert _same(part.children[0], Part(known, part.bytes()).children[0], known.domain)


@settings(max_examples=100, deadline=None)
@given(
    DOCUMENTS,
    st.one_of(
        TEXTS, st.sampled_from(["<b/>", "&", "&no;", "\x01", "]]>", "x>a<y", ">/a<", "<!--c-->", "\0a", "</a><a>"])
    ),
    FORMATS,
)
def test_readers_agree_on_documents_whose_tags_came_before(document: str, other: str, known: XmlFormat) -> None:
    for _ in range(2):
        _read(Part(known, document.encode()))
    for again in (document, document.replace("text", other), document.replace(">", f">{other}", 1)):
        data = again.encode()
        assert _read(Part(known, data)) == _read(Part(OnlyExpat(known._dialect), data))
