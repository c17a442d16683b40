"""The receiving link of a client: counts the marks of what arrives, settles by ranges, renews credit."""

from typing import TYPE_CHECKING

from heliograph.amqp.decoding import decode
from heliograph.amqp.frames import amqp_frame
from heliograph.amqp.performatives import RECEIVER, Accepted, Disposition, TransactionalState
from heliograph.lab.tally import Tally
from heliograph.lab.transfers import MARK, length_of_run, run_of_marks

if TYPE_CHECKING:
    from heliograph.lab.amqp_client import Client

_ACCEPTED = Accepted()
_NUMBERS = 2**32


class Inlet:
    """What one client gets, from a publisher that numbers its messages from 0."""

    def __init__(self, client: "Client") -> None:
        self.tally = Tally(_NUMBERS)
        self.publisher = 0
        self.strange = 0  # messages of other publishers
        self.count = 0  # deliveries that have arrived
        self._client = client
        self._credit = self._granted = 0
        self._number: int | None = None  # of the delivery that is arriving in pieces
        self._ranges: list[tuple[int, int]] = []  # delivery numbers that wait to be settled, first and behind the last

    def open(self, credit: int) -> bytes:
        """The first credit."""
        self._credit = self._granted = credit
        return self._client.credit_frame(0, credit)

    def take(self, data: bytes, at: int, stop: int, end: int) -> int:
        """Take the transfer from `at` to `stop`, and as many more before `end` as are of the same form.

        The answer is where the last of them ends.
        """
        fields = decode(data, at + 8)[0].value
        number = fields[1] if self._number is None else self._number
        if len(fields) > 5 and fields[5]:
            self._number = number
            self._client.took(1)
            return stop
        size, many = stop - at, 1
        publisher, sequence = MARK.unpack_from(data, stop - MARK.size)
        if self._number is None and end - stop >= size and sequence == self.tally.next:
            many = length_of_run(data, at, stop, end)
            if many > 1 and not run_of_marks(data, stop, size, many, self.publisher, sequence):
                many = 1
        self._number = None
        self._count(publisher, sequence, many)
        if len(fields) < 5 or not fields[4]:
            self._note(number, number + many)
        self._client.took(many)
        return at + many * size

    def _count(self, publisher: int, sequence: int, many: int) -> None:
        self.count += many
        if publisher != self.publisher:
            self.strange += 1
        elif many > 1:
            self.tally.next += many
        else:
            self.tally.take(sequence)

    def _note(self, first: int, behind: int) -> None:
        ranges = self._ranges
        if ranges and ranges[-1][1] == first:
            first = ranges.pop()[0]
        ranges.append((first, behind))

    @property
    def unsettled(self) -> int:
        """Deliveries that have arrived and wait to be settled."""
        return sum([behind - first for first, behind in self._ranges])

    def settle(self, most: int = _NUMBERS, work: bytes | None = None) -> bytes:
        """Frames that accept the oldest of what has arrived, as part of a unit of work where one is named."""
        state = _ACCEPTED if work is None else TransactionalState(work, _ACCEPTED)
        frames = []
        while self._ranges and most:
            first, behind = self._ranges.pop(0)
            upto = min(behind, first + most)
            most -= upto - first
            if upto < behind:
                self._ranges.insert(0, (upto, behind))
            frames.append(amqp_frame(0, Disposition(RECEIVER, first, upto - 1, True, state).encoded()))
        return b"".join(frames)

    def renew(self) -> bytes:
        """A frame with new credit when half of it is used up by what has arrived and been settled."""
        granted = self.count - self.unsettled + self._credit
        if granted - self._granted < self._credit // 2:
            return b""
        self._granted = granted
        return self._client.credit_frame(self.count, granted - self.count)
