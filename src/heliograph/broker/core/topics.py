"""The subscription tree: finds the filters that match a topic."""

import re
import sys
from collections.abc import Iterable
from typing import Generic, TypeVar

T = TypeVar("T")

_BRIDGE_STATE = re.compile(rb"\$SYS/broker/connection/[^/]+/state")


def is_reserved(topic: bytes) -> bool:
    """Whether clients must not publish there: `$SYS` is the server's own, and `$share` is for topic filters.

    The exception are bridges of mosquitto, which publish their state in `$SYS`. They cannot be told from other clients,
    as not all of them identify themselves as bridges; mosquitto does not check that either.
    """
    return topic.startswith((b"$SYS/", b"$share/")) and _BRIDGE_STATE.fullmatch(topic) is None


class _Node(Generic[T]):
    __slots__ = ("children", "here")

    def __init__(self) -> None:
        self.children: dict[str, _Node[T] | _Leaf[T]] = {}
        self.here: dict[T, None] = {}


class _Leaf(Generic[T]):
    """A branch with one value, typically the filter of one device. A node per level would take ten times the memory."""

    __slots__ = ("rest", "value")

    def __init__(self, rest: str | None, value: T) -> None:
        # Interned: topics of devices often differ in one level only, and have the same rest.
        self.rest = rest and sys.intern(rest)
        """The rest of the filter after this level; None if it ends here."""
        self.value = value

    def fits(self, levels: list[str], at: int) -> bool:
        """Whether the filter matches a topic whose remaining levels begin at `at`."""
        rest, left = self.rest, len(levels) - at
        if rest is None:
            return not left
        if left == 1 and rest == levels[at]:  # the most frequent case
            return True
        for level in rest.split("/"):
            if level == "#":
                return True
            if at == len(levels) or level not in ("+", levels[at]):
                return False
            at += 1
        return at == len(levels)

    def grown(self) -> _Node[T]:
        """The same as a node, to which other filters can be added."""
        node: _Node[T] = _Node()
        if self.rest is None:
            node.here[self.value] = None
        else:
            level, rest = _cut(self.rest)
            node.children[level] = _Leaf(rest, self.value)
        return node


def _cut(topic_filter: str) -> tuple[str, str | None]:
    """The first level of a filter, and the rest."""
    level, slash, rest = topic_filter.partition("/")
    return level, rest if slash else None


class TopicTree(Generic[T]):
    """Values by topic filter, found by topic name. `+` and `#` are ordinary keys; only `match` gives them a meaning."""

    def __init__(self) -> None:
        self._root: _Node[T] = _Node()

    def add(self, topic_filter: str, value: T) -> None:
        """Add a value under a filter. Adding it again changes nothing."""
        node = self._root
        rest: str | None = topic_filter
        while rest is not None:
            level, rest = _cut(rest)
            child = node.children.get(level)
            if child is None:
                node.children[level] = _Leaf(rest, value)
                return
            if isinstance(child, _Leaf):
                if child.rest == rest and child.value == value:
                    return
                child = node.children[level] = child.grown()
            node = child
        node.here[value] = None

    def remove(self, topic_filter: str, value: T) -> None:
        """Remove a value from a filter, and branches that are empty then."""
        node = self._root
        path: list[tuple[_Node[T], str]] = []
        rest: str | None = topic_filter
        while rest is not None:
            level, rest = _cut(rest)
            path.append((node, level))
            child = node.children[level]
            if isinstance(child, _Leaf):
                if child.rest != rest or child.value != value:
                    return
                break
            node = child
        else:
            node.here.pop(value, None)
            if node.here or node.children:
                return
        for parent, level in reversed(path):
            del parent.children[level]
            if parent.here or parent.children:
                return

    def match(self, topic: str) -> list[T]:
        """All values whose filter matches this topic name, in a stable order: equal results share a route."""
        levels = topic.split("/")
        found: list[T] = []
        nodes = [self._root]
        for depth, level in enumerate(levels):
            deeper: list[_Node[T]] = []
            # A wildcard at the first level does not match names that start with $.
            wild = depth > 0 or not level.startswith("$")
            for node in nodes:
                children = node.children
                if wild and "#" in children:
                    found.extend(_values(children["#"]))
                if wild and "+" in children:
                    _go_on(children["+"], levels, depth + 1, found, deeper)
                if level in children:
                    _go_on(children[level], levels, depth + 1, found, deeper)
            if not deeper:
                return found
            nodes = deeper
        for node in nodes:
            found.extend(node.here)
            if "#" in node.children:  # `a/#` matches `a` too
                found.extend(_values(node.children["#"]))
        return found


def _go_on(child: _Node[T] | _Leaf[T], levels: list[str], at: int, found: list[T], deeper: list[_Node[T]]) -> None:
    """Match a branch: a leaf at once, a node with the next level."""
    if isinstance(child, _Node):
        deeper.append(child)
    elif child.fits(levels, at):
        found.append(child.value)


def _values(child: _Node[T] | _Leaf[T]) -> Iterable[T]:
    """The values of the filter that ends at this level."""
    if isinstance(child, _Node):
        return child.here
    return (child.value,) if child.rest is None else ()
