"""SET: giving fields a value, the content of other fields, or a list.

NULL deletes a field. A scalar replaces the value and leaves children as they are; a field or a row replaces both.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from heliograph.flow.errors import ExpressionError
from heliograph.flow.language.esql.runtime.evaluation import Evaluation
from heliograph.flow.language.esql.runtime.field_paths import (
    discard,
    ensure,
    ensure_match,
    ensure_nth,
    index,
    match,
    match_last,
    nth,
    too_far,
)
from heliograph.flow.language.values.comparison import boolean
from heliograph.flow.language.values.conversions import convert
from heliograph.flow.language.values.types import Type, type_of
from heliograph.flow.tree import Element, Part, Step
from heliograph.flow.tree.element_types import NAME, role_of, type_in
from heliograph.flow.tree.filling import SCALARS, fill, fill_one, layout_of, take_leaf
from heliograph.flow.tree.packed import Packed
from heliograph.flow.tree.part import part_of

# Variables that outlive one routine, and truth values.


class Variables:
    """The variables of a module and its schemas during one evaluation; generated code sets and reads them."""

    def __getattr__(self, name: str) -> Any:
        """NULL, for a variable whose declaration has not been reached."""
        return None


def external(evaluation: Evaluation, name: str, target: Type | None, default: Any) -> Any:
    """The value of an EXTERNAL variable: what the flow was given, or what the program says."""
    value = evaluation.external.get(name, default)
    return value if target is None else convert(value, target, evaluation.now)


def truth(value: Any) -> bool | None:
    """A truth value; an error for anything else."""
    return boolean(value, "a condition")


BAD_ASPECT = 2434


def set_field(parent: Element, name: str, value: Any) -> None:
    """Set the first child of this name."""
    if value is None:
        _remove(parent.first(name))
    else:
        parent.set_value_of(name, value)


def set_nth(parent: Element, name: str, number: Any, value: Any) -> None:
    """Set the number-th child of this name."""
    if value is not None:
        ensure_nth(parent, name, number).set_value(value)
    else:
        _remove(nth(parent, name, number))


def set_match(parent: Element, step: Step, number: Any, value: Any) -> None:
    """Set the number-th child that the step looks for."""
    child = match(parent, step, number)
    if value is None:
        _remove(child)
    elif child is not None:
        child.set_value(value)
    elif number == 1 and type(parent) is Element:
        parent.append(Element(step.name or "", value, NAME if step.type is None else step.type, step.namespace or ""))
    else:
        ensure_match(parent, step, number).set_value(value)


def set_here(target: Element, value: Any) -> None:
    """Set the field that a reference points to; nothing happens if it was deleted."""
    if value is None:
        discard(target)
    elif not target.deleted:
        target.set_value(value)


# A copy receives the *content* of the source (`Element.content`): the bare value if the field has nothing else, which
# saves an element for each leaf that is copied.


def copy_field(parent: Element, name: str, content: Any) -> None:
    """Give the first child of this name the content of a field; without one, remove it."""
    if content is None:
        _remove(parent.first(name))
    elif type(content) is Part and content.name == name:
        replace_part(parent, parent.first(name), content)
    else:
        fill_one(parent, name, content)


class Fields:
    """Fields below one field, by paths of one step or more: to be set one after the other.

    `scalars` are the places of those that get no content but a value, which leaves children as they are.
    """

    __slots__ = ("_layout", "_setters")

    def __init__(self, paths: tuple[tuple[Step, ...], ...], scalars: tuple[int, ...]) -> None:
        self._layout = layout_of(paths)
        self._setters = [
            (tuple(step.name or "" for step in above), last, _setter(last, is_scalar=at in scalars))
            for at, (*above, last) in enumerate(paths)
        ]

    def set_in(self, parent: Element, items: Sequence[Any]) -> None:
        """Set them all."""
        if self._layout is None or not fill(parent, self._layout, items):
            self._set_each(parent, items)

    def set_in_nth(self, parent: Element, name: str, number: Any, items: Sequence[Any]) -> Element:
        """Set them all in the number-th child of this name, which is made if just this one is missing."""
        layout = self._layout
        packed = Packed(layout, items) if layout is not None and SCALARS.issuperset(map(type, items)) else None
        if type(number) is not int:
            number = index(number)
        child = parent.ensure_nth(name, number, packed)
        if child is None:
            raise too_far(parent, name, number)
        if child.pending is not packed or packed is None:
            self.set_in(child, items)
        return child

    def _set_each(self, parent: Element, items: Sequence[Any]) -> None:
        for (above, last, put), item in zip(self._setters, items, strict=True):
            put(ensure(parent, *above) if above else parent, last, item)


def _setter(last: Step, *, is_scalar: bool) -> Callable[[Element, Step, Any], None]:
    """What sets the field at the end of a path."""
    if last.type is None:
        name, put = last.name or "", set_field if is_scalar else copy_field
        return lambda parent, _, item: put(parent, name, item)
    put_match = set_match if is_scalar else copy_match
    return lambda parent, step, item: put_match(parent, step, 1, item)


def copy_nth(parent: Element, name: str, number: Any, content: Any) -> None:
    """Give the number-th child of this name the content of a field; without one, remove it."""
    if content is None:
        _remove(nth(parent, name, number))
    else:
        _take(ensure_nth(parent, name, number), content)


def copy_match(parent: Element, step: Step, number: Any, content: Any) -> None:
    """Give the number-th child that the step looks for the content of a field; without one, remove it."""
    if content is None:
        _remove(match(parent, step, number))
    else:
        _take(ensure_match(parent, step, number), content)


def copy_named(parent: Element, step: Step, number: Any, source: Element | None, *, from_end: bool = False) -> None:
    """Give a child that the step says no name for the content of a field, and its name, namespace and type."""
    child = match_last(parent, step, number) if from_end else match(parent, step, number)
    if source is None:
        _remove(child)
    elif isinstance(source, Part):
        if child is None:
            _check_next(parent, step, number)
        replace_part(parent, child, source)
    elif source is not child:
        copy = parent.new_child(source.name) if child is None else child
        if child is None:
            _check_next(parent, step, number)
            parent.append(copy)
        copy.take_content(source)
        if not copy.is_part and (source.name or child is None):
            _take_identity(copy, source, step)


def _check_next(parent: Element, step: Step, number: Any) -> None:
    if index(number) != parent.match_count(step) + 1:
        raise too_far(parent, "*", index(number))


def _take_identity(copy: Element, source: Element, step: Step) -> None:
    """Name, namespace and type of a field, in the domain that the copy is in; a type that the step says goes before."""
    kind = source.type
    ours, theirs = part_of(copy), part_of(source)
    if ours is not None and theirs is not None and ours.format.domain != theirs.format.domain:
        role = role_of(kind, theirs.format.domain)
        kind = type_in(ours.format.domain, role, has_value=source.value is not None)
    copy.set_name(source.name)
    copy.set_namespace(source.namespace)
    copy.set_type(kind if step.type is None else step.type)


def copy_here(target: Element, content: Any) -> None:
    """Give the field that a reference or a correlation name points to the content of a field."""
    if content is None:
        if target.parent is not None:
            discard(target)
        else:
            target.clear()
    elif content is not target:
        _take(target, content)


def _take(target: Element, content: Any) -> None:
    if isinstance(content, Element):
        target.take_content(content)
    else:
        take_leaf(target, content)


def replace_part(parent: Element, old: Element | None, source: Part) -> None:
    """Put a copy of a whole part in place of the one that is there: its bytes are shared, not read."""
    if old is source:
        return
    if old is None:
        parent.append(source.copy())
        return
    position = old.position()
    discard(old)
    parent.insert(position, source.copy())


def set_rows(parent: Element, step: Step, rows: Iterable[Any]) -> None:
    """Make these rows (new elements without a parent) the instances of a repeating field."""
    _remove_all(parent, step)
    for row in rows:
        _name_as(row, step)
        parent.append(row)


def set_copies(parent: Element, step: Step, sources: Iterable[Element | None]) -> None:
    """Make copies of these fields the instances of a repeating field."""
    copies = [
        source.copy() if step.name is None or not isinstance(source, Part) else _unparted(source)
        for source in sources
        if source is not None
    ]
    set_rows(parent, step, copies)


def set_values(parent: Element, step: Step, values: Iterable[Any]) -> None:
    """Make these values the instances of a repeating field; rows among them keep their fields."""
    items = list(values)
    _remove_all(parent, step)
    for item in items:
        row = item if isinstance(item, Element) else Element("", item)
        _name_as(row, step)
        parent.append(row)


def set_aspect(target: Element, aspect: str, value: Any) -> None:
    """SET field TYPE, NAME, NAMESPACE or VALUE."""
    if aspect == "VALUE":
        target.set_value(value)
        return
    if aspect == "TYPE" and type(value) is int:
        target.set_type(value)
    elif aspect == "NAME" and type(value) is str:
        target.set_name(value)
    elif aspect == "NAMESPACE" and type(value) is str:
        target.set_namespace(value)
    else:
        needed = "an INTEGER" if aspect == "TYPE" else "CHARACTER"
        found = type_of(value).value
        raise ExpressionError(BAD_ASPECT, f"{aspect} of a field is {needed}, not {found}", (aspect, value))


def _name_as(row: Element, step: Step) -> None:
    """What the step says; a step without a name leaves a row its own."""
    if step.name is not None:
        row.name = step.name
        row.namespace = step.namespace or ""
        row.type = NAME if step.type is None else step.type
    elif step.type is not None:
        row.type = step.type


def _unparted(source: Part) -> Element:
    copy = Element(source.name)
    copy.take_content(source)
    return copy


def _remove(element: Element | None) -> None:
    if element is not None:
        discard(element)


def _remove_all(parent: Element, step: Step) -> None:
    for element in list(parent.match_all(step)):
        discard(element)
