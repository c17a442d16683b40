"""Reference variables, and what happens to them when fields are deleted.

A deleted field is emptied, with all that was below: whoever still points to it finds nothing there, and changes nothing
that anybody sees. So nothing has to be checked when a reference is used.
"""

from heliograph.flow.language.values.errors import ExpressionError
from heliograph.flow.tree import Element, Part, Step

BAD_MOVE = 2435


def discard(element: Element) -> None:
    """Delete a field and all below; the root of a tree is only emptied."""
    if element.parent is None:
        element.clear()
        return
    element.delete()
    _empty(element)


def _empty(element: Element) -> None:
    # A part may not have been read yet; nobody points into one that has not, so it is not read for this.
    if not isinstance(element, Part):
        below = list(element.children)
        element.clear()
        element.value = None
        for child in below:
            _empty(child)


class Reference:
    """A reference variable: the field it points to, and whether its last move went well."""

    __slots__ = ("element", "moved")

    def __init__(self, element: Element, moved: bool = True) -> None:
        self.element = element
        self.moved = moved

    def copy(self) -> "Reference":
        """Another variable that points to the same field."""
        return Reference(self.element, self.moved)

    def last_move(self) -> bool:
        """LASTMOVE."""
        return self.moved and not self.element.deleted

    def to(self, element: Element | None) -> None:
        """MOVE TO: stays where it is if there is no such field."""
        self.moved = element is not None
        if element is not None:
            self.element = element

    def to_parent(self) -> None:
        """MOVE PARENT."""
        self.to(None if self.element.deleted else self.element.parent)

    def to_first_child(self, step: Step) -> None:
        """MOVE FIRSTCHILD."""
        self.to(self.element.match_first(step))

    def to_last_child(self, step: Step) -> None:
        """MOVE LASTCHILD."""
        self.to(self.element.match_last(step))

    def to_next(self, step: Step) -> None:
        """MOVE NEXTSIBLING."""
        self.to(self.element.next_sibling(step))

    def to_previous(self, step: Step) -> None:
        """MOVE PREVIOUSSIBLING."""
        self.to(self.element.previous_sibling(step))

    def like_this(self, by_type: bool, by_name: bool) -> Step:
        """What REPEAT looks for: fields with the type or the name (and namespace) of this one."""
        element = self.element
        return Step(
            element.name if by_name else None,
            element.namespace if by_name else None,
            element.type if by_type else None,
        )


def reference(element: Element | None, root: Element) -> Reference:
    """DECLARE REFERENCE TO: to the field, or if there is none, to the root of its path."""
    return Reference(root, False) if element is None else Reference(element)


def attach(element: Element, target: Element, where: str) -> None:
    """ATTACH: put a detached field beside or under another."""
    if element.parent is not None:
        raise ExpressionError(BAD_MOVE, f"{element.name} is attached already; DETACH it first", (element.name,))
    if target.root() is element:
        raise ExpressionError(BAD_MOVE, f"{element.name} cannot be attached below itself", (element.name,))
    put(element, target, where)


def detach(element: Element) -> None:
    """DETACH: take a field out of its tree, with all below."""
    if element.parent is None:
        raise ExpressionError(BAD_MOVE, f"{element.name} is not attached to anything", (element.name,))
    if not element.deleted:
        element.detach()


def put(element: Element, target: Element, where: str) -> Element:
    """Put a field without a parent at a place relative to the target; beside a deleted one it goes nowhere."""
    if target.deleted:
        return element
    if where == "LASTCHILD":
        return target.append(element)
    if where == "FIRSTCHILD":
        return target.insert(0, element)
    parent = target.parent
    if parent is None:
        raise ExpressionError(BAD_MOVE, f"{target.name} is a root and has no siblings", (target.name,))
    return parent.insert(target.position() + (where == "NEXTSIBLING"), element)


def relative(target: Element | None, where: str) -> Element | None:
    """The field that DELETE FIRSTCHILD OF and its like mean."""
    if target is None:
        return None
    children = target.children if where.endswith("CHILD") else []
    if where == "FIRSTCHILD":
        return children[0] if children else None
    if where == "LASTCHILD":
        return children[-1] if children else None
    if target.parent is None or target.deleted:
        return None
    siblings = target.parent.children
    position = target.position() + (1 if where == "NEXTSIBLING" else -1)
    return siblings[position] if 0 <= position < len(siblings) else None


def delete(element: Element | None) -> None:
    """DELETE FIELD: nothing happens if there is no such field."""
    if element is not None:
        discard(element)
