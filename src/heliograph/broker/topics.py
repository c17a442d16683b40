"""The subscription tree: which subscriptions match a topic."""

import re
from typing import Generic, TypeVar

T = TypeVar("T")

_BRIDGE_STATE = re.compile(rb"\$SYS/broker/connection/[^/]+/state")


def is_reserved(topic: bytes) -> bool:
    """Whether clients may not publish there: `$SYS` is the server's own, and `$share` is for topic filters.

    Only bridges of mosquitto say in `$SYS` whether they are connected. They cannot be told from other clients, for not
    all of them say what they are; mosquitto asks no more either.
    """
    return topic.startswith((b"$SYS/", b"$share/")) and _BRIDGE_STATE.fullmatch(topic) is None


class _Node(Generic[T]):
    __slots__ = ("children", "here")

    def __init__(self) -> None:
        self.children: dict[str, _Node[T]] = {}
        self.here: dict[T, None] = {}


class TopicTree(Generic[T]):
    """Values under topic filters, found by topic name. `+` and `#` are ordinary keys with a meaning at look-up."""

    def __init__(self) -> None:
        self._root: _Node[T] = _Node()

    def add(self, topic_filter: str, value: T) -> None:
        """Put a value under a filter; once, however often it is added."""
        node = self._root
        for level in topic_filter.split("/"):
            child = node.children.get(level)
            if child is None:
                child = node.children[level] = _Node()
            node = child
        node.here[value] = None

    def remove(self, topic_filter: str, value: T) -> None:
        """Take a value away from a filter, and the branches that are empty then."""
        path = [self._root]
        levels = topic_filter.split("/")
        for level in levels:
            path.append(path[-1].children[level])
        path[-1].here.pop(value, None)
        for level, parent, node in zip(reversed(levels), reversed(path[:-1]), reversed(path), strict=False):
            if node.here or node.children:
                break
            del parent.children[level]

    def match(self, topic: str) -> list[T]:
        """All values whose filter matches this topic name, in a stable order."""
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
                    found.extend(children["#"].here)
                if wild and "+" in children:
                    deeper.append(children["+"])
                if level in children:
                    deeper.append(children[level])
            if not deeper:
                return found
            nodes = deeper
        for node in nodes:
            found.extend(node.here)
            if "#" in node.children:  # `a/#` matches `a` too
                found.extend(node.children["#"].here)
        return found
