"""The outcome of one message: effects, and how its unit of work ends.

For the host, an outcome is all that there is to know about a message: `result` says what happens with the message and
with changes in databases, `effects` what is to be done (in this order), and `logged` what an operator should read.
Effects that are not `transactional` are carried out whatever the result is.
"""

from dataclasses import dataclass, field
from enum import Enum

from heliograph.flow.engine.exceptions import ExceptionRecord
from heliograph.flow.formats.envelope import Envelope

# What a flow wants done outside. Output nodes only say it; the runner (or a test) does it, in this order.


@dataclass(slots=True)
class Put:
    """Put a message on a queue."""

    queue: str
    envelope: Envelope
    transactional: bool
    """Part of the unit of work; otherwise it is sent whatever becomes of the rest."""
    node: str
    delay: float = 0
    """Seconds until the queue gives it to anybody."""


@dataclass(slots=True)
class Publish:
    """Publish a message on a topic of the server."""

    topic: str
    envelope: Envelope
    transactional: bool
    node: str
    retain: bool = False


@dataclass(slots=True)
class WriteFile:
    """Write to a file, by name inside the folder that the node says."""

    directory: str
    name: str
    data: bytes
    append: bool
    """Behind what the file has; otherwise the file is replaced as a whole."""
    node: str
    transactional: bool = True


@dataclass(slots=True)
class Respond:
    """Answer the HTTP request that has this identifier (`Envelope.message_id` of the request)."""

    request: bytes
    status: int
    headers: dict[str, str]
    body: bytes
    node: str
    transactional: bool = True


@dataclass(slots=True)
class DeadLetter:
    """Put the message that came in on the backout or dead-letter queue, with the reason (annotations, headers)."""

    queue: str
    envelope: Envelope
    reason: str
    """One line."""
    exceptions: str
    """The exception list as text, one exception in a line, the outermost first."""
    node: str
    """The input node."""
    transactional: bool = True

    def __post_init__(self) -> None:
        # An exception may quote half of a surrogate pair, which JSON can spell and no message can carry.
        self.reason, self.exceptions = _writable(self.reason), _writable(self.exceptions)


def _writable(text: str) -> str:
    return text if text.isascii() else text.encode(errors="backslashreplace").decode()


Effect = Put | Publish | WriteFile | Respond | DeadLetter


# What came of one message.


class Result(Enum):
    """How the unit of work of one message ends.

    Only after DONE may changes in databases and the aggregation store be committed; after all others they are rolled
    back, and then the effects that the outcome still has are carried out.
    """

    DONE = "done"
    """Carry out the effects, then forget the message."""
    BACKOUT = "backout"
    """Give the message back to where it came from, with a backout count that is one higher."""
    DEAD_LETTER = "dead letter"
    """The effects have the put to the backout or dead-letter queue; carry them out, then forget the message."""
    DISCARDED = "discarded"
    """Forget the message; for files: it has failed. The log says why."""


@dataclass(slots=True)
class LogEvent:
    """Something that an operator should know of."""

    node: str
    text: str
    severity: str = "error"
    """error, warning or information."""


@dataclass(slots=True)
class Outcome:
    """What came of one message: what to do, and how its unit of work ends."""

    result: Result
    effects: list[Effect]
    logged: list[LogEvent] = field(default_factory=list)
    exception: ExceptionRecord | None = None
    """Why, if it is not done."""
    transactional: bool = True
    """Whether the message was taken in a unit of work (otherwise it is never given back)."""
    handled: tuple[ExceptionRecord, ...] = ()
    """Exceptions that a catch or failure path has taken."""
