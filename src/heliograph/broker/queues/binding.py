"""A binding: messages that are published to topics of a filter are put into a queue."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from heliograph.broker.core.memory import Hold
from heliograph.broker.queues.message_view import MessageView
from heliograph.broker.queues.queue import Queue
from heliograph.broker.queues.selectors.compiling import Selector

_COST = 1_000
"""Bytes of memory that a binding takes, its filter and selector aside."""
_SELECTOR_COST = 20
"""Bytes of memory for each character of a selector, which is compiled."""


class Binding:
    """One topic filter bound to one queue."""

    __slots__ = ("filter", "hold", "name", "no_local", "queue", "selector")

    def __init__(
        self, topic_filter: str, queue: Queue, selector: Selector | None, no_local: str, name: str = ""
    ) -> None:
        self.filter = topic_filter
        self.queue = queue
        self.selector = selector
        """Which messages; None for all."""
        self.no_local = no_local
        """The container-id whose own messages are left out; empty for none."""
        self.name = name
        """The name that an administrator gave it; empty for bindings of the configuration or of clients."""
        length = len(selector.text) if selector else 0
        self.hold = Hold(queue.account, _COST + 2 * len(topic_filter) + _SELECTOR_COST * length)

    def __repr__(self) -> str:
        return f"Binding({self.filter!r}, {self.queue.name!r})"

    def fields(self) -> dict[str, Any]:
        """Its form in the record of the queue."""
        selector = self.selector.text if self.selector else ""
        return {"filter": self.filter, "selector": selector, "no_local": self.no_local, "name": self.name}


class Bound(NamedTuple):
    """The queues of one route. Each is there once, however many of its bindings match."""

    plain: tuple[Queue, ...]
    """They get all messages."""
    choosy: tuple[tuple[Queue, tuple[Binding, ...]], ...]
    """They get messages that one of their bindings accepts (selector, no-local)."""

    @property
    def is_durable(self) -> bool:
        """Whether one of the queues keeps persistent messages in the log."""
        return any(queue.keeps for queue in (*self.plain, *[queue for queue, _ in self.choosy]))


def bound(bindings: Sequence[Binding]) -> Bound:
    """The queues of these bindings."""
    plain: dict[Queue, None] = {}
    choosy: dict[Queue, list[Binding]] = {}
    for binding in bindings:
        if binding.selector is None and not binding.no_local:
            plain[binding.queue] = None
        else:
            choosy.setdefault(binding.queue, []).append(binding)
    return Bound(tuple(plain), tuple([(queue, tuple(some)) for queue, some in choosy.items() if queue not in plain]))


def is_wanted(bindings: tuple[Binding, ...], view: MessageView, publisher: str) -> bool:
    for binding in bindings:
        if binding.no_local and binding.no_local == publisher:
            continue
        if binding.selector is None or binding.selector.matches(view):
            return True
    return False
