"""Retained messages: the last one of each topic, for subscribers that come later."""

from collections.abc import Iterator

from heliograph.broker.limits import Limits
from heliograph.broker.memory import Account, Budget
from heliograph.broker.span import Span, message

_COST = 500
"""Bytes of memory that a retained message takes beside its own."""
_LEVEL_COST = 200


def cost_of(span: Span) -> int:
    """Bytes of memory that a message takes. Its topic is there twice: in the message, and by level in the tree."""
    levels = span.topic.count(b"/")
    return _COST + _LEVEL_COST * levels + 2 * len(span.topic) + len(span.properties) + len(span.data)


class _Branch:
    """One level of the tree of topic names."""

    __slots__ = ("branches", "kept")

    def __init__(self) -> None:
        self.branches: dict[str, _Branch] = {}
        self.kept: Span | None = None


class Retained:
    """Retained messages by topic name, found by topic filter."""

    def __init__(self, account: Account | None = None) -> None:
        """Memory is charged to the account."""
        self._account = account or Budget().account("retained messages", "")
        self._root = _Branch()
        self.count = 0
        self.bytes = 0
        self.rejected = 0

    def keep(self, span: Span, index: int, limits: Limits | None) -> bool:
        """Retain message `index` of a span, or clear its topic if the payload is empty; False if there is no room.

        What was retained before the server was started is kept without limits.
        """
        payload = span.payloads(index, index + 1)[0]
        name = span.topic.decode()
        if not payload:
            self.clear(name)
            return True
        kept = message(
            span.topic,
            payload,
            qos=span.qos,
            retain=True,
            properties=span.properties,
            expires=span.expires,
            from_store=True,
        )
        branch = self._find(name)
        old = branch.kept if branch else None
        count = self.count + (old is None)
        more = cost_of(kept) - (cost_of(old) if old else 0)
        if limits is not None and (
            count > limits.retained_messages
            or self.bytes + more > limits.retained_bytes
            or (more > 0 and not self._account.has_room(more))
        ):
            self.rejected += 1
            return False
        (branch or self._make(name)).kept = kept
        self.count = count
        self._add(more)
        return True

    def _add(self, size: int) -> None:
        self.bytes += size
        self._account.add(size)

    def all(self) -> list[Span]:
        """All of them as they are now."""
        return list(self._below(self._root, top=False))

    def has(self, span: Span) -> bool:
        """Whether this very message is still the one of its topic."""
        branch = self._find(span.topic.decode())
        return branch is not None and branch.kept is span

    def clear(self, name: str) -> None:
        """Forget the message of a topic, if there is one."""
        path: list[tuple[_Branch, str]] = []
        branch = self._root
        for level in name.split("/"):
            path.append((branch, level))
            if level not in branch.branches:
                return
            branch = branch.branches[level]
        if branch.kept is None:
            return
        self.count -= 1
        self._add(-cost_of(branch.kept))
        branch.kept = None
        for parent, level in reversed(path):
            child = parent.branches[level]
            if child.kept is not None or child.branches:
                break
            del parent.branches[level]

    def matching(self, topic_filter: str, now: float) -> list[Span]:
        """The messages of all topics that a filter matches; those that have expired are forgotten instead."""
        found: list[Span] = []
        for span in list(self._match(topic_filter.split("/"))):
            if span.expires and span.expires <= now:
                self.clear(span.topic.decode())
            else:
                found.append(span)
        return found

    def _find(self, name: str) -> _Branch | None:
        branch: _Branch | None = self._root
        for level in name.split("/"):
            branch = branch.branches.get(level) if branch else None
        return branch

    def _make(self, name: str) -> _Branch:
        branch = self._root
        for level in name.split("/"):
            branch = branch.branches.setdefault(level, _Branch())
        return branch

    def _match(self, levels: list[str]) -> Iterator[Span]:
        nodes = [self._root]
        for depth, level in enumerate(levels):
            if level == "#":
                for node in nodes:
                    if depth and node.kept is not None:  # `a/#` matches `a` too
                        yield node.kept
                    yield from self._below(node, top=not depth)
                return
            if level == "+":
                nodes = [
                    child
                    for node in nodes
                    for name, child in node.branches.items()
                    if depth or not name.startswith("$")  # no wildcard matches a first level with $
                ]
            else:
                nodes = [node.branches[level] for node in nodes if level in node.branches]
        for node in nodes:
            if node.kept is not None:
                yield node.kept

    def _below(self, node: _Branch, *, top: bool) -> Iterator[Span]:
        stack = [child for name, child in reversed(node.branches.items()) if not (top and name.startswith("$"))]
        while stack:
            branch = stack.pop()
            if branch.kept is not None:
                yield branch.kept
            stack.extend(reversed(branch.branches.values()))
