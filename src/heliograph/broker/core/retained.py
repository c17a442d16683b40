"""Retained messages: the last one of each topic, for subscribers that come later."""

from collections.abc import Iterator

from heliograph.broker.core.limits import Limits
from heliograph.broker.core.memory import Account, Budget
from heliograph.broker.core.span import Span, message

_COST = 500
"""Bytes of memory that a retained message takes beside its own."""
_LEVEL_COST = 200


def cost_of(span: Span) -> int:
    """Bytes of memory that a message takes. Its topic is there twice: in the message, and by level in the tree."""
    levels = span.topic.count(b"/")
    return _COST + _LEVEL_COST * levels + 2 * len(span.topic) + len(span.properties) + len(span.data)


class _Branch:
    """One level of the tree of topic names.

    Branches of one level are a linked list, the newest last: whoever goes along it can stop anywhere and go on later,
    whatever has come or gone meanwhile. One that is taken out still knows its next one.
    """

    __slots__ = ("born", "branches", "first", "kept", "last", "name", "next", "previous", "since")

    def __init__(self, name: str = "", born: int = 0) -> None:
        self.name = name
        self.born = born
        """Branches are numbered as they come."""
        self.branches: dict[str, _Branch] = {}
        self.first: _Branch | None = None
        self.last: _Branch | None = None
        self.next: _Branch | None = None
        self.previous: _Branch | None = None
        self.kept: Span | None = None
        self.since = 0
        """The number of the message that is kept: they are numbered as they come, over all topics."""

    def grow(self, name: str, born: int) -> "_Branch":
        """A new branch below this one."""
        branch = self.branches[name] = _Branch(name, born)
        if self.last is None:
            self.first = branch
        else:
            self.last.next = branch
            branch.previous = self.last
        self.last = branch
        return branch

    def cut(self, branch: "_Branch") -> None:
        """Take a branch away that is below this one."""
        del self.branches[branch.name]
        before, after = branch.previous, branch.next
        if before is None:
            self.first = after
        else:
            before.next = after
        if after is None:
            self.last = before
        else:
            after.previous = before
        branch.previous = None


class Retained:
    """Retained messages by topic name, found by topic filter."""

    def __init__(self, account: Account | None = None) -> None:
        """Memory is charged to the account."""
        self._account = account or Budget().account("retained messages", "")
        self._root = _Branch()
        self._born = 0
        self._number = 0
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
            is_retained=True,
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
        branch = branch or self._make(name)
        branch.kept = kept
        self._number += 1
        branch.since = self._number
        self.count = count
        self._add(more)
        return True

    def _add(self, size: int) -> None:
        self.bytes += size
        self._account.add(size)

    def all(self) -> Iterator[Span]:
        """All of them; those that come or go meanwhile may be left out."""
        return filter(None, Walk(self._root, "#", self._number, dollar=True))

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
            parent.cut(child)

    def matching(self, topic_filter: str, now: float) -> list[Span]:
        """The messages of all topics that a filter matches; those that have expired are forgotten instead."""
        found: list[Span] = []
        for span in filter(None, self.walk(topic_filter)):
            if span.expires and span.expires <= now:
                self.clear(span.topic.decode())
            else:
                found.append(span)
        return found

    def walk(self, topic_filter: str) -> "Walk":
        """Go through the messages that there are now for a filter, in steps."""
        return Walk(self._root, topic_filter, self._number)

    def _find(self, name: str) -> _Branch | None:
        branch: _Branch | None = self._root
        for level in name.split("/"):
            branch = branch.branches.get(level) if branch else None
        return branch

    def _make(self, name: str) -> _Branch:
        branch = self._root
        for level in name.split("/"):
            below = branch.branches.get(level)
            if below is None:
                self._born += 1
                below = branch.grow(level, self._born)
            branch = below
        return branch


class Walk:
    """An iterator over the messages whose topics match a filter: each step finds one, or None.

    Messages may come and go between two steps. Those that come are left out: they are newer than the walk.
    """

    def __init__(self, root: _Branch, topic_filter: str, newest: int, *, dollar: bool = False) -> None:
        """`dollar`: wildcards match a first level with $, too."""
        self._root = root
        self._levels = topic_filter.split("/")
        self._is_open = self._levels[-1] == "#"
        self._newest = newest
        self._dollar = dollar
        self._path: list[_Branch] = []
        """Where the walk is: the branches from the first level down to one that has been visited."""
        self._left_out: set[_Branch] = set()

    def __iter__(self) -> Iterator[Span | None]:
        path = self._path
        branch = self._below(self._root)
        while True:
            if branch is not None and not path and self._is_hidden(branch):
                yield None
                branch = branch.next
            elif branch is not None:
                path.append(branch)
                yield self._found(branch)
                branch = self._below(branch)
            elif path:
                branch = self._beside(path.pop())
            else:
                return

    def take(self, name: str) -> Span | None:
        """The message of a topic that the filter matches, if the walk is yet to come there; it is left out then."""
        branch = self._root
        visited = True
        for depth, level in enumerate(name.split("/")):
            below = branch.branches.get(level)
            if below is None:
                return None
            if visited:
                here = self._path[depth] if depth < len(self._path) else None
                if here is not None and below.born < here.born:
                    return None
                visited = below is here
            branch = below
        if visited or branch in self._left_out or branch.since > self._newest:
            return None
        self._left_out.add(branch)
        return branch.kept

    def _found(self, branch: _Branch) -> Span | None:
        if branch.kept is None or branch.since > self._newest or branch in self._left_out:
            return None
        depth, levels = len(self._path), len(self._levels)
        # `a/#` matches `a` too.
        return branch.kept if depth == levels or (self._is_open and depth >= levels - 1) else None

    def _below(self, branch: _Branch) -> _Branch | None:
        """The first branch to visit below another."""
        level = self._level()
        if level is None:
            return None
        if level in {"+", "#"}:
            return branch.first
        return branch.branches.get(level)

    def _beside(self, branch: _Branch) -> _Branch | None:
        """The next branch to visit after one that has been left."""
        return branch.next if self._level() in {"+", "#"} else None

    def _level(self) -> str | None:
        """What the filter says of the level below the path; None if there is nothing to be found there."""
        depth = len(self._path)
        if depth < len(self._levels):
            return self._levels[depth]
        return "#" if self._is_open else None

    def _is_hidden(self, branch: _Branch) -> bool:
        """No wildcard matches a first level with $."""
        return branch.name.startswith("$") and not self._dollar and self._levels[0] in {"+", "#"}
