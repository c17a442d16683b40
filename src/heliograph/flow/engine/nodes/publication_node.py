"""Publication: sends the message to all its subscribers.

The topic is what the message says: `MQRFH2.psc.Topic`, or else `Properties.Topic` (which an input node can set). The
message is published on the server, for its subscribers, and put on the queues of subscriptions that are registered with
the flow, by topic and by a condition on the content.

A message with `MQRFH2.psc.Command` registers (RegSub) or ends (DeregSub) such a subscription, with `Topic`, `Filter`,
`SubPoint` and `QName` (or else the queue for replies), or removes a retained publication (DelPub).
"""

from collections.abc import Sequence
from dataclasses import replace

from heliograph.flow.definition import NodeDefinition
from heliograph.flow.engine.compilation import Compilation
from heliograph.flow.engine.node import TRANSACTION, Node, NodeKind, Property
from heliograph.flow.engine.nodes.output_nodes import PERSISTENCE, PutOptions
from heliograph.flow.engine.outcome import Effect, Publish, Put
from heliograph.flow.engine.run import Assembly, Run
from heliograph.flow.engine.subscriptions import Subscription, SubscriptionRegistry
from heliograph.flow.errors import NodeError
from heliograph.flow.formats.envelope import Envelope
from heliograph.flow.language.esql.runtime.evaluation import Evaluation
from heliograph.flow.tree import Element

_HEADER = "MQHRF2"


class Publication(Node):
    """Publishes the message, or executes the subscriber's command in it."""

    def __init__(self, definition: NodeDefinition, compilation: Compilation) -> None:
        super().__init__(definition, compilation)
        self._point: str = definition.properties["subscription_point"]
        self._put_options = PutOptions(definition)
        self._catalogue = compilation.catalogue

    def accept(self, assembly: Assembly, run: Run) -> None:
        """The end of the path."""
        try:
            effects = self._effects(assembly, run)
        except Exception as error:
            self.fail(assembly, run, error)
            return
        run.effects.extend(effects)

    def _effects(self, assembly: Assembly, run: Run) -> Sequence[Effect]:
        message = assembly.message.envelope
        psc = _psc(assembly.message.root) if message.format.startswith(_HEADER) else None
        command = _first(psc, "Command") or "Publish"
        if command == "Publish":
            topics = _all(psc, "Topic") or [message.topic]
            return [effect for topic in topics for effect in self._published(topic, psc, assembly, run)]
        if command == "DelPub":
            transactional = self._put_options.transactional(run)
            empty = replace(message, body=b"", format="")
            return [Publish(topic, empty, transactional, self.name, retain=True) for topic in _all(psc, "Topic")]
        self._subscribe(command, psc, message, run)
        return ()

    def _published(self, topic: str, psc: Element | None, assembly: Assembly, run: Run) -> list[Effect]:
        if not topic:
            raise NodeError("The message has no topic: neither MQRFH2.psc.Topic nor Properties.Topic.")
        if "+" in topic or "#" in topic:
            raise NodeError(f"The topic {topic!r} cannot be published on: + and # are for subscriptions.")
        self._put_options.check_refusal(topic, run)
        envelope = self._put_options.envelope(assembly.message, run)
        transactional = self._put_options.transactional(run)
        retain = "RetainPub" in _all(psc, "PubOpt")
        effects: list[Effect] = [Publish(topic, envelope, transactional, self.name, retain)]
        registry = run.resources.subscriptions
        if registry is not None:
            evaluation = Evaluation(
                assembly.message.root,
                catalogue=self._catalogue,
                now=run.now,
                input_local_environment=assembly.local_environment,
                environment=run.environment,
            )
            for subscription in registry.matching(topic, self._point, evaluation):
                self._put_options.check_refusal(subscription.queue, run)
                effects.append(Put(subscription.queue, envelope, transactional, self.name))
        return effects

    def _subscribe(self, command: str, psc: Element | None, message: Envelope, run: Run) -> None:
        registry = run.resources.subscriptions
        if registry is None:
            raise NodeError("There is no registry of subscriptions; the runner has to open one.")
        queue = _first(psc, "QName") or message.reply_to
        for topic in _all(psc, "Topic") or [""]:
            subscription = Subscription(queue, topic, _first(psc, "SubPoint"), _first(psc, "Filter"))
            _carry_out(command, subscription, registry)


def _carry_out(command: str, subscription: Subscription, registry: SubscriptionRegistry) -> None:
    if command == "RegSub":
        registry.register(subscription)
    elif command == "DeregSub":
        if not registry.deregister(subscription):
            raise NodeError(f"There is no such subscription: {subscription}.")
    else:
        raise NodeError(f"expected one of Publish, DelPub, RegSub, DeregSub in MQRFH2.psc.Command, found {command!r}")


def _psc(root: Element) -> Element | None:
    header = root.first("MQRFH2")
    return header.first("psc") if header is not None else None


def _all(folder: Element | None, name: str) -> list[str]:
    return [str(element.value) for element in folder.all(name) if element.value] if folder is not None else []


def _first(folder: Element | None, name: str) -> str:
    values = _all(folder, name)
    return values[0] if values else ""


KIND = NodeKind(
    "Publication",
    "Publishes the message.",
    Publication,
    properties={
        "subscription_point": Property("Only subscriptions with this point get it."),
        "transaction": TRANSACTION,
        "persistence": PERSISTENCE,
    },
    outputs=("failure",),
)
