"""Bindings: messages that are published to topics that match a filter are put into a queue.

A binding has one of three sources: the configuration (for declared queues), an administrator (for any queue; such a
binding has a name), or the subscription of an AMQP client (a queue of its own with one binding). MQTT messages are
converted to AMQP once for all queues. AMQP messages are put as they are, and converted to MQTT only if there are MQTT
receivers.
"""

from collections.abc import Sequence
from typing import Any

from heliograph.broker.core.names import LONGEST_SELECTOR, filter_mistake
from heliograph.broker.core.retained import Retained
from heliograph.broker.core.services import Services
from heliograph.broker.core.span import Span
from heliograph.broker.errors import InvalidBinding, Refusal
from heliograph.broker.queues.binding import Binding, Bound, is_wanted
from heliograph.broker.queues.conversion import amqp_messages
from heliograph.broker.queues.message_view import MessageView
from heliograph.broker.queues.queue import Queue
from heliograph.broker.queues.queues import Queues
from heliograph.broker.queues.refusal import STORED, TAKEN, Put
from heliograph.broker.queues.selectors.compiling import Selector, selector_for
from heliograph.broker.routing.routes import RouteTable
from heliograph.objects import text_mistake

_Run = tuple[Sequence[Queue], Sequence[bytes], Sequence[int]]
"""Queues, messages for all of them, and the index of each message in the publication."""


class Bindings:
    """All bindings of one broker (`broker.bindings`)."""

    def __init__(self, services: Services, queues: Queues, routes: RouteTable, retained: Retained) -> None:
        """`retained` is needed for bindings that ask for retained messages."""
        self._services = services
        self._queues = queues
        self._routes = routes
        self._retained = retained
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
        """Bind a topic filter to a queue, for all messages or those that a selector accepts.

        A filter that is bound to the queue already is bound anew. Bindings are stored with their queue and survive a
        restart. With `retained`, matching retained messages are put at once. InvalidBinding says what is wrong with a
        filter or selector.
        """
        chosen = self.check(topic_filter, selector)
        self._remove(queue, topic_filter)
        binding = self._add(Binding(topic_filter, queue, chosen, no_local, name))
        self._queues.note(queue)
        if retained:
            self._put_retained(binding)
        return binding

    def _put_retained(self, binding: Binding) -> None:
        now, wall = self._services.now(), self._queues.now()
        messages: list[bytes] = []
        for span in self._retained.matching(binding.filter, now):
            found = amqp_messages(span, now, wall)
            if is_wanted((binding,), MessageView(found[0]), ""):
                messages += found
        if messages:
            self._put([([binding.queue], messages, range(len(messages)))], patient=True)

    def unbind(self, topic_filter: str, queue: Queue) -> bool:
        """Remove the binding of a filter to a queue; False if there is none."""
        if not self._remove(queue, topic_filter):
            return False
        self._queues.note(queue)
        return True

    def declare(self, queue: Queue, filters: Sequence[str]) -> None:
        """Make the bindings of the configuration those of these filters. Bindings of administrators stay."""
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
        """The bindings that administrators made."""
        return [one for some in self._of.values() for one in some.values() if one.name]

    def forget(self, queue: Queue) -> None:
        """Remove all bindings of a queue that was deleted."""
        for topic_filter in list(self._of.get(queue, ())):
            self._remove(queue, topic_filter)

    def restore(self, queue: Queue, facts: Sequence[dict[str, Any]]) -> None:
        """Restore the bindings of a queue that was found in the log."""
        for fact in facts:
            if mistake := filter_mistake(fact["filter"]):
                raise InvalidBinding(mistake)
            chosen = selector_for(fact["selector"]) if fact["selector"] else None
            self._add(Binding(fact["filter"], queue, chosen, fact["no_local"], fact.get("name", "")))

    def check(self, topic_filter: str, selector: str) -> Selector | None:
        """The compiled selector, None if it is empty. InvalidBinding says what is wrong with it or with the filter."""
        mistake = filter_mistake(topic_filter, self._services.limits.topic_levels)
        if mistake := mistake or text_mistake(selector, LONGEST_SELECTOR):
            raise InvalidBinding(mistake)
        return selector_for(selector) if selector else None

    def _add(self, binding: Binding) -> Binding:
        self._of.setdefault(binding.queue, {})[binding.filter] = binding
        # The route is forgotten only when the receiver is in the tree: a look-up in between would keep the old one.
        self._routes.tree.add(binding.filter, binding)
        self._routes.forget(binding.filter)
        return binding

    def _remove(self, queue: Queue, topic_filter: str) -> bool:
        bindings = self._of.get(queue, {})
        binding = bindings.pop(topic_filter, None)
        if binding is None:
            return False
        if not bindings:
            del self._of[queue]
        self._routes.tree.remove(topic_filter, binding)
        self._routes.forget(topic_filter)
        return True

    # Messages

    def put_span(self, span: Span, targets: Bound) -> Put:
        """Put an MQTT publication into queues; see `_put`.

        While the disk is in trouble, messages are accepted all the same: MQTT 3 publishers cannot be refused, so they
        wait for their acknowledgement.
        """
        messages = amqp_messages(span, self._services.now(), self._queues.now())
        queues = list(targets.plain)
        if targets.choosy:
            # The messages of a span differ in their payloads only, which selectors cannot see: the first stands for
            # all.
            view = MessageView(messages[0])
            queues += [queue for queue, some in targets.choosy if is_wanted(some, view, "")]
        return self._put([(queues, messages, range(len(messages)))] if queues else [], patient=True)

    def put_messages(self, messages: Sequence[bytes], targets: Bound, publisher: str) -> Put:
        """Put AMQP messages, as they are, into queues; see `_put`. `publisher` is the container-id of the sender."""
        everything = range(len(messages))
        runs: list[_Run] = []
        if targets.plain:
            runs.append((targets.plain, messages, everything))
        if targets.choosy:
            views = [MessageView(message) for message in messages]
            alike: dict[tuple[int, ...], list[Queue]] = {}
            for queue, some in targets.choosy:
                # Queues whose selectors accept the same messages share one put.
                places = tuple([place for place in everything if is_wanted(some, views[place], publisher)])
                alike.setdefault(places, []).append(queue)
            runs += [
                (queues, [messages[place] for place in places], places) for places, queues in alike.items() if places
            ]
        return self._put(runs, patient=False)

    def _put(self, runs: list[_Run], *, patient: bool) -> Put:
        """Put messages into their queues. A message is refused if a queue should have got it and no queue took it."""
        answers = [
            (places, put)
            for queues, messages, places in runs
            for put in self._queues.put(queues, messages, patient=patient)
        ]
        stored = any(put.stored for _, put in answers)
        if not any(put.refused for _, put in answers):
            return STORED if stored else TAKEN
        refused: dict[int, Refusal] = {}
        taken: set[int] = set()
        for places, put in answers:
            self._services.stats.rejected += len(put.refused)
            for index, place in enumerate(places):
                if index in put.refused:
                    refused[place] = put.refused[index]
                else:
                    taken.add(place)
        return Put({place: why for place, why in refused.items() if place not in taken}, stored)
