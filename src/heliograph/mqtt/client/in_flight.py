"""What was published with QoS 1 and 2 and is in flight, as runs of consecutive numbers.

Theory of operation

The runs of the queue cover all numbers from the oldest one in flight to the newest, without gaps: so the packet
identifier in an acknowledgement gives the number, and the number gives the run. A run knows the state of each of its
messages, one byte for each, so that a thousand of them are compared and changed at the speed of C. Acknowledgements
may come in any order; a run leaves the queue when it is the oldest and all of it is done.
"""

import re
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator, Sequence

from heliograph.mqtt.errors import ProtocolError
from heliograph.mqtt.properties import Properties
from heliograph.mqtt.reasons import Reason
from heliograph.mqtt.runs import LAST_ID

SENT, RELEASING, DONE = b"\0", b"\1", b"\2"
_STRETCHES = {SENT: re.compile(b"\0+"), RELEASING: re.compile(b"\1+")}
_REQUEST = 0
"""What a SUBSCRIBE or UNSUBSCRIBE has instead of a QoS."""


class Run:
    """Messages that were published in one call."""

    __slots__ = ("first", "left", "payloads", "properties", "qos", "retain", "states", "topic")

    def __init__(
        self, first: int, topic: str, payloads: Sequence[bytes], qos: int, retain: bool, properties: Properties
    ) -> None:
        self.first = first
        self.topic = topic
        self.payloads = payloads
        self.qos = qos
        self.retain = retain
        self.properties = properties
        self.left = len(payloads)
        """How many are not acknowledged yet (QoS 2: not completed)."""
        self.states = bytearray(len(payloads))

    def stretches(self, state: bytes, start: int, stop: int) -> list[tuple[int, int]]:
        """Where consecutive messages from `start` to `stop` are in this state."""
        return [found.span() for found in _STRETCHES[state].finditer(self.states, start, stop)]


class InFlight:
    """Everything in flight to one server."""

    def __init__(self) -> None:
        self.size = 0
        """How many messages are in flight."""
        self._runs: deque[Run] = deque()
        self._next = 0
        self._quota = self._maximum = 0
        self._again: deque[tuple[Run, int]] = deque()
        """Runs that have to be sent again, and from where on."""

    @property
    def room(self) -> int:
        """How many messages can be published now."""
        return 0 if self._again else max(0, min(self._quota, self._free_ids()))

    def _free_ids(self) -> int:
        return LAST_ID - (self._next - self._runs[0].first) if self._runs else LAST_ID

    def add(self, topic: str, payloads: Sequence[bytes], qos: int, retain: bool, properties: Properties) -> list[Run]:
        """Put messages in flight, `room` at most. Where identifiers start again, another run begins."""
        made = []
        while payloads:
            count = min(len(payloads), LAST_ID - self._next % LAST_ID)
            made.append(Run(self._next, topic, payloads[:count], qos, retain, properties))
            self._next += count
            self._quota -= count
            self.size += count
            payloads = payloads[count:]
        self._runs += made
        return made

    def ask(self) -> int | None:
        """The packet identifier of a new request, if one is free."""
        if self._free_ids() < 1:
            return None
        request = Run(self._next, "", (b"",), _REQUEST, False, Properties())
        self._runs.append(request)
        self._next += 1
        return packet_id(request.first)

    def answered(self, identifier: int) -> bool:
        """Take the answer to a request; False if there was no such request."""
        return bool(self._move(identifier, 1, _REQUEST, SENT, DONE))

    def acknowledged(self, identifier: int, count: int) -> list[range]:
        """PUBACK for consecutive identifiers: the numbers of messages that were waiting for it."""
        numbers = self._move(identifier, count, 1, SENT, DONE)
        self._finished(numbers)
        return numbers

    def received(self, identifier: int, count: int, *, refused: bool = False) -> list[range]:
        """PUBREC for consecutive identifiers: the numbers of messages that were waiting for it."""
        numbers = self._move(identifier, count, 2, SENT, DONE if refused else RELEASING)
        if refused:
            self._finished(numbers)
        return numbers

    def completed(self, identifier: int, count: int) -> None:
        """PUBCOMP for consecutive identifiers."""
        self._finished(self._move(identifier, count, 2, RELEASING, DONE))

    def give_up(self, run: Run, at: int) -> range:
        """A message cannot be sent again; its number."""
        (number,) = self._move(packet_id(run.first + at), 1, run.qos, SENT, DONE)
        self._finished([number])
        return number

    def _finished(self, numbers: list[range]) -> None:
        count = sum(map(len, numbers))
        self.size -= count
        self._quota = min(self._maximum, self._quota + count)

    def _move(self, identifier: int, count: int, qos: int, before: bytes, after: bytes) -> list[range]:
        """Change the state of what has these identifiers and is in the state `before`; their numbers."""
        moved: list[range] = []
        runs = self._runs
        if not runs:
            return moved
        oldest = runs[0].first
        number = oldest + (identifier - 1 - oldest) % LAST_ID
        while count > 0:
            if number >= self._next:  # no message in flight has these identifiers; those of the oldest run follow
                count -= oldest + LAST_ID - number
                number = oldest
                continue
            run = runs[0]
            if number >= run.first + len(run.states):
                run = runs[bisect_right(runs, number, key=_first_of) - 1]
            start = number - run.first
            stop = min(start + count, len(run.states))
            if run.states[start:stop] == before * (stop - start):
                stretches = [(start, stop)]
            else:
                stretches = run.stretches(before, start, stop)
            if stretches and run.qos != qos:
                text = f"the wrong acknowledgement for packet identifier {packet_id(number)}"
                raise ProtocolError(Reason.PROTOCOL_ERROR, text)
            for lo, hi in stretches:
                run.states[lo:hi] = after * (hi - lo)
                if after is DONE:
                    run.left -= hi - lo
                moved.append(range(run.first + lo, run.first + hi))
            number += stop - start
            count -= stop - start
        while runs and not runs[0].left:
            runs.popleft()
        return moved

    # Over connections

    def resume(self, maximum: int) -> list[tuple[int, int]]:
        """A connection has found the session: all that is unfinished has to be sent again.

        The answer is (first identifier, count) of PUBREL packets; what `again` gives follows them.
        """
        self._again = deque((run, 0) for run in self._runs)
        releases = [
            (packet_id(run.first + start), stop - start)
            for run in self._runs
            for start, stop in run.stretches(RELEASING, 0, len(run.states))
        ]
        # Receive maximum counts PUBLISH packets only (MQTT 5, section 4.9), so a PUBREL need not count on a new
        # connection.
        # There are servers that count it.
        self._maximum = maximum
        self._quota = max(0, maximum - sum(count for _, count in releases))
        return releases

    def again(self) -> Iterator[tuple[Run, int, int]]:
        """What is to be sent again now, run and part of it, as far as the server allows."""
        while self._again:
            run, at = self._again[0]
            for start, stop in run.stretches(SENT, at, len(run.states)):
                if not self._quota:
                    return
                stop = min(stop, start + self._quota)
                self._quota -= stop - start
                self._again[0] = run, stop
                yield run, start, stop
                if not self._quota:
                    return
            self._again.popleft()

    def forget(self, maximum: int) -> list[range]:
        """A connection has found no session: the numbers of messages that nobody has acknowledged."""
        self._quota = self._maximum = maximum
        forgotten = [
            range(run.first + start, run.first + stop)
            for run in self._runs
            for start, stop in run.stretches(SENT, 0, len(run.states))
        ]
        self._runs.clear()
        self._again.clear()
        self.size = 0
        return forgotten

    def lost(self) -> None:
        """The connection is gone, and with it the requests that were not answered."""
        self._quota = self._maximum = 0
        self._again.clear()
        for run in self._runs:
            if run.qos == _REQUEST:
                run.states, run.left = bytearray(DONE), 0
        while self._runs and not self._runs[0].left:
            self._runs.popleft()


def packet_id(number: int) -> int:
    """The packet identifier of a message or request."""
    return number % LAST_ID + 1


def _first_of(run: Run) -> int:
    return run.first
