"""Putting runs of messages that may not all be messages."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from heliograph.amqp import ProtocolError
from heliograph.broker.queues.refusal import TAKEN, Put, PutSteps, Refusal
from heliograph.broker.queues.unit_of_work import Work


class Place(Protocol):
    """Where messages are put: a queue, a topic, or whatever their own addresses say."""

    def put(self, messages: Sequence[bytes], *, work: Work | None = None) -> Put | PutSteps:
        """Put encoded messages; which of them were refused, and whether the sender hears when it is safe only.

        Where that takes long, there are steps to be done. ProtocolError, and none is put, if one of them is no message.
        """


def put_run(place: Place, messages: Sequence[bytes], work: Work | None) -> Put | PutSteps:
    """Put messages; what is no message is refused like others that cannot be taken."""
    try:
        return place.put(messages, work=work)
    except ProtocolError as error:
        if len(messages) == 1:
            return Put({0: Refusal(error.condition, str(error))}, stored=False)
    return put_all([(place, [message]) for message in messages], work)


def put_all(runs: Iterable[tuple[Place | Refusal, Sequence[bytes]]], work: Work | None) -> Put | PutSteps:
    """Put one run after the other, each at its place; or refuse it, if there is none."""
    steps = _put_all(runs, work)
    try:
        step = next(steps)
    except StopIteration as over:
        put: Put = over.value
        return put
    return _behind(step, steps)


def _behind(step: bool | None, steps: PutSteps) -> PutSteps:
    yield step
    return (yield from steps)


def _put_all(runs: Iterable[tuple[Place | Refusal, Sequence[bytes]]], work: Work | None) -> PutSteps:
    refused: dict[int, Refusal] = {}
    stored = False
    at = 0
    for place, messages in runs:
        if isinstance(place, Refusal):
            refused.update(dict.fromkeys(range(at, at + len(messages)), place))
        else:
            put = put_run(place, messages, work)
            if not isinstance(put, Put):
                put = yield from put
            stored = stored or put.stored
            refused.update({at + index: why for index, why in put.refused.items()})
        at += len(messages)
    return Put(refused, stored) if refused or stored else TAKEN
