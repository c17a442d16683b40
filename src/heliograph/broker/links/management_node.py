"""The node `$management` as clients meet it: a place that takes requests and puts the answers where they say."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from heliograph.amqp import conditions
from heliograph.amqp.message import Message, decode_message, encode_message
from heliograph.broker.links.addresses import Kind, read_address
from heliograph.broker.queues.management import handle, is_change
from heliograph.broker.queues.queue import Queue
from heliograph.broker.queues.refusal import TAKEN, Put, Refusal, Refused
from heliograph.broker.queues.work import Work

if TYPE_CHECKING:
    from heliograph.broker.broker import Broker


class ManagementNode:
    """Takes requests. What they change is safe before the answer is there."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker

    def put(self, messages: Sequence[bytes], *, work: Work | None = None) -> Put:
        """Do what these messages ask for, in order; ProtocolError, and nothing is done, if one is no message."""
        requests = [decode_message(payload) for payload in messages]
        refused = {}
        for place, request in enumerate(requests):
            if (why := self._take(request, work)) is not None:
                refused[place] = why
        return Put(refused, stored=False) if refused else TAKEN

    def _take(self, request: Message, work: Work | None) -> Refusal | None:
        """Handle one request; why not, if it is one that cannot even be answered."""
        if work is not None:
            return Refusal(conditions.NOT_ALLOWED, "the management node takes no part in units of work")
        try:
            replies = self._replies(request)
        except Refused as refused:
            return refused.refusal
        answer = encode_message(handle(self._broker, request))
        if self._broker.store is not None and is_change(request):
            self._broker.store.when_safe(lambda: _reply(replies, answer))
        else:
            _reply(replies, answer)
        return None

    def _replies(self, request: Message) -> Queue:
        if not request.reply_to:
            raise Refused(conditions.INVALID_FIELD, "expected a queue for the answer in reply-to, found none")
        address = read_address(request.reply_to)
        if address.kind in {Kind.TOPIC, Kind.MANAGEMENT}:
            raise Refused(conditions.INVALID_FIELD, f"expected a queue for the answer, found {request.reply_to}")
        return self._broker.queues.find(address.name)


def _reply(queue: Queue, answer: bytes) -> None:
    if not queue.deleted:  # who asked may have gone
        queue.put([answer])
