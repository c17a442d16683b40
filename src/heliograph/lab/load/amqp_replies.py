"""What a responder answers: the payload of the request, to where the requester wants it, with its correlation id."""

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from heliograph.amqp.message import Data, Message, decode_message, encode_message
from heliograph.lab.load import header
from heliograph.lab.load.amqp_outlet import AmqpOutlet
from heliograph.lab.load.amqp_stencil import Frames, frames_of
from heliograph.lab.load.end import EndFailed

if TYPE_CHECKING:
    from heliograph.lab.load.amqp_dialogue import AmqpDialogue

_MOST_KNOWN = 20_000


@dataclass(frozen=True, slots=True)
class _Reply:
    """What answers to requests of one form look like."""

    outlet: AmqpOutlet
    frames: Frames


class AmqpReplies:
    """Makes answers. Each reply address has a link of its own, which is opened when the first answer has to go there.

    Requests of one requester differ in their payload only, so what is made of everything before it is kept.
    """

    def __init__(self, end: "AmqpDialogue") -> None:
        self._end = end
        self._known: dict[tuple[bytes, int], _Reply] = {}  # by what comes before the payload, and the payload's length
        self._outlets: dict[str, AmqpOutlet] = {}
        self.waiting: deque[tuple[_Reply, bytes, bytes]] = deque()  # with header and rest of the payload

    def add(self, message: memoryview, payload_at: int) -> None:
        """Answer this request, as soon as there is credit."""
        key = bytes(message[:payload_at]), len(message)
        reply = self._known.get(key)
        if reply is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            reply = self._known[key] = self._learn(bytes(message), payload_at)
        if reply.frames.count == 1:
            self.waiting.append((reply, bytes(message[payload_at:]), b""))
        else:
            body = payload_at + header.SIZE
            self.waiting.append((reply, bytes(message[payload_at:body]), reply.frames.tail))

    def _learn(self, request: bytes, payload_at: int) -> _Reply:
        end = self._end
        asked = decode_message(request)
        if not asked.reply_to:
            raise EndFailed("a request does not say where to answer: it has no reply-to")
        outlet = self._outlets.get(str(asked.reply_to))
        if outlet is None:
            outlet = self._outlets[str(asked.reply_to)] = end.attach_reply(str(asked.reply_to))
        payload = request[payload_at:]
        answer = Message(Data(payload), durable=end.crew.group.persistent, correlation_id=asked.correlation_id)
        message = encode_message(answer)
        at = len(message) - len(payload)
        frames = frames_of(message, at, outlet.handle, end.largest, settled=outlet.settled)
        return _Reply(outlet, frames)

    def send(self, now: int) -> bytes:
        """Frames of as many answers as may be sent now."""
        made: list[bytes] = []
        meter = self._end.crew.meter
        while self.waiting:
            reply, start, rest = self.waiting[0]
            if reply.outlet.room(reply.frames.count) < 1:
                break
            self.waiting.popleft()
            number = reply.outlet.begin(1, reply.frames.count, now)
            prefix = reply.frames.numbered(number)
            meter.sent += 1
            meter.bytes_sent += len(prefix) + len(start) + len(rest)
            made += prefix, start, rest
        return b"".join(made)
