"""What a responder answers: as many bytes as the request has, to where the requester wants them.

Number and times of the request are in the answer; the bytes behind them mean nothing, and are not those that came.
"""

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from heliograph.amqp.messages import Data, Message, decode_message, encode_message
from heliograph.lab.load.amqp.sender_link import SenderLink
from heliograph.lab.load.amqp.template import frames_of
from heliograph.lab.load.load_client import ClientFailed

if TYPE_CHECKING:
    from heliograph.lab.load.amqp.connection import AmqpConnection

_MOST_KNOWN = 20_000
_DATA = b"\x00\x53\x75"  # descriptor of the section with the payload


@dataclass(frozen=True, slots=True)
class _Reply:
    """What answers to requests of one form look like."""

    sender_link: SenderLink
    count: int  # of frames
    size: int  # of them together
    around: tuple[bytes, bytes, bytes]  # what comes before the header of the payload, but for the delivery's number
    tail: bytes


class AmqpReplies:
    """Makes answers. Each reply address has a link of its own, which is opened when the first answer has to go there.

    Requests of one requester differ in their payload only, so what is made of everything before it is kept.
    """

    def __init__(self, end: "AmqpConnection") -> None:
        self._client = end
        self._known: dict[bytes, _Reply] = {}  # by what comes before the payload, with the payload's length
        self._sender_links: dict[str, SenderLink] = {}
        self.waiting: deque[tuple[_Reply, bytes]] = deque()  # with the header of the payload

    def add(self, head: bytes, mark: bytes) -> None:
        """Answer this request, as soon as there is credit: what comes before its payload, and the header of that."""
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
        """Frames of as many answers as may be sent now."""
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
    """Of the payload, which is said at the end of what comes before it: in one byte or in four."""
    return int.from_bytes(head[-4:]) if head[-5] == 0xB0 and head[-8:-5] == _DATA else head[-1]
