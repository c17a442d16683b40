"""Transfer frames of one group: each message is a prefix, the 32 bytes of the payload's header, and a tail.

Constant bytes are encoded once. When all messages have one length, a batch is a matrix: delivery numbers, unit of
work, sequence numbers and times are written as columns, and the whole batch is sent with one system call.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heliograph.amqp import TransactionalState, Transfer, amqp_frame
from heliograph.amqp.messages import Data, Message, encode_message
from heliograph.lab.load import payloads
from heliograph.lab.load.amqp.handshake import correlation_of, written_as
from heliograph.lab.load.naming import expand, topics_of
from heliograph.lab.load.payloads import tails_of
from heliograph.lab.load.plan import Address, Group
from heliograph.lab.load.schedule import Times

Bytes = NDArray[np.uint8]

BATCH_BYTES = 192 * 1024  # of a batch: within a core's cache, and within what a socket takes
_ROWS_FROM = 6  # messages; fewer are made faster one by one
_LARGE = 8192  # bytes of a message: to copy all of it takes longer than to write a few columns
_ASCENDING = np.arange(BATCH_BYTES // payloads.HEADER_SIZE + 1, dtype=np.int64)
# With all bytes of their fields, in whose place others are written; the performative comes first, so they are found.
_NUMBER, _TAG, _WORK = b"\xf1\xf2\xf3\xf4", b"\xe1\xe2\xe3\xe4", b"\xd1"


@dataclass(frozen=True, slots=True)
class Frames:
    """The constant bytes of the frames of one message."""

    prefix: bytes  # up to the header of the payload
    tail: bytes
    count: int  # of frames
    number_at: int
    tag_at: int
    work_at: int  # 0: no unit of work

    @property
    def stride(self) -> int:
        """Length of all frames together."""
        return len(self.prefix) + payloads.HEADER_SIZE + len(self.tail)

    def around(self) -> tuple[bytes, bytes, bytes]:
        """The prefix without the number of the delivery, which stands in it twice."""
        prefix, number, tag = self.prefix, self.number_at, self.tag_at
        return prefix[:number], prefix[number + 4 : tag], prefix[tag + 4 :]

    def numbered(self, number: int, work: bytes | None = None) -> bytes:
        """The prefix of the delivery with this number."""
        made = bytearray(self.prefix)
        made[self.number_at : self.number_at + 4] = made[self.tag_at : self.tag_at + 4] = (number % 2**32).to_bytes(4)
        if work:
            made[self.work_at : self.work_at + len(work)] = work
        return bytes(made)


def frames_of(message: bytes, payload_at: int, handle: int, largest: int, *, settled: bool, work: int = 0) -> Frames:
    """The frames of a message whose payload starts at this offset; `work`: length of the name of a unit of work."""
    state = TransactionalState(_WORK * work) if work else None
    made: list[bytes] = []
    start = 0
    while message or not made:
        number, tag = (None, None) if made else (int.from_bytes(_NUMBER), _TAG)
        head = Transfer(handle, number, tag, 0, settled, True, state=state).encoded()
        room = largest - 8 - len(head)
        if len(message) <= room:
            head = Transfer(handle, number, tag, 0, settled, False, state=state).encoded()
        start = start or 8 + len(head)
        made.append(amqp_frame(0, head + message[:room]))
        message = message[room:]
    one = b"".join(made)
    at = start + payload_at
    work_at = one.index(_WORK * work) if work else 0
    return Frames(one[:at], one[at + payloads.HEADER_SIZE :], len(made), one.index(_NUMBER), one.index(_TAG), work_at)


class Sheet:
    """The matrix for messages of one form: a row per message, with the constant bytes already in place."""

    def __init__(self, model: Frames, rows: int) -> None:
        self.model = model
        self.painted: FrameCycle | None = None  # what the first rows look like
        self.rows = 0  # how many of them
        self.paper: Bytes = np.zeros((rows, model.stride), np.uint8)
        self.view = memoryview(self.paper.reshape(-1))  # type: ignore[arg-type]
        columns = self.paper.reshape(-1).view(payloads.rows_dtype(len(model.prefix), model.stride))
        self.sender, self.sequence = columns["sender"], columns["sequence"]
        self.due, self.sent = columns["due"], columns["sent"]

    def fits(self, frames: Frames) -> bool:
        """Whether this message has the form of the rows."""
        return frames.stride == self.model.stride and len(frames.prefix) == len(self.model.prefix)


@dataclass(frozen=True, slots=True)
class FrameCycle:
    """The forms of a client's messages, in sending order."""

    parts: tuple[Frames, ...]
    sheet: Sheet | None  # None: they are not all of the form that those of the group's other clients have
    work: int  # length of the name of a unit of work


class AmqpTemplate:
    """Makes the frames of a group's clients in this process."""

    def __init__(self, group: Group, index: int, seed: int, address: Address, handle: int, largest: int) -> None:
        """`largest` is the longest frame that the broker takes."""
        self._group = group
        self._index = index
        self._address = address
        self._handle = handle
        self._largest = largest
        self._tails = tails_of(group.payload, seed)
        # Message j of a client looks like message j modulo `cycle`, but for numbers and times.
        self.cycle = math.lcm(group.topics, len(self._tails))
        longest = max(map(len, self._tails)) + payloads.HEADER_SIZE
        self.batch = max(1, BATCH_BYTES // (longest + 64))
        self.frames = max(part.count for part in self._parts(0, 0))  # of a message, at most
        self._sheets: dict[int, Sheet] = {}  # by length of the name of a unit of work

    def cycle_of(self, client: int, work: int = 0) -> FrameCycle:
        """The forms of this client's messages; `work` is the length of the ids of its units of work, 0 without."""
        parts = self._parts(client, work)
        sheet = self._sheets.get(work)
        if sheet is None:
            sheet = self._sheets[work] = Sheet(parts[0], self.batch)
        return FrameCycle(parts, sheet if all(map(sheet.fits, parts)) else None, work)

    def _parts(self, client: int, work: int) -> tuple[Frames, ...]:
        group = self._group
        places = [written_as(place, self._address) for place in topics_of(group, client)]
        return tuple(
            self._frames(places[turn % group.topics], self._tails[turn % len(self._tails)], client, work)
            for turn in range(self.cycle)
        )

    def _frames(self, place: str, tail: bytes, client: int, work: int) -> Frames:
        group = self._group
        names = {f"name_{n:02}": f"value_{n:02}" for n in range(group.properties)}
        names |= {name: expand(value, group, client) for name, value in group.labels}
        asks = group.role == "request"
        message = encode_message(
            Message(
                Data(bytes(payloads.HEADER_SIZE) + tail),
                durable=group.persistent,
                to=place if group.topics > 1 else None,
                reply_to=written_as(expand(group.reply, group, client), self._address) if asks else None,
                correlation_id=correlation_of(group, client) if asks else None,
                application_properties=names or None,
            )
        )
        at = len(message) - len(tail) - payloads.HEADER_SIZE
        return frames_of(message, at, self._handle, self._largest, settled=not group.qos, work=work)

    def make(
        self, cycle: FrameCycle, client: int, count: int, due: Times, now: int, number: int, work: bytes | None
    ) -> bytes | memoryview:
        """The frames of messages `count`, `count` + 1, ... of a client, as many as there are due times (<= `batch`).

        `number` is the number of the first delivery, `work` the unit of work. What is returned is valid until the next
        call.
        """
        if cycle.sheet is not None and (len(due) >= _ROWS_FROM or cycle.parts[0].stride > _LARGE):
            return self._rows(cycle.sheet, cycle, client, count, due, now, number, work)
        return self._one_by_one(cycle, client, count, due, now, number, work)

    def _one_by_one(
        self, cycle: FrameCycle, client: int, count: int, due: Times, now: int, number: int, work: bytes | None
    ) -> bytes:
        parts: list[bytes] = []
        topics, pack = self._group.topics, payloads.HEADER.pack
        for place, due_ns in enumerate(due.tolist()):
            turn = count + place
            frames = cycle.parts[turn % self.cycle]
            sender = client * topics + turn % topics
            parts += (
                frames.numbered(number + place, work),
                pack(payloads.MAGIC, self._index, sender, turn // topics, due_ns, now),
                frames.tail,
            )
        return b"".join(parts)

    def _rows(
        self,
        sheet: Sheet,
        cycle: FrameCycle,
        client: int,
        count: int,
        due: Times,
        now: int,
        number: int,
        work: bytes | None,
    ) -> memoryview:
        size = len(due)
        topics = self._group.topics
        model, paper = sheet.model, sheet.paper
        if self.cycle == 1:
            if sheet.painted is not cycle:
                sheet.painted, sheet.rows = cycle, 0
            if sheet.rows < size:
                paper[sheet.rows : size] = self._pattern(cycle.parts[0])
                sheet.sender[sheet.rows : size] = client
                sheet.rows = size
            np.add(_ASCENDING[:size], count, out=sheet.sequence[:size])
        else:
            patterns = np.stack([self._pattern(part) for part in cycle.parts])
            turns = _ASCENDING[:size] + count
            paper[:size] = patterns[turns % self.cycle]
            sheet.sender[:size] = client * topics + turns % topics
            sheet.sequence[:size] = turns // topics
        sheet.due[:size] = due
        sheet.sent[:size] = now
        numbers = (_ASCENDING[:size] + number).astype(">u4").view(np.uint8).reshape(-1, 4)
        paper[:size, model.number_at : model.number_at + 4] = numbers
        paper[:size, model.tag_at : model.tag_at + 4] = numbers
        if work:
            paper[:size, model.work_at : model.work_at + len(work)] = np.frombuffer(work, np.uint8)
        return sheet.view[: size * model.stride]

    def _pattern(self, frames: Frames) -> Bytes:
        mark = payloads.HEADER.pack(payloads.MAGIC, self._index, 0, 0, 0, 0)
        return np.frombuffer(frames.prefix + mark + frames.tail, np.uint8)
