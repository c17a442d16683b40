"""Retained messages: the last one of each topic, for future subscribers.

Theory of operation

1. A tree of topic levels, so that a filter with wildcards is matched without looking at all topics. A branch without a
   message and without branches below it is cut off.
2. There may be a million matches for one SUBSCRIBE. So `Walk` finds them step by step, in slices, while messages come
   and go. The branches of a level are a linked list in order of age, newest last: a walk can stop anywhere and go on
   later. A branch that was cut off still points to its next one, so a walk that stands on it finds its way.
3. Messages and branches are numbered as they come. A walk leaves out messages that are newer than itself: their
   subscriber got them as ordinary messages. The number of a branch tells whether a walk has passed it (`take`).
4. When a new message of a topic is published before a walk has come to its retained one, `take` hands that out first.
"""

from collections.abc import Iterator

from heliograph.broker.core.limits import Limits
from heliograph.broker.core.memory import Account, Budget
from heliograph.broker.core.span import Span, message

_COST = 500
"""Bytes of memory for the objects of a retained message."""
_LEVEL_COST = 200


def cost_of(span: Span) -> int:
    """Bytes of memory that a message takes. Its topic is in memory twice: in the message and in the tree."""
    levels = span.topic.count(b"/")
    return _COST + _LEVEL_COST * levels + 2 * len(span.topic) + len(span.properties) + len(span.data)


class _Branch:
    """One level of the tree of topic names.

    Branches of one level are a linked list, the newest last. One that was cut off still knows its next one.
    """

    __slots__ = ("born", "branches", "first", "kept", "last", "name", "next", "previous", "since")

    def __init__(self, name: str = "", born: int = 0) -> None:
        self.name = name
        self.born = born
        """Serial number of the branch."""
        self.branches: dict[str, _Branch] = {}
        self.first: _Branch | None = None
        self.last: _Branch | None = None
        self.next: _Branch | None = None
        self.previous: _Branch | None = None
        self.kept: Span | None = None
        self.since = 0
        """Serial number of the retained message, over all topics."""

    def grow(self, name: str, born: int) -> "_Branch":
        """Add a branch below this one."""
        branch = self.branches[name] = _Branch(name, born)
        if self.last is None:
            self.first = branch
        else:
            self.last.next = branch
            branch.previous = self.last
        self.last = branch
        return branch

    def cut(self, branch: "_Branch") -> None:
        """Remove a branch below this one. Its `next` stays, for walks that stand on it."""
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
        # `next` stays on purpose: a walk may stand on this branch.
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

        `limits` is None for messages from the log, which are kept whatever the limits are now.
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
        """All messages. Those that are added or removed meanwhile may be left out."""
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
        """The messages of all topics that match a filter. Expired ones are removed instead."""
        found: list[Span] = []
        for span in filter(None, self.walk(topic_filter)):
            if span.expires and span.expires <= now:
                self.clear(span.topic.decode())
            else:
                found.append(span)
        return found

    def walk(self, topic_filter: str) -> "Walk":
        """An iterator over the present messages that match a filter, in steps."""
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

    Messages may be added and removed between two steps. Those that are added are left out.
    """

    def __init__(self, root: _Branch, topic_filter: str, newest: int, *, dollar: bool = False) -> None:
        """`dollar`: wildcards also match a first level that begins with $."""
        self._root = root
        self._levels = topic_filter.split("/")
        self._is_open = self._levels[-1] == "#"
        self._newest = newest
        self._dollar = dollar
        self._path: list[_Branch] = []
        """The position of the walk: the branches from the first level down to the last one that was visited."""
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
        """The message of a matching topic if the walk has not come to it yet. The walk leaves it out then."""
        branch = self._root
        visited = True
        for depth, level in enumerate(name.split("/")):
            below = branch.branches.get(level)
            if below is None:
                return None
            if visited:
                here = self._path[depth] if depth < len(self._path) else None
                # Younger branches come later in the list, so an older one has been passed.
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
        """The part of the filter for the level below the path; None if nothing below can match."""
        depth = len(self._path)
        if depth < len(self._levels):
            return self._levels[depth]
        return "#" if self._is_open else None

    def _is_hidden(self, branch: _Branch) -> bool:
        """Whether this first level begins with $, which wildcards do not match."""
        return branch.name.startswith("$") and not self._dollar and self._levels[0] in {"+", "#"}
