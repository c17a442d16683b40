"""Packed children are there for every caller, whether somebody has made elements of them or not."""

from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.flow.formats import Catalogue
from heliograph.flow.tree import Element, Part
from heliograph.flow.tree.filling import fill_one
from heliograph.flow.tree.packed import Layout, Packed, PackedField

NAMES = ["a", "b", "c", "d"]
DOCUMENT = b"<order><id>7</id><to><name>N</name><town>T</town></to><item>x</item><item>y</item></order >"


def shown(element: Element) -> object:
    return (element.name, element.value, element.type, element.namespace, [shown(child) for child in element.children])


def known(document: bytes, domain: str = "XML") -> Part:
    """A document of a kind that has come before."""
    for _ in range(3):
        part = Catalogue().part_of(domain, document)
        part.first("order")
    return part


def is_packed(element: Element | None) -> bool:
    return type(element.pending) is Packed


# One child each: name, namespace, value or nothing, whether the value is the same for all, what is below.
FIELDS = st.recursive(
    st.tuples(st.sampled_from(NAMES), st.sampled_from(["", "", "n"]), st.integers(0, 9), st.booleans(), st.just([])),
    lambda inner: st.tuples(
        st.sampled_from(NAMES), st.just(""), st.none(), st.just(True), st.lists(inner, min_size=1, max_size=4)
    ),
    max_leaves=8,
)


def layout(fields: list, values: list) -> Layout:
    made = []
    for name, namespace, value, fixed, below in fields:
        place = -1
        if not fixed:
            place = len(values)
            values.append(value)
        under = layout(below, values) if below else None
        made.append(PackedField(name, 1, namespace, value if fixed else None, place, under))
    return Layout(made)


def everything_made(element: Element) -> Element:
    for _ in element.descendants():
        pass
    return element


def element_of(fields: list) -> Element:
    values: list = []
    element = Element("e")
    element.pack(Packed(layout(fields, values), tuple(values)))
    return element


CHANGES = {
    "first": lambda element, name, other: element.first(name) and shown(element.first(name)),
    "value_of": lambda element, name, other: element.value_of(name),
    "contents": lambda element, name, other: [
        shown(found) if isinstance(found, Element) else found for found in element.contents((name, other))
    ],
    "count": lambda element, name, other: element.count(name),
    "last": lambda element, name, other: element.last(name) and shown(element.last(name)),
    "set_value_of": lambda element, name, other: element.set_value_of(name, "new"),
    "fill_one": lambda element, name, other: fill_one(element, name, element.content(other) or "none"),
    "append": lambda element, name, other: shown(element.append(Element(name, "appended"))),
    "delete": lambda element, name, other: element.first(name) and element.first(name).delete(),
    "take": lambda element, name, other: element.ensure(name).take_content(element.ensure(other).copy()),
    "inside": lambda element, name, other: element.ensure(name).set_value_of(other, 5),
    "clear": lambda element, name, other: element.ensure(name).clear(),
}
STEPS = st.lists(
    st.tuples(st.sampled_from(sorted(CHANGES)), st.sampled_from(NAMES), st.sampled_from(NAMES)), max_size=6
)


@settings(max_examples=100, deadline=None)
@given(st.lists(FIELDS, max_size=10), STEPS)
def test_packed_or_not_makes_no_difference(fields: list, steps: list[tuple[str, str, str]]) -> None:
    packed, made = element_of(fields), everything_made(element_of(fields))
    copy = packed.copy()
    before = shown(made)
    for step, name, other in steps:
        assert CHANGES[step](packed, name, other) == CHANGES[step](made, name, other)
    assert shown(packed) == shown(made)
    assert shown(copy) == before


def test_a_value_is_read_without_making_elements() -> None:
    order = known(DOCUMENT).first("order")
    assert order.value_of("id") == "7"
    assert order.value_of("none") is None
    assert order.first("none") is None
    assert is_packed(order)


def test_only_the_level_that_is_looked_at_is_made() -> None:
    order = known(DOCUMENT).first("order")
    assert order.first("to").value_of("town") == "T"
    assert not is_packed(order)
    assert is_packed(order.first("to"))


def test_copies_stay_packed() -> None:
    part = known(DOCUMENT)
    copy = part.copy()
    assert part.first("order").value_of("id") == "7"
    part.first("order").set_value_of("id", "8")
    assert is_packed(copy.first("order"))
    assert copy.first("order").value_of("id") == "7"


def test_a_changed_value_is_told_to_the_part_and_written() -> None:
    part = known(DOCUMENT)
    part.first("order").set_value_of("id", 8)
    assert is_packed(part.first("order"))
    assert part.bytes() == DOCUMENT.replace(b"7", b"8").replace(b"order >", b"order>")


def test_in_another_domain_types_are_those_of_that_domain() -> None:
    source, target = known(DOCUMENT), Catalogue().new_part("XMLNSC")
    target.take_content(source)
    assert shown(target)[4] == shown(known(DOCUMENT, "XMLNSC"))[4]
