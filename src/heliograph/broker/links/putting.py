"""Putting runs of messages that may not all be messages."""

from collections.abc import Sequence
from typing import Protocol

from heliograph.amqp.errors import ProtocolError
from heliograph.broker.queues.refusal import Put, Refusal
from heliograph.broker.queues.work import Work


class Place(Protocol):
    """Where messages are put: a queue, a topic, or whatever their own addresses say."""

    def put(self, messages: Sequence[bytes], *, work: Work | None = None) -> Put:
        """Put encoded messages; which of them were refused, and whether the sender hears when it is safe only.

        ProtocolError, and none is put, if one of them is no message.
        """


def put_run(place: Place, messages: Sequence[bytes], work: Work | None) -> Put:
    """Put messages; what is no message is refused like others that cannot be taken."""
    try:
        return place.put(messages, work=work)
    except ProtocolError as error:
        if len(messages) == 1:
            return Put({0: Refusal(error.condition, str(error))}, stored=False)
    refused: dict[int, Refusal] = {}
    stored = False
    for index, message in enumerate(messages):
        put = put_run(place, [message], work)
        stored = stored or put.stored
        if put.refused:
            refused[index] = put.refused[0]
    return Put(refused, stored)
