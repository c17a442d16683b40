"""Bindings: messages that are published to a topic filter are put into a queue.

A rule of the configuration binds a declared queue; an administrator binds any queue, with a name for it; the
subscription of an AMQP client is a queue of its own with a binding. MQTT publications are converted once for all
queues. AMQP messages are put as they are, and are converted only if somebody on the side of MQTT wants them.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from heliograph.broker.core.memory import Hold
from heliograph.broker.core.names import LONGEST_SELECTOR, filter_mistake
from heliograph.broker.core.span import Span
from heliograph.broker.queues.conversion import amqp_messages
from heliograph.broker.queues.message_view import MessageView
from heliograph.broker.queues.queue import Queue
from heliograph.broker.queues.refusal import STORED, TAKEN, Put, Refusal
from heliograph.broker.queues.selectors.selector import Selector, selector_for
from heliograph.errors import Problem
from heliograph.objects import text_mistake

if TYPE_CHECKING:
    from heliograph.broker.broker import Broker
    from heliograph.broker.core.topics import TopicTree
    from heliograph.broker.routing.routes import Receiver

_COST = 1_000
"""Bytes of memory that a binding takes, its filter and selector aside."""
_SELECTOR_COST = 20
"""Bytes of memory for each character of a selector, which is compiled."""


class Binding:
    """Messages of a topic filter go to a queue."""

    __slots__ = ("filter", "hold", "name", "no_local", "queue", "selector")

    def __init__(
        self, topic_filter: str, queue: Queue, selector: Selector | None, no_local: str, name: str = ""
    ) -> None:
        self.filter = topic_filter
        self.queue = queue
        self.selector = selector
        """Which messages; None for all."""
        self.no_local = no_local
        """The container whose own messages do not go there; empty for none."""
        self.name = name
        """What an administrator who made it calls it; empty for one of the configuration or of a client."""
        length = len(selector.text) if selector else 0
        self.hold = Hold(queue.account, _COST + 2 * len(topic_filter) + _SELECTOR_COST * length)

    def __repr__(self) -> str:
        return f"Binding({self.filter!r}, {self.queue.name!r})"

    def fact(self) -> dict[str, Any]:
        """What the log is told of it."""
        selector = self.selector.text if self.selector else ""
        return {"filter": self.filter, "selector": selector, "no_local": self.no_local, "name": self.name}


class Bound(NamedTuple):
    """The queues of one route. Each is there once, however many of its bindings match."""

    plain: tuple[Queue, ...]
    """They get all messages."""
    choosy: tuple[tuple[Queue, tuple[Binding, ...]], ...]
    """They get what one of their bindings lets through."""

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


class Bindings:
    """`broker.bindings`."""

    def __init__(self, broker: "Broker", tree: "TopicTree[Receiver]") -> None:
        """The tree is where receivers of publications are found."""
        self._broker = broker
        self._tree = tree
        self._of: dict[Queue, dict[str, Binding]] = {}

    def bind(
        self,
        topic_filter: str,
        queue: Queue,
        *,
        selector: str = "",
        no_local: str = "",
        retained: bool = False,
        name: str = "",
    ) -> Binding:
        """From now on the messages of a filter go to a queue, or those of them that a selector lets through.

        A filter that is bound to the queue already is bound anew. A binding is kept in the log with its queue, and is
        there again after a restart. With `retained`, what is retained under the filter is put at once. A Problem says
        what is wrong with a filter or selector.
        """
        chosen = self.check(topic_filter, selector)
        self._remove(queue, topic_filter)
        binding = self._add(Binding(topic_filter, queue, chosen, no_local, name))
        self._broker.queues.note(queue)
        if retained:
            self._put_retained(binding)
        return binding

    def _put_retained(self, binding: Binding) -> None:
        now, wall = self._broker.now(), self._broker.queues.now()
        messages: list[bytes] = []
        for span in self._broker.retained.matching(binding.filter, now):
            found = amqp_messages(span, now, wall)
            if _wanted((binding,), MessageView(found[0]), ""):
                messages += found
        if messages:
            self._put([([binding.queue], messages, range(len(messages)))], patient=True)

    def unbind(self, topic_filter: str, queue: Queue) -> bool:
        """From now on the messages of a filter do not go to a queue any more; False if they did not."""
        if not self._remove(queue, topic_filter):
            return False
        self._broker.queues.note(queue)
        return True

    def declare(self, queue: Queue, filters: Sequence[str]) -> None:
        """See to it that a queue is bound to these filters, and to no others but those that an administrator made."""
        for binding in self.of(queue):
            if binding.filter not in filters and not binding.name:
                self.unbind(binding.filter, queue)
        known = {binding.filter for binding in self.of(queue) if binding.selector is None and not binding.no_local}
        for topic_filter in filters:
            if topic_filter not in known:
                self.bind(topic_filter, queue)

    def of(self, queue: Queue) -> list[Binding]:
        """The bindings of a queue."""
        return list(self._of.get(queue, {}).values())

    def named(self) -> list[Binding]:
        """Those that an administrator made."""
        return [one for some in self._of.values() for one in some.values() if one.name]

    def forget(self, queue: Queue) -> None:
        """A queue is no more."""
        for topic_filter in list(self._of.get(queue, ())):
            self._remove(queue, topic_filter)

    def revive(self, queue: Queue, facts: Sequence[dict[str, Any]]) -> None:
        """Bind a queue that was found in the log to what it was bound to."""
        for fact in facts:
            if mistake := filter_mistake(fact["filter"]):
                raise Problem(mistake)
            chosen = selector_for(fact["selector"]) if fact["selector"] else None
            self._add(Binding(fact["filter"], queue, chosen, fact["no_local"], fact.get("name", "")))

    def check(self, topic_filter: str, selector: str) -> Selector | None:
        """The selector; a Problem says what is wrong with it or with the filter."""
        mistake = filter_mistake(topic_filter, self._broker.limits.topic_levels)
        if mistake := mistake or text_mistake(selector, LONGEST_SELECTOR):
            raise Problem(mistake)
        return selector_for(selector) if selector else None

    def _add(self, binding: Binding) -> Binding:
        self._of.setdefault(binding.queue, {})[binding.filter] = binding
        self._tree.add(binding.filter, binding)
        self._broker.routes.forget(binding.filter)
        return binding

    def _remove(self, queue: Queue, topic_filter: str) -> bool:
        bindings = self._of.get(queue, {})
        binding = bindings.pop(topic_filter, None)
        if binding is None:
            return False
        if not bindings:
            del self._of[queue]
        self._tree.remove(topic_filter, binding)
        self._broker.routes.forget(topic_filter)
        return True

    # Messages

    def put_span(self, span: Span, targets: Bound) -> Put:
        """Put an MQTT publication into queues; see `_put`.

        While nothing can be stored it is taken all the same, because not all publishers can be told: they wait.
        """
        broker = self._broker
        messages = amqp_messages(span, broker.now(), broker.queues.now())
        queues = list(targets.plain)
        if targets.choosy:
            # They differ in their payloads, which selectors do not see: the first one stands for all.
            view = MessageView(messages[0])
            queues += [queue for queue, some in targets.choosy if _wanted(some, view, "")]
        return self._put([(queues, messages, range(len(messages)))] if queues else [], patient=True)

    def put_messages(self, messages: Sequence[bytes], targets: Bound, publisher: str) -> Put:
        """Put AMQP messages, as they are, into queues; see `_put`. `publisher` is the container that sent them."""
        everything = range(len(messages))
        runs: list[_Run] = []
        if targets.plain:
            runs.append((targets.plain, messages, everything))
        if targets.choosy:
            views = [MessageView(message) for message in messages]
            alike: dict[tuple[int, ...], list[Queue]] = {}
            for queue, some in targets.choosy:
                places = tuple([place for place in everything if _wanted(some, views[place], publisher)])
                alike.setdefault(places, []).append(queue)
            runs += [
                (queues, [messages[place] for place in places], places) for places, queues in alike.items() if places
            ]
        return self._put(runs, patient=False)

    def _put(self, runs: "list[_Run]", *, patient: bool) -> Put:
        """Put each run into its queues. Refused is what some queue wanted and none took."""
        answers = [
            (places, put)
            for queues, messages, places in runs
            for put in self._broker.queues.put(queues, messages, patient=patient)
        ]
        stored = any(put.stored for _, put in answers)
        if not any(put.refused for _, put in answers):
            return STORED if stored else TAKEN
        refused: dict[int, Refusal] = {}
        taken: set[int] = set()
        for places, put in answers:
            self._broker.stats.rejected += len(put.refused)
            for index, place in enumerate(places):
                if index in put.refused:
                    refused[place] = put.refused[index]
                else:
                    taken.add(place)
        return Put({place: why for place, why in refused.items() if place not in taken}, stored)


_Run = tuple[Sequence[Queue], Sequence[bytes], Sequence[int]]
"""Messages for the same queues, and their places in the run that came."""


def _wanted(bindings: tuple[Binding, ...], view: MessageView, publisher: str) -> bool:
    for binding in bindings:
        if binding.no_local and binding.no_local == publisher:
            continue
        if binding.selector is None or binding.selector.matches(view):
            return True
    return False
