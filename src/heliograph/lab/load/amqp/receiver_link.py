"""A receiving link of a client: takes runs of transfers, accepts by ranges, renews credit."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from heliograph.amqp import decode_transfer
from heliograph.lab.load import payloads
from heliograph.lab.load.amqp.dispositions import accepting
from heliograph.lab.load.amqp.received_runs import Form, form_of, run_of
from heliograph.lab.load.amqp.session import AmqpSession
from heliograph.lab.load.plan import Group

_CREDIT = 1000  # messages that JMS clients usually have sent to them ahead
_EVERYTHING = 2**32
HEAD = 4096  # bytes of a frame: in these is all that is looked at


class Consumer(Protocol):
    """The receiver of a link's messages: the client that the link belongs to."""

    def received_run(self, rows: NDArray[np.void], size: int, now: int) -> None:
        """Count messages of one group, given as columns, with their total length in bytes."""

    def received_one(self, values: tuple[int, ...], size: int, now: int) -> bool:
        """Count one message by the header of its payload; False if it does not belong to this load."""

    def answer(self, head: bytes, mark: bytes) -> None:
        """Answer a request, given its bytes before the payload and its payload's header."""


class ReceiverLink:
    """The receiving end of one link: counts messages, accepts them, and grants credit."""

    __slots__ = (
        "_consumer",
        "_counted",
        "_credit",
        "_first_count",
        "_form",
        "_granted",
        "_head",
        "_number",
        "_ranges",
        "_responds",
        "_session",
        "_size",
        "_values",
        "handle",
        "unsettled",
    )

    def __init__(self, consumer: Consumer, session: AmqpSession, group: Group, handle: int) -> None:
        self.handle = handle
        self.unsettled = 0  # deliveries that have arrived and wait to be accepted
        self._consumer = consumer
        self._session = session
        self._credit = max(_CREDIT, 2 * group.acknowledge_every, 2 * group.transaction)
        self._counted = self._granted = 0  # deliveries that have arrived, and those that may arrive
        self._first_count = 0  # with what the broker began to count
        self._ranges: list[tuple[int, int]] = []  # delivery numbers to be accepted, first and behind the last
        self._form: Form | None = None  # of the last whole message
        self._number = -1  # of the delivery that is arriving in pieces; -1: none
        self._values: tuple[int, ...] = ()  # the header of its payload
        self._head = b""  # what comes before the payload
        self._size = 0
        self._responds = group.role == "respond"

    def open(self, delivery_count: int) -> bytes:
        """Grant the first credit, counted from the broker's initial delivery count."""
        self._first_count = delivery_count
        self._granted = self._credit
        return self._session.credit(self.handle, delivery_count, self._credit)

    def take(self, data: memoryview, at: int, stop: int, now: int) -> int:
        """Take the transfer from `at` to `stop` and similar ones behind it; returns the end of the last one.

        Of a large frame, the first `HEAD` bytes are enough.
        """
        if self._number >= 0:
            self._go_on(data, at, stop, now)
            return stop
        form = self._form
        if form is None or form.stride != stop - at or not form.fits(data, at):
            form = self._form = form_of(data, at, stop)
        rows = run_of(data, at, form)
        if rows is not None:
            self._take_run(rows, form, now)
            if self._responds:
                self._answer_run(data, at, len(rows), form)
            return at + len(rows) * form.stride
        number = form.number(data, at)
        self._session.frames_in += 1
        self._note(number, 1, settled=form.settled)
        self._values, self._size = self._header(data, at + form.payload_at, stop), form.stride
        if self._responds:
            self._head = bytes(data[at + form.message_at : at + form.payload_at])
        if form.more:
            self._form = None
            self._number = number
        else:
            self._complete(now)
        return stop

    def _complete(self, now: int) -> None:
        """Count a complete message that is not part of a run."""
        if self._consumer.received_one(self._values, self._size, now) and self._responds:
            self._consumer.answer(self._head, payloads.HEADER.pack(*self._values))

    @staticmethod
    def _header(data: memoryview, at: int, stop: int) -> tuple[int, ...]:
        """The header of the payload, or zeros, which match no load, if the payload is too short for one."""
        return (
            payloads.HEADER.unpack_from(data, at) if stop - at >= payloads.HEADER_SIZE else (0,) * len(payloads.FIELDS)
        )

    def _take_run(self, rows: NDArray[np.void], form: Form, now: int) -> None:
        count = len(rows)
        self._session.frames_in += count
        self._note(int(rows["id"][0]), count, settled=form.settled)
        self._consumer.received_run(rows, count * form.stride, now)

    def _answer_run(self, data: memoryview, at: int, count: int, form: Form) -> None:
        answer = self._consumer.answer
        for place in range(at, at + count * form.stride, form.stride):
            payload = place + form.payload_at
            answer(
                bytes(data[place + form.message_at : payload]), bytes(data[payload : payload + payloads.HEADER_SIZE])
            )

    def _go_on(self, data: memoryview, at: int, stop: int, now: int) -> None:
        """Take a further frame of a message that spans several."""
        self._session.frames_in += 1
        self._size += stop - at
        frame = bytes(data[at : min(stop, at + HEAD)])
        found = decode_transfer(frame, 8, len(frame))
        if found is None or not found[0].more:
            self._number = -1
            self._complete(now)

    def _note(self, first: int, count: int, *, settled: bool) -> None:
        self._counted += count
        if settled:
            return
        self.unsettled += count
        ranges = self._ranges
        if ranges and ranges[-1][1] == first:
            ranges[-1] = ranges[-1][0], first + count
        else:
            ranges.append((first, first + count))

    def accept(self, most: int = _EVERYTHING, work: bytes | None = None) -> bytes:
        """Accept the oldest received messages, within the unit of work `work` if given."""
        frames = []
        while self._ranges and most:
            first, behind = self._ranges.pop(0)
            upto = min(behind, first + most)
            most -= upto - first
            self.unsettled -= upto - first
            if upto < behind:
                self._ranges.insert(0, (upto, behind))
            frames.append(accepting(first, upto - 1, work))
        return b"".join(frames)

    def renew(self) -> bytes:
        """Grant new credit when half of it is used up by messages that are received and accepted."""
        granted = self._counted - self.unsettled + self._credit
        if granted - self._granted < self._credit // 2:
            return b""
        self._granted = granted
        return self._session.credit(self.handle, self._first_count + self._counted, granted - self._counted)
