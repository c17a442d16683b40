"""Differences between what was expected and what came, told so that the place to look at is clear."""

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher, unified_diff
from typing import Any

from heliograph.errors import InvalidInput, Problem
from heliograph.flow.formats.catalogue import Catalogue
from heliograph.flow.formats.envelope import Envelope
from heliograph.flow.language.values.types import character
from heliograph.flow.testing.case import ExpectedMessage
from heliograph.flow.tree import Element, Text

_ROW = 16
_CONTEXT = 2
_STEP = re.compile(r"([^.\[\]]+)(?:\[(\d+)\])?")


def message_differences(expected: ExpectedMessage, found: Envelope, catalogue: Catalogue) -> list[str]:
    """What differs; each may have several lines."""
    differences = [*_envelope_differences(expected.envelope, found)]
    if expected.body is not None and expected.body != found.body:
        if expected.as_tree:
            differences += _tree_differences(expected, found.body, catalogue)
        else:
            differences.append(f"the body differs\n{body_difference(expected.body, found.body)}")
    if expected.fields:
        differences += _field_differences(expected, found.body, catalogue)
    return differences


def _envelope_differences(expected: Mapping[str, Any], found: Envelope) -> Iterator[str]:
    for name, value in expected.items():
        came = getattr(found, name)
        if name == "properties":
            came = {key: came[key] for key in value if key in came}
        if came != value:
            yield f"{name}: expected {value!r}, found {came!r}"


# Bytes


def body_difference(expected: bytes, found: bytes) -> str:
    """A difference of texts by lines, of other bytes by rows of hexadecimal digits."""
    texts = _text(expected), _text(found)
    if texts[0] is None or texts[1] is None:
        return _hexadecimal_difference(expected, found)
    lines = [*unified_diff(_lines(texts[0]), _lines(texts[1]), "expected", "found", lineterm="", n=_CONTEXT)]
    return "\n".join(lines) if lines else "only in line ends or blanks: " + f"{expected!r} / {found!r}"


def _text(data: bytes) -> str | None:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return text if all(character.isprintable() or character in "\r\n\t" for character in text) else None


def _lines(text: str) -> list[str]:
    """Lines to compare; XML and JSON that are all in one line are broken where a person would do so."""
    if "\n" in text.strip():
        return text.splitlines()
    if text.startswith("<"):
        return re.sub(r">(?=<)", ">\n", text).splitlines()
    if text[:1] in ("{", "["):
        return re.sub(r"(?<=[{\[,])|(?=[}\]])", "\n", text).splitlines()
    return text.splitlines()


def _hexadecimal_difference(expected: bytes, found: bytes) -> str:
    shortest = min(len(expected), len(found))
    at = next((at for at in range(shortest) if expected[at] != found[at]), shortest)
    first = max(0, at // _ROW - 1) * _ROW
    lines = [f"lengths {len(expected)} and {len(found)}; the first difference is at offset {at}"]
    for offset in range(first, first + 3 * _ROW, _ROW):
        for sign, data in (("-", expected), ("+", found)):
            row = data[offset : offset + _ROW]
            if row:
                shown = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
                lines.append(f"{sign} {offset:06x}  {row.hex(' '):<{_ROW * 3}} {shown}")
    return "\n".join(lines)


# Trees


def _tree_differences(expected: ExpectedMessage, found: bytes, catalogue: Catalogue) -> Iterator[str]:
    assert expected.body is not None
    wanted = _parsed(expected.body, expected, catalogue)
    try:
        came = _parsed(found, expected, catalogue)
    except Problem as problem:
        yield f"the body cannot be read: {problem}\n{body_difference(expected.body, found)}"
        return
    yield from _element_differences(wanted, came, "", frozenset(expected.ignore))


def _parsed(data: bytes, expected: ExpectedMessage, catalogue: Catalogue) -> Element:
    model = expected.model
    text = Text(
        message_set=model.get("message_set", ""),
        message_type=model.get("message", ""),
        message_format=model.get("message_format", ""),
    )
    part = catalogue.part_of(model.get("domain") or _guessed(data, expected), data, text)
    _ = [*part.descendants()]
    return part


def _guessed(data: bytes, expected: ExpectedMessage) -> str:
    start = data.lstrip()[:1]
    if start == b"<":
        return "XMLNSC"
    if start in (b"{", b"["):
        return "JSON"
    raise InvalidInput(f"{expected.place}: neither XML nor JSON; say with domain how the message is to be read")


def _element_differences(wanted: Element, came: Element, path: str, ignored: frozenset[str]) -> Iterator[str]:
    if _shown(wanted) != _shown(came):
        yield f"{path or 'the body'}: expected {_shown(wanted)}, found {_shown(came)}"
    before = [child for child in wanted.children if _joined(path, child.name) not in ignored]
    after = [child for child in came.children if _joined(path, child.name) not in ignored]
    names = [_key(child) for child in before], [_key(child) for child in after]
    for tag, low, high, other_low, other_high in SequenceMatcher(None, *names, autojunk=False).get_opcodes():
        if tag == "equal":
            for at, other in zip(range(low, high), range(other_low, other_high), strict=True):
                inner = _joined(path, _numbered(before, at))
                yield from _element_differences(before[at], after[other], inner, ignored)
            continue
        for at in range(low, high):
            yield f"{_joined(path, _numbered(before, at))}: expected {_shown(before[at])}, but it is missing"
        for at in range(other_low, other_high):
            yield f"{_joined(path, _numbered(after, at))}: not expected, found {_shown(after[at])}"


def _key(element: Element) -> tuple[str, str, int]:
    return element.namespace, element.name, element.type >> 8 & 0xFF


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _numbered(siblings: Sequence[Element], at: int) -> str:
    """The name, with a number if there are several."""
    name = siblings[at].name
    same = [sibling for sibling in siblings if sibling.name == name]
    return name if len(same) == 1 else f"{name}[{1 + sum(sibling.name == name for sibling in siblings[:at])}]"


def _shown(element: Element) -> str:
    if element.value is None:
        return "a group" if element.children else "nothing"
    return repr(character(element.value))


# Fields


def _field_differences(expected: ExpectedMessage, found: bytes, catalogue: Catalogue) -> Iterator[str]:
    try:
        texts = field_texts(expected, found, catalogue)
    except Problem as problem:
        yield f"the body cannot be read: {problem}"
        return
    for path, value in expected.fields.items():
        wanted = None if value is None else _as_text(value)
        if texts[path] != wanted:
            yield f"{path}: expected {wanted!r}, found {'nothing' if texts[path] is None else repr(texts[path])}"


def field_texts(expected: ExpectedMessage, found: bytes, catalogue: Catalogue) -> dict[str, str | None]:
    """What a body has in the fields that are looked at; None where it has nothing."""
    body = _parsed(found, expected, catalogue)
    fields = {path: _field(body, path) for path in expected.fields}
    return {
        path: None if element is None or element.value is None else character(element.value)
        for path, element in fields.items()
    }


def _as_text(value: Any) -> str:
    return (
        value if isinstance(value, str) else ("true" if value else "false") if isinstance(value, bool) else str(value)
    )


def _field(element: Element, path: str) -> Element | None:
    found: Element | None = element
    for name, number in _STEP.findall(path):
        matching = [child for child in found.children if child.name == name] if found is not None else []
        at = int(number or 1)
        found = matching[at - 1] if at <= len(matching) else None
    return found
