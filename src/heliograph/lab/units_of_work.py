"""A client's side of transactions: one unit of work after the other, the next begun when one is ended."""

from typing import TYPE_CHECKING

from heliograph.amqp.encoding import encode
from heliograph.amqp.frames import amqp_frame
from heliograph.amqp.performatives import Accepted, Declare, Declared, Discharge, Transfer
from heliograph.amqp.values import Described
from heliograph.lab.bytestream import BrokerGone
from heliograph.lab.transfers import COORDINATING

if TYPE_CHECKING:
    from heliograph.lab.amqp_client import Client

_VALUE = b"\x00\x53\x77"  # descriptor of the section of a message that holds one value


class UnitsOfWork:
    """Asks the coordinator, one question at a time."""

    def __init__(self, client: "Client") -> None:
        self.limit = 0  # questions that the broker has given credit for so far
        self.asked = -1  # delivery number of the question that waits for its answer
        self.committed = 0  # units of work that have ended well
        self.current: bytes | None = None  # the name of the unit that is open
        self._client = client

    def begin(self) -> bytes:
        """The frame that asks for a new unit of work."""
        return self._ask(Declare())

    def commit(self) -> bytes:
        """The frame that ends the current one; a new one is asked for when that has been answered."""
        assert self.current is not None
        ended, self.current = self.current, None
        return self._ask(Discharge(ended))

    def answered(self, state: Described | None) -> None:
        """The coordinator has answered: the name of a new unit, or that the last one is done."""
        self.asked = -1
        if state is not None and state.descriptor == Declared.CODE:
            self.current = state.value[0]
        elif state is not None and state.descriptor == Accepted.CODE:
            self.committed += 1
            self._client.write(self.begin())
        else:
            raise BrokerGone(f"the coordinator answered {state}")

    def _ask(self, question: Declare | Discharge) -> bytes:
        self.asked = self._client.take_numbers(1, 1)
        transfer = Transfer(COORDINATING, self.asked, self.asked.to_bytes(4, "big"), 0, False)
        return amqp_frame(0, transfer.encoded() + _VALUE + encode(question))
