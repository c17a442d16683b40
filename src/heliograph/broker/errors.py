"""What can go wrong in a broker.

`Refused` is raised where a client or an operator asks for something that cannot be had now; it carries an error
condition of AMQP, because most of them speak that. All others are problems that a person can mend.
"""

from typing import NamedTuple

from heliograph.errors import HeliographError, InvalidInput, Problem, StorageError


class Refusal(NamedTuple):
    """Why something is not done: an error condition of AMQP 1.0, and a text for people."""

    condition: str
    text: str


class Refused(HeliographError):
    """Something that was asked for cannot be had, or not now. Its `refusal` says why."""

    def __init__(self, condition: str, text: str) -> None:
        super().__init__(text)
        self.refusal = Refusal(condition, text)


class NoSuchQueue(Refused):
    """There is no queue of that name."""

    def __init__(self, name: str) -> None:
        super().__init__("amqp:not-found", f"there is no queue {name}")


class BrokerError(Problem):
    """Root of all problems with a broker and what is in it."""


class SelectorError(BrokerError, InvalidInput):
    """A selector that cannot be understood."""


class InvalidQueue(BrokerError, InvalidInput):
    """A queue cannot be what is asked for."""


class InvalidBinding(BrokerError, InvalidInput):
    """A queue cannot be bound to this topic filter, or with this selector."""


class InvalidLink(BrokerError, InvalidInput):
    """What an AMQP client asks of a link makes no sense."""


class InvalidRequest(BrokerError, InvalidInput):
    """A message to the management node that makes no sense."""


class InvalidStream(BrokerError, InvalidInput):
    """A stream cannot be what is asked for."""


class StreamConflict(BrokerError, InvalidInput):
    """There is a stream of this name already, and it is another one."""


class TooManyStreams(BrokerError):
    """So many streams have been made that there can be no more."""


class StreamKept(BrokerError):
    """The stream cannot be deleted; the text says why."""


class UnknownRecordKind(BrokerError, StorageError):
    """The log has records that this version does not know: it is that of a later version."""


class MalformedObject(BrokerError, StorageError):
    """What the log says of a session, a queue or a stream makes no sense."""


class UnsafeMessage(BrokerError, StorageError):
    """A message of a queue is wanted that is not safe in the log yet."""
