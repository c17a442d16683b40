"""Requests and their replies: a temporary queue for the replies of a session, matched by correlation id."""

from collections.abc import Callable, Coroutine
from typing import Any

from heliograph.amqp import Accepted
from heliograph.client.core.consumer import ReceiverEnd
from heliograph.client.core.inbox import settle, take_all
from heliograph.client.core.producer import ProducerCore, SendOptions
from heliograph.client.core.sender import Sending
from heliograph.client.core.session_links import SessionLinks
from heliograph.client.destination import Destination, TemporaryQueue, destination_of
from heliograph.client.errors import IllegalState, MessagingProblem, NoAnswer
from heliograph.client.message import Message
from heliograph.client.pending import Pending, start


class _Request:
    """A request that waits for its reply."""

    __slots__ = ("destination", "message", "reply")

    def __init__(self, destination: Destination, message: Message) -> None:
        self.destination = destination
        self.message = message
        self.reply: Pending[Message] = Pending()


class Requests:
    """The requests of one session."""

    def __init__(
        self,
        session: SessionLinks,
        new_queue: Callable[[], Coroutine[Any, Any, TemporaryQueue]],
        consumer_of: Callable[[Destination], ReceiverEnd],
    ) -> None:
        """`new_queue` makes the queue for the replies, and `consumer_of` its consumer, which is not attached yet."""
        self._session = session
        self._new_queue = new_queue
        self._consumer_of = consumer_of
        self._waiting: dict[Any, _Request] = {}
        self._opening: Pending[None] | None = None
        self._producer: ProducerCore | None = None
        self._replies: ReceiverEnd | None = None
        self._queue: TemporaryQueue | None = None

    async def request(self, to: Destination | str, body: Any, timeout: float | None) -> Message:
        """Send a request and wait for its reply."""
        if self._session.transaction is not None:
            raise IllegalState("a transacted session sends at commit; a request needs another session for its reply")
        if self._opening is None:
            self._opening = start(self._open())
        try:
            await self._opening
        except MessagingProblem:
            self._opening = None
            raise
        assert self._producer is not None
        message = body if isinstance(body, Message) else Message(body)
        self._producer.identify(message)
        if message.correlation_id is None:
            # Some responders return the message id as correlation id, others the correlation id; so both are the same.
            message.correlation_id = message.message_id
        request = _Request(destination_of(to), message)
        return await self._reply_to(request, timeout)

    async def _reply_to(self, request: _Request, timeout: float | None) -> Message:
        ids = {request.message.message_id, request.message.correlation_id}
        self._waiting |= dict.fromkeys(ids, request)
        reply, driver = request.reply, self._session.connection.driver
        late = NoAnswer(f"no reply from {request.destination} in {timeout} seconds")
        timer = None if timeout is None else driver.later(timeout, lambda: reply.fail(late))
        self._send(request)
        try:
            return await reply
        finally:
            if timer is not None:
                timer.cancel()
            for each in ids:
                self._waiting.pop(each, None)

    async def _open(self) -> None:
        session = self._session
        self._queue = await self._new_queue()
        replies = self._consumer_of(self._queue)
        replies.on_ready = self._arrived
        self._replies = replies
        await session.add(replies)
        self._producer = ProducerCore(session, None, SendOptions(persistent=False), presettled=False)
        await self._producer.open()

    def _send(self, request: _Request) -> None:
        assert self._producer is not None
        request.message.reply_to = self._queue
        try:
            payload = self._producer.encode(request.message, request.destination, self._producer.options)
        except MessagingProblem as problem:
            request.reply.fail(problem)
            return
        sending = Sending(payload)

        def sent(done: Pending[Any]) -> None:
            if done.error is not None:
                request.reply.fail(done.error)

        sending.done.when_done(sent)
        self._producer.submit(request.destination, sending)

    def _arrived(self) -> None:
        replies = self._replies
        assert replies is not None
        inbox = replies.inbox
        deliveries = take_all(inbox.ready)
        settle(inbox, deliveries, Accepted())
        self._session.connection.touch(replies)
        for delivery in deliveries:
            message = replies.message(inbox, delivery)
            try:
                request = self._waiting.get(message.correlation_id)
            except (MessagingProblem, TypeError):
                # Not decodable, or without a usable id: it answers no request of this session.
                continue
            if request is not None:
                request.reply.resolve(message)

    def interrupted(self) -> None:
        """The queue for replies is lost, so requests in flight cannot be answered: drop them."""
        if self._producer is not None:
            self._producer.drop()

    def restored(self) -> None:
        """Ask again, with the new queue for replies."""
        for request in dict.fromkeys(self._waiting.values()):
            self._send(request)

    def end(self, problem: MessagingProblem) -> None:
        """The session is over."""
        for request in list(self._waiting.values()):
            request.reply.fail(problem)
