"""One AMQP client with numbered messages: it sends, receives, accepts, commits, and answers requests.

A reply has the length of its request. Its payload starts with the request's number and times, and is padded with zeros.
"""

from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heliograph.amqp import Accepted, TransactionalState
from heliograph.amqp.messages import Data, Message, decode_message, encode_message
from heliograph.lab.errors import ClientFailed
from heliograph.lab.load.amqp.connection import AmqpConnection, AmqpConnectionGroup
from heliograph.lab.load.amqp.dispositions import Outcomes, dispositions
from heliograph.lab.load.amqp.session import SenderLink
from heliograph.lab.load.amqp.template import AmqpTemplate, FrameCycle, frames_of
from heliograph.lab.load.ledger import Receiver
from heliograph.lab.load.link import Link
from heliograph.lab.load.schedule import Times

_LOOK = 20_000_000  # ns between two looks whether nothing more is to be sent
_MOST_KNOWN = 20_000
_DATA = b"\x00\x53\x75"  # descriptor of the section with the payload

_GOOD = frozenset({Accepted.CODE, TransactionalState.CODE})


@dataclass(frozen=True, slots=True)
class _Reply:
    """The constant parts of the replies to requests whose bytes before the payload are the same."""

    sender_link: SenderLink
    count: int  # of frames
    size: int  # of them together
    around: tuple[bytes, bytes, bytes]  # what comes before the header of the payload, but for the delivery's number
    tail: bytes


class AmqpReplies:
    """Builds replies. Each reply address has its own link, opened for the first reply to that address.

    Requests of one requester differ only in their payload, so the decoded part before it is cached.
    """

    def __init__(self, end: AmqpConnection) -> None:
        self._client = end
        self._known: dict[bytes, _Reply] = {}  # by what comes before the payload, with the payload's length
        self._sender_links: dict[str, SenderLink] = {}
        self.waiting: deque[tuple[_Reply, bytes]] = deque()  # with the header of the payload

    def add(self, head: bytes, mark: bytes) -> None:
        """Queue the reply to a request, given its bytes before the payload and its payload's header."""
        reply = self._known.get(head)
        if reply is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            reply = self._known[head] = self._learn(head)
        self.waiting.append((reply, mark))

    def _learn(self, head: bytes) -> _Reply:
        end = self._client
        payload = bytes(_length(head))
        asked = decode_message(head + payload)
        if not asked.reply_to:
            raise ClientFailed("a request does not say where to answer: it has no reply-to")
        sender_link = self._sender_links.get(str(asked.reply_to))
        if sender_link is None:
            sender_link = self._sender_links[str(asked.reply_to)] = end.attach_reply(str(asked.reply_to))
        answer = Message(Data(payload), durable=end.client_group.group.persistent, correlation_id=asked.correlation_id)
        message = encode_message(answer)
        at = len(message) - len(payload)
        frames = frames_of(message, at, sender_link.handle, end.largest, settled=sender_link.settled)
        return _Reply(sender_link, frames.count, frames.stride, frames.around(), frames.tail)

    def send(self, now: int) -> bytes:
        """The frames of as many replies as credit and windows allow now."""
        made: list[bytes] = []
        waiting, meter = self.waiting, self._client.client_group.meter
        while waiting:
            sender_link, frames = waiting[0][0].sender_link, waiting[0][0].count
            room = sender_link.room(frames)
            if room < 1:
                break
            count = 0
            while waiting and count < room:
                reply, mark = waiting[0]
                if reply.sender_link is not sender_link or reply.count != frames:
                    break
                waiting.popleft()
                number = ((sender_link.next + count) % 2**32).to_bytes(4)
                first, second, third = reply.around
                made += first, number, second, number, third, mark, reply.tail
                meter.bytes_sent += reply.size
                count += 1
            sender_link.begin(count, count * frames, now)
            meter.sent += count
        return b"".join(made)


def _length(head: bytes) -> int:
    """The length of the payload, which is the last field (one byte or four) of the bytes before it."""
    return int.from_bytes(head[-4:]) if head[-5] == 0xB0 and head[-8:-5] == _DATA else head[-1]


class AmqpLoadClient(AmqpConnection):
    """One AMQP client on one connection.

    QoS 0: messages are sent settled. QoS 1: a sender waits for dispositions, and a receiver accepts in batches of
    `acknowledge_every` messages. A transaction has exactly as many messages as the group says; only the last one may
    have fewer.
    """

    __slots__ = ("_answered", "_cycle", "_receiver", "_replies", "_template", "_written_off", "count", "received")

    def __init__(self, client_group: AmqpConnectionGroup, client: int, link: Link, began: int) -> None:
        super().__init__(client_group, client, link, began)
        self.count = client_group.counts[self.place]  # messages that this client has sent, on earlier connections too
        self.received = 0  # messages, whatever they are
        self._answered = self.count  # answers that have come
        self._written_off = 0  # own messages that are not waited for any more
        self._template: AmqpTemplate | None = None
        self._cycle: FrameCycle | None = None
        self._receiver: Receiver | None = client_group.receiver(client) if client_group.group.receives else None
        self._replies = AmqpReplies(self) if client_group.group.role == "respond" else None

    # Receiving

    def received_run(self, rows: NDArray[np.void], size: int, now: int) -> None:
        """Count messages of one group, given as columns, with their total length in bytes."""
        assert self._receiver is not None
        group = int(rows["group"][0])
        self.received += len(rows)
        if group == self.client_group.index:
            self._answered += len(rows)
        self.client_group.take(self._receiver, group, rows, size, now)

    def received_one(self, values: tuple[int, ...], size: int, now: int) -> bool:
        """Count one message by the header of its payload; False if it does not belong to this load."""
        assert self._receiver is not None
        self.received += 1
        if values[1] == self.client_group.index:
            self._answered += 1
        return self.client_group.take_one(self._receiver, values, size, now)

    def answer(self, head: bytes, mark: bytes) -> None:
        """Answer a request, given its bytes before the payload and its payload's header."""
        assert self._replies is not None
        self._replies.add(head, mark)

    def _respond(self, now: int) -> None:
        frames = self._replies.send(now) if self._replies is not None and self._replies.waiting else b""
        for receiver_link in self.receiver_links:
            if receiver_link.unsettled:
                frames += self._accept(now)
                break
        for receiver_link in self.receiver_links:
            frames += receiver_link.renew()
        if frames:
            self.link.write(frames)

    def _accept(self, now: int, *, all_of_it: bool = False) -> bytes:
        """Accept received messages if they fill a batch or a unit of work, or (`all_of_it`) in any case."""
        group, transactions = self.client_group.group, self.transactions
        waiting = sum(receiver_link.unsettled for receiver_link in self.receiver_links)
        if transactions is None:
            if waiting < group.acknowledge_every and not all_of_it:
                return b""
            return b"".join(receiver_link.accept() for receiver_link in self.receiver_links)
        if (waiting < group.transaction and not all_of_it) or not transactions.able:
            return b""
        frames, left = b"", group.transaction
        for receiver_link in self.receiver_links:
            before = receiver_link.unsettled
            frames += receiver_link.accept(left, transactions.current)
            left -= before - receiver_link.unsettled
        return frames + transactions.commit(now)

    # Dispositions

    def _take_dispositions(self, data: memoryview, at: int, stop: int, now: int) -> int:
        outcomes, end = dispositions(data, at, stop)
        self._settle(outcomes, now)
        return end

    def _settle(self, outcomes: Outcomes, now: int) -> None:
        transactions, meter = self.transactions, self.client_group.meter
        state = outcomes.state
        for first, last in outcomes.ranges:
            if transactions is not None and transactions.asked:
                for number in [number for number in transactions.asked if first <= number <= last]:
                    transactions.answered(number, state, now)
                    self._look_whether_ready()
            took = self.session.flight.end(first, last, now)
            if not len(took):
                continue
            if state is not None and state.descriptor in _GOOD:
                meter.acknowledged += len(took)
                meter.recorder("acknowledge").record_all(took)
            else:
                meter.errors += len(took) - 1
                meter.failed(f"the broker did not accept a message: {state}")

    # Sending

    def credit(self) -> int:
        """How many messages may be sent now by link credit and the session's windows."""
        if self.link.blocked or not self.ready or self.sender_link is None:
            return 0
        if self.transactions is not None and self.transactions.current is None:
            return 0
        template = self._template
        if template is None:
            template = self._template = self.client_group.template(self.largest)
        return self.sender_link.room(template.frames)

    def room(self) -> int:
        """How many messages may be sent now by credit, windows and the unit of work; at most one batch."""
        room = self.credit()
        if room < 1:
            return 0
        assert self._template is not None
        room = min(self._template.batch, room)
        if self.client_group.answered_window:
            room = min(room, self.client_group.group.window - self.unanswered())
        transactions = self.transactions
        if transactions is not None:
            room = min(room, self.client_group.group.transaction - transactions.filled)
        return max(0, room)

    def unanswered(self) -> int:
        """Own messages (of requesters: requests) that have not come back. Asked only where that limits sending.

        If requesters share a reply queue and the broker does not apply selectors, a reply to any of them counts: the
        total number of requests in flight stays the same.
        """
        if self.client_group.group.role == "request":
            return self.count - max(self._answered, self._written_off)
        assert self._receiver is not None
        return self.count - max(self.client_group.returned(self.client, self._receiver), self._written_off)

    def stop_waiting(self) -> None:
        """Give up on own messages that have not come back: they may be lost."""
        self._written_off = self.count

    def send(self, due: Times, now: int) -> int:
        """Send in one batch, and commit when the unit of work is full."""
        self.link.write(self._batch(due, now))
        transactions = self.transactions
        full = transactions is not None and transactions.filled >= self.client_group.group.transaction
        if full and transactions is not None and transactions.able:
            self.link.write(transactions.commit(now))
        return len(due)

    def send_all(self, due: Times, now: int) -> None:
        """Send the next len(due) messages with one write, even if they are several batches.

        Send no more than credit allows, and no more than still belong to the open unit of work.
        """
        assert self._template is not None
        most = self._template.batch
        if len(due) <= most:
            self.send(due, now)
            return
        parts = [bytes(self._batch(due[at : at + most], now)) for at in range(0, len(due) - most, most)]
        rest = len(due) - len(parts) * most
        self.link.write(b"".join([*parts, self._batch(due[-rest:], now)]), lasting=True)

    def _batch(self, due: Times, now: int) -> bytes | memoryview:
        """The frames of the next len(due) messages, which are valid until the next call."""
        template, sender_link, transactions = self._template, self.sender_link, self.transactions
        assert template is not None
        assert sender_link is not None
        work = None if transactions is None else transactions.current
        length = 0 if work is None else len(work)
        if self._cycle is None or self._cycle.work != length:
            self._cycle = template.cycle_of(self.client, length)
        size = len(due)
        number = sender_link.begin(size, self._frames(template, size), now)
        frames = template.make(self._cycle, self.client, self.count, due, now, number, work)
        self.count += size
        self.client_group.counts[self.place] = self.count
        meter = self.client_group.meter
        meter.sent += size
        meter.bytes_sent += len(frames)
        if transactions is not None:
            transactions.filled += size
        return frames

    def _frames(self, template: AmqpTemplate, size: int) -> int:
        """The frames of the next `size` messages."""
        assert self._cycle is not None
        if template.frames == 1 or template.cycle == 1:
            return template.frames * size
        return sum(self._cycle.parts[turn % template.cycle].count for turn in range(self.count, self.count + size))

    def settle_rest(self, now: int) -> None:
        """Commit or accept incomplete batches, because nothing more will be sent soon."""
        if self.transactions is not None and self.transactions.filled and self.transactions.able:
            self.link.write(self.transactions.commit(now))
        if any(receiver_link.unsettled for receiver_link in self.receiver_links) and (
            frames := self._accept(now, all_of_it=True)
        ):
            self.link.write(frames)

    def outstanding(self) -> int:
        """The number of unaccepted and uncommitted messages, and of replies that wait for credit."""
        waiting = len(self._replies.waiting) if self._replies is not None else 0
        if self.transactions is not None and self.sender_link is not None:
            waiting += self.transactions.filled + len(self.transactions.asked)
        return waiting + self.session.flight.count


class AmqpClientGroup(AmqpConnectionGroup):
    """Makes AMQP clients, which share the template of their frames."""

    def make_client(self, client: int, began: int) -> AmqpLoadClient:
        """Begin to connect this client."""
        return AmqpLoadClient(self, client, self.make_link(), began)

    def pump(self, now: int) -> int:
        """Send what is due. At the end, settle incomplete batches and units of work.

        Otherwise the broker would redeliver unsettled messages when the client disconnects, and they would count as
        duplicates.
        """
        wake = super().pump(now)
        if not self.group.transaction and self.group.acknowledge_every == 1:
            return wake
        if now >= self._until:
            for load_client in self.load_clients:
                if isinstance(load_client, AmqpLoadClient):
                    load_client.settle_rest(now)
        return min(wake, now + _LOOK)
