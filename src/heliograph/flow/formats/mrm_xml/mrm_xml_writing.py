"""Writes modelled XML: a closure for each group, built once for a model, with complete tags as constants.

A closure writes the usual case directly: known elements in the model's order, no attributes, no nulls. If the codes of
the children do not match the content model, `_in_order` sorts them and adds defaults, or reports what is missing."""

import re
from collections.abc import Callable
from typing import Any

from heliograph.flow.errors import CANNOT_WRITE, FormatProblem
from heliograph.flow.formats.model import Field, Order, Type
from heliograph.flow.formats.mrm_xml.mrm_xml_shapes import XSI, Content, Document, Shape
from heliograph.flow.formats.xml.expat_reader import encode
from heliograph.flow.tree import Element, Part

_TEXT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_ATTRIBUTE = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\n": "&#10;", "\t": "&#9;", "\r": "&#13;"}
)
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]").search

_CONTROLS = bytes((*range(9), *range(11, 32)))

Write = Callable[[Element], str]


class Writer:
    """Writes documents of one message."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self._prefixes, self._declarations = _prefixes(document)
        self._tag = self._prefixes[document.namespace] + document.tag
        self._write = self._group(document.content)

    def write(self, part: Part) -> bytes:
        """See Format."""
        inside = self._write(part)
        nil = f' xmlns:xsi="{XSI}"' if " xsi:" in inside else ""
        end = inside if inside == "/>" else f"{inside}{self._tag}>"
        text = f"<{self._tag}{self._declarations}{nil}{end}"
        if _may_need_care(text):
            text = self._careful(part, text)
        if self.document.declaration:
            text = f'<?xml version="1.0"?>{text}'
        return encode(text, None, part.text, self.document.title)

    def _careful(self, part: Part, text: str) -> str:
        """Escape carriage returns, which a parser would turn into line feeds (XML 1.0, section 2.11), and refuse
        characters that XML does not allow (section 2.2)."""
        if _FORBIDDEN(text):
            for element in part.descendants():
                found = _FORBIDDEN(element.value) if isinstance(element.value, str) else None
                if found:
                    raise self._problem(element, "characters that XML allows", f"U+{ord(found[0]):04X}")
        return text.replace("\r", "&#13;")

    def _group(self, content: Content) -> Write:
        """Return a function that writes what follows the name of an element: attributes, members, and `</` or `/>`."""
        known: dict[str, tuple[str, str, bool, Callable[[Any], str] | None, Write | None, str, Shape]] = {}
        for shape in content.elements.values():
            tag = self._prefixes[shape.namespace] + shape.tag
            text = shape.values is not None and shape.values.parse is None
            inner = self._group(shape.inner) if shape.inner is not None else None
            show = shape.values.show if shape.values is not None else None
            start = f"<{tag}" if inner is not None else f"<{tag}>"
            known[shape.name] = (
                start,
                f"{tag}>" if inner is not None else f"</{tag}>",
                text,
                show,
                inner,
                shape.code,
                shape,
            )
        attributes = {shape.name: shape for shape in content.attributes.values()}
        surely = content.order.surely
        plain = not attributes and content.value is None and not content.counted

        def write(element: Element) -> str:
            children = element.children
            out: list[str] = []
            codes: list[str] = []
            bare = plain
            for child in children:
                entry = known.get(child.name)
                if entry is None:
                    if child.name in attributes or child.namespace == XSI:
                        bare = False
                        continue
                    raise self._unknown(child, content)
                start, end, text, show, inner, code, shape = entry
                value = child.value
                codes.append(code)
                if inner is not None:
                    inside = inner(child)
                    out.append(
                        f"{start}{inside}" if inside[-2:] == "/>" and inside[:1] != ">" else f"{start}{inside}{end}"
                    )
                    continue
                if value is None or child.loaded is not None or child.pending is not None:
                    out.append(self._unusual(child, shape))
                    continue
                if not (text and value.__class__ is str):
                    try:
                        value = show(value)  # type: ignore[misc]
                    except ValueError:
                        raise self._value_problem(child, shape) from None
                if "&" in value or "<" in value or ">" in value:
                    value = value.translate(_TEXT)
                out.append(f"{start}{value}{end}")
            tag = ""
            if not bare or surely("".join(codes)) is None:
                out = self._in_order(element, content, codes, out)
                tag = self._attributes(element, attributes)
            if content.value is not None:
                out = [self._own_value(element, content.value)]
            return f"{tag}>{''.join(out)}</" if out and out != [""] else f"{tag}/>"

        return write

    def _in_order(self, element: Element, content: Content, codes: list[str], out: list[str]) -> list[str]:
        """Return the texts in the model's order, with defaults for missing elements; raise an error if that is not
        enough."""
        if content.group.nillable and not codes and _is_null(element):
            return []
        pairs = list(zip(codes, out, strict=True))
        for shape in content.elements.values():
            member = shape.member
            needed = member.occurs.least and shape.direct and content.group.order is not Order.CHOICE
            if needed and shape.code not in codes and shape.default is not None:
                tag = self._prefixes[shape.namespace] + shape.tag
                assert shape.values is not None
                pairs.append((shape.code, f"<{tag}>{shape.values.show(shape.default).translate(_TEXT)}</{tag}>"))
        if len(pairs) > len(codes) or not content.order.fits("".join(codes)):
            pairs.sort(key=lambda pair: pair[0])  # codes have the order of the model
        ordered = [code for code, _ in pairs]
        for shape, least, most in content.to_count(ordered):
            count = ordered.count(shape.code)
            if count < least or (most is not None and count > most):
                raise self._problem(element, f"{least} to {most} {shape.tag}", str(count))
        if not content.order.fits("".join(ordered)):
            tags = {shape.code: shape.tag for shape in content.elements.values()}
            missing = [
                shape.tag
                for shape in content.elements.values()
                if shape.direct and shape.member.occurs.least and shape.code not in codes
            ]
            expected = f"element {missing[0]}" if missing else f"elements in the order of {', '.join(tags.values())}"
            raise self._problem(element, expected, ", ".join(tags[code] for code in codes) or "nothing")
        return [text for _, text in pairs]

    def _attributes(self, element: Element, attributes: dict[str, Shape]) -> str:
        texts = [
            f' xsi:{child.name}="{str(child.value).translate(_ATTRIBUTE)}"'
            for child in element.children
            if child.namespace == XSI and child.name in ("type", "nil")
        ]
        for name, shape in attributes.items():
            assert shape.values is not None
            found = element.first(name) or next((one for one in element.children if one.name == name), None)
            value = found.value if found is not None else shape.default
            if value is None:
                if shape.member.occurs.least:
                    raise self._problem(element, f"attribute {shape.tag}", "none")
                continue
            try:
                text = shape.values.show(value)
            except ValueError:
                raise self._value_problem(found or element, shape) from None
            texts.append(f' {self._prefix_of_attribute(shape)}{shape.tag}="{text.translate(_ATTRIBUTE)}"')
        return "".join(texts)

    def _prefix_of_attribute(self, shape: Shape) -> str:
        """Return the prefix of an attribute: a default namespace does not apply to attributes (Namespaces in XML,
        section 6.2)."""
        return (self._prefixes[shape.namespace] or "ns1:") if shape.namespace else ""

    def _own_value(self, element: Element, shape: Shape) -> str:
        assert shape.values is not None
        if element.value is None and shape.values.parse is None:
            return ""
        try:
            return shape.values.show(element.value).translate(_TEXT)
        except ValueError:
            raise self._value_problem(element, shape) from None

    def _unusual(self, child: Element, shape: Shape) -> str:
        """Write a field that is null, or that has an `xsi:type`."""
        assert shape.values is not None
        assert isinstance(shape.member, Field)
        tag = self._prefixes[shape.namespace] + shape.tag
        start = tag
        for inside in child.children:
            if inside.namespace != XSI or inside.name != "type":
                raise self._problem(child, "a field without elements inside", inside.name)
            start += f' xsi:type="{str(inside.value).translate(_ATTRIBUTE)}"'
        value = child.value
        if value is None:
            if shape.nillable:
                return f'<{start} xsi:nil="true"/>'
            if shape.default is None:
                if shape.member.type is Type.STRING:
                    return f"<{start}/>"
                raise self._problem(child, shape.values.expected, "NULL")
            value = shape.default
        try:
            return f"<{start}>{shape.values.show(value).translate(_TEXT)}</{tag}>"
        except ValueError:
            raise self._value_problem(child, shape) from None

    def _unknown(self, child: Element, content: Content) -> FormatProblem:
        return self._problem(child, f"one of {', '.join(content.known())}", child.name)

    def _value_problem(self, child: Element, shape: Shape) -> FormatProblem:
        assert shape.values is not None
        return self._problem(child, shape.values.expected, f"{child.value!r} ({type(child.value).__name__})")

    def _problem(self, element: Element, expected: str, found: str) -> FormatProblem:
        return FormatProblem(self.document.title, expected, found, path=element.path(), number=CANNOT_WRITE)


def _is_null(element: Element) -> bool:
    return any(child.namespace == XSI and child.name == "nil" for child in element.children)


def _may_need_care(text: str) -> bool:
    """Whether there may be control characters to escape or refuse; `bytes.translate` is the fastest way to search."""
    if not text.isascii():
        return not text.isprintable()
    data = text.encode()
    return len(data.translate(None, _CONTROLS)) != len(data)


def _prefixes(document: Document) -> tuple[dict[str, str], str]:
    """Return the prefix of each namespace, and the namespace declarations for the root.

    If all elements are in one namespace, it is the default namespace; otherwise each namespace has a prefix.
    """
    namespaces = [one for one in document.namespaces() if one]
    if not namespaces:
        return {"": ""}, ""
    elements = _element_namespaces(document)
    if len(elements) == 1 and len(namespaces) == 1:
        only = namespaces[0]
        qualified = _has_qualified_attributes(document.content)
        extra = f' xmlns:ns1="{only}"' if qualified else ""
        return {
            only: "" if only in elements else "ns1:",
            "": "",
        }, f' xmlns="{only}"{extra}' if only in elements else extra
    prefixes = {namespace: f"ns{number}:" for number, namespace in enumerate(namespaces, 1)}
    declarations = "".join(f' xmlns:{prefix[:-1]}="{one.translate(_ATTRIBUTE)}"' for one, prefix in prefixes.items())
    return {**prefixes, "": ""}, declarations


def _element_namespaces(document: Document) -> set[str]:
    found = {document.namespace}
    todo = [document.content]
    while todo:
        for shape in todo.pop().elements.values():
            found.add(shape.namespace)
            if shape.inner is not None:
                todo.append(shape.inner)
    return found


def _has_qualified_attributes(content: Content) -> bool:
    return any(shape.namespace for shape in content.attributes.values()) or any(
        shape.inner is not None and _has_qualified_attributes(shape.inner) for shape in content.elements.values()
    )
