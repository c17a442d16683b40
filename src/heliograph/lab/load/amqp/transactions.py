"""A client's units of work, one after the other: the next is asked for right behind the end of the last, as in JMS."""

from typing import TYPE_CHECKING

from heliograph.amqp import Accepted, Declare, Declared, Described, Discharge, Transfer, amqp_frame, encode
from heliograph.lab.load.load_client import ClientFailed

if TYPE_CHECKING:
    from heliograph.lab.load.amqp.session import AmqpSession
    from heliograph.lab.load.meter import Meter

_VALUE = b"\x00\x53\x77"  # descriptor of the section of a message that holds one value


class Transactions:
    """Asks the coordinator, and knows the unit of work that is open."""

    __slots__ = ("_asked_at", "_meter", "_session", "asked", "current", "filled", "handle", "limit", "used")

    def __init__(self, session: "AmqpSession", meter: "Meter", handle: int) -> None:
        self.handle = handle
        self.limit = 0  # questions that the broker has given credit for so far
        self.used = 0  # questions that were asked
        self.asked: dict[int, Declare | Discharge] = {}  # by delivery number: what waits for its answer
        self.current: bytes | None = None  # the name of the unit that is open
        self.filled = 0  # messages in it
        self._asked_at = 0
        self._session = session
        self._meter = meter

    def begin(self) -> bytes:
        """Asks for a unit of work."""
        return self._ask(Declare())

    @property
    def able(self) -> bool:
        """Whether the current unit can be committed now."""
        return self.current is not None and self.limit - self.used >= 2 and self._session.frames_left >= 2

    def commit(self, now: int) -> bytes:
        """Ends the current unit and asks for the next one."""
        assert self.current is not None
        ended, self.current, self.filled = self.current, None, 0
        self._asked_at = now
        return self._ask(Discharge(ended)) + self._ask(Declare())

    def answered(self, number: int, state: Described | None, now: int) -> None:
        """The coordinator has answered a question."""
        question = self.asked.pop(number)
        descriptor = None if state is None else state.descriptor
        if isinstance(question, Declare) and descriptor == Declared.CODE and state is not None:
            self.current = bytes(state.value[0])
        elif isinstance(question, Discharge) and descriptor == Accepted.CODE:
            self._meter.recorder("commit").record(now - self._asked_at)
        else:
            raise ClientFailed(f"the coordinator answered {state} to {type(question).__name__}")

    def _ask(self, question: Declare | Discharge) -> bytes:
        number = self._session.flight.skip()
        self._session.frames_out += 1
        self.used += 1
        self.asked[number % 2**32] = question
        transfer = Transfer(self.handle, number % 2**32, (number % 2**32).to_bytes(4), 0, False)
        return amqp_frame(0, transfer.encoded() + _VALUE + encode(question))
