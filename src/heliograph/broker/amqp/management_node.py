"""The node `$management` as clients meet it: a place that takes requests and puts the answers where they say."""

from collections import deque
from collections.abc import Callable, Generator, Sequence
from uuid import UUID

from heliograph.amqp import NULL, conditions, encode, encode_list
from heliograph.amqp.messages import Message, Value, decode_message, encode_message
from heliograph.broker.administration.management import carry_out, is_change
from heliograph.broker.amqp.addresses import AddressKind, read_address
from heliograph.broker.broker import Broker
from heliograph.broker.core.slices import Steps
from heliograph.broker.errors import NoSuchQueue, Refusal, Refused
from heliograph.broker.queues.queue import Queue
from heliograph.broker.queues.refusal import TAKEN, Put
from heliograph.broker.queues.unit_of_work import UnitOfWork

_LARGEST = 64 << 10
"""Bytes of a request: none needs near as much, and to read a large one would hold everybody up."""
_TOO_LARGE = Refusal(conditions.LINK_MESSAGE_SIZE_EXCEEDED, f"a request has at most {_LARGEST} bytes")


class ManagementNode:
    """Takes the requests of one client. What they change is safe before the answer is there."""

    def __init__(self, broker: Broker, is_askers: Callable[[Queue], bool]) -> None:
        """`is_askers` says whether the client that asks has made a temporary queue itself."""
        self._broker = broker
        self._is_askers = is_askers
        self._asked: deque[tuple[Message, Queue]] = deque()
        """Requests that have not been answered, and where the answers go."""

    def put(self, messages: Sequence[bytes], *, work: UnitOfWork | None = None) -> Put:
        """Do what these messages ask for, in order; ProtocolError, and nothing is done, if one is no message."""
        requests = [decode_message(payload) if len(payload) <= _LARGEST else None for payload in messages]
        refused = {}
        for place, request in enumerate(requests):
            if (why := _TOO_LARGE if request is None else self._take(request, work)) is not None:
                refused[place] = why
        return Put(refused, stored=False) if refused else TAKEN

    def _take(self, request: Message, work: UnitOfWork | None) -> Refusal | None:
        """Handle one request; why not, if it is one that cannot even be answered."""
        if work is not None:
            return Refusal(conditions.NOT_ALLOWED, "the management node takes no part in units of work")
        try:
            _check_identifier(request)
            replies = self._replies(request)
        except Refused as refused:
            return refused.refusal
        self._asked.append((request, replies))
        if not self._broker.slices.is_working(self):
            self._broker.slices.begin(self, self._answer_all(), lambda: None)
        return None

    def _answer_all(self) -> Steps:
        while self._asked:
            yield from self._answer(*self._asked.popleft())

    def _answer(self, request: Message, replies: Queue) -> Steps:
        answer = yield from _encoded((yield from carry_out(self._broker, request)))
        if self._broker.store is not None and is_change(request):
            self._broker.turn.held.when_safe(lambda: _reply(replies, answer))
        else:
            _reply(replies, answer)

    def _replies(self, request: Message) -> Queue:
        """Where the answer goes: a queue that the client has made, or that any client may put to."""
        if not request.reply_to or not isinstance(request.reply_to, str):
            raise Refused(conditions.INVALID_FIELD, "expected a queue for the answer in reply-to, found none")
        address = read_address(request.reply_to)
        if address.kind in {AddressKind.TOPIC, AddressKind.MANAGEMENT}:
            raise Refused(conditions.INVALID_FIELD, f"expected a queue for the answer, found {request.reply_to}")
        queues = self._broker.queues
        queue = queues.find(address.name)
        definition = queue.definition
        if definition.internal:  # somebody's subscription
            raise NoSuchQueue(address.name)
        if queues.is_servers(queue):
            raise Refused(conditions.NOT_ALLOWED, f"queue {queue.name} belongs to the server, and takes no answers")
        if definition.temporary and not self._is_askers(queue):
            raise Refused(conditions.NOT_ALLOWED, f"queue {queue.name} is another client's, and takes no answers")
        if not queue.takes(1):
            raise Refused(conditions.PRECONDITION_FAILED, f"queue {queue.name} is full or not enabled for puts")
        return queue


def _encoded(answer: Message) -> Generator[None, None, bytes]:
    """An answer's bytes, in short steps: a list in it may be long."""
    listed = answer.body.value if isinstance(answer.body, Value) else None
    if not isinstance(listed, list):
        return encode_message(answer)
    parts = []
    for item in listed:
        parts.append(encode(item))
        yield None
    answer.body = Value(None)
    return encode_message(answer).removesuffix(NULL) + encode_list(parts)


def _check_identifier(request: Message) -> None:
    """An answer says what it answers, so that has to be something which the standard knows as an identifier."""
    for found in (request.message_id, request.correlation_id):
        if not isinstance(found, str | bytes | int | UUID | None):
            kind = type(found).__name__
            raise Refused(conditions.INVALID_FIELD, f"expected an identifier of a message, found a value of {kind}")


def _reply(queue: Queue, answer: bytes) -> None:
    if not queue.deleted:  # who asked may have gone
        queue.put([answer])
