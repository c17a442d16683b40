"""What a queue is to be: its attributes, their defaults, and what makes sense."""

import dataclasses
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

from heliograph.broker.attributes import LONGEST_DESCRIPTION, number_mistakes, shown, text_mistake
from heliograph.errors import Problem
from heliograph.objects.bounds import Range

DEAD_LETTER_QUEUE = "SYSTEM.DEAD.LETTER.QUEUE"
"""Always there: takes the dead letters of queues that name no other place for them."""
TEMPORARY_MODEL = "SYSTEM.DEFAULT.MODEL.QUEUE"
"""Always there: what temporary queues are made after when nobody says otherwise."""

MOST_MESSAGES = 999_999_999
STANDARD_PRIORITY = 4
"""Of messages that do not name one, in queues that do not either."""
LONGEST_MESSAGE = 256 << 20
LONGEST_LIFE = MOST_MESSAGES
"""Seconds that a message can live at most."""
LONGEST_NAME = 255
_LONGEST_INTERNAL_NAME = 2048
"""Names of the server's own queues have the names of a client and of its subscription in them."""
_NAME = re.compile(rf"[A-Za-z0-9._/%-]{{1,{LONGEST_NAME}}}")


class Kind(StrEnum):
    """What stands behind a name."""

    LOCAL = "local"
    """A queue with messages."""
    ALIAS = "alias"
    """Another name for a queue."""
    MODEL = "model"
    """What queues are made after when somebody asks for a new one."""


class Order(StrEnum):
    """Who goes first."""

    PRIORITY = "priority"
    """Higher priorities first, and within one priority in the order that they came."""
    FIFO = "fifo"
    """In the order that they came."""


@dataclass(frozen=True, slots=True)
class QueueDefinition:
    """The attributes of a queue. Made only if they make sense; a Problem says what does not."""

    name: str
    """1 to 255 of A-Z a-z 0-9 . _ / % -; names that begin with "$" are the server's own and may have any characters."""
    kind: Kind = Kind.LOCAL
    description: str = ""
    max_depth: Annotated[int, Range(1, MOST_MESSAGES)] = 5_000
    """Most messages in the queue, those of units of work that are not committed included."""
    max_message_length: Annotated[int, Range(1, LONGEST_MESSAGE)] = 4 << 20
    """Largest message, in bytes as it is encoded."""
    put_enabled: bool = True
    get_enabled: bool = True
    default_persistence: bool = False
    """Whether a message that does not say (`durable` is not in its header) is persistent."""
    default_priority: Annotated[int, Range(0, 9)] = 0
    """Priority of a message that does not say, 1 to 9; 0 for 4, which is what the standard says."""
    order: Order = Order.PRIORITY
    max_ttl: Annotated[int, Range(0, LONGEST_LIFE * 1000)] = 0
    """Milliseconds that a message lives at most, whatever it says itself; 0 is no limit."""
    backout_threshold: Annotated[int, Range(0, MOST_MESSAGES)] = 0
    """After so many failed deliveries a message goes to the backout queue or becomes a dead letter; 0 is never."""
    backout_queue: str = ""
    dead_letter_queue: str = ""
    """Where rejected messages go; empty for the server's own dead-letter queue."""
    exclusive: bool = False
    """Whether there can be one consumer only."""
    target: str = ""
    """Of an alias: the name of the queue."""
    temporary: bool = False
    """Whether it goes with its creator, and all of its messages with it; of a model: whether its queues do."""

    def __post_init__(self) -> None:
        """Check it."""
        try:
            object.__setattr__(self, "kind", Kind(self.kind))
            object.__setattr__(self, "order", Order(self.order))
        except ValueError:
            self._check_choice("kind", self.kind, Kind)
            self._check_choice("order", self.order, Order)
        check_name(self.name)
        if mistake := text_mistake(self.description, LONGEST_DESCRIPTION):
            raise Problem(f"queue {self.name}, description: {mistake}")
        for field, mistake in number_mistakes(self):
            raise Problem(f"queue {self.name}, {field}: {mistake}")
        for field in _SWITCHES:
            if not isinstance(found := getattr(self, field), bool):
                raise Problem(f"queue {self.name}, {field}: expected true or false, found {shown(found)}")
        for field in ("backout_queue", "dead_letter_queue", "target"):
            self._check_other(field)
        if (self.kind is Kind.ALIAS) != bool(self.target):
            raise Problem(
                f"queue {self.name}: expected the name of a queue as target of an alias, and none of other kinds; "
                f"found kind = {self.kind}, target = {self.target!r}"
            )

    @property
    def internal(self) -> bool:
        """Whether the server made it for itself, as the queue behind a subscription: lists do not show it."""
        return self.name.startswith("$")

    def replace(self, **changes: Any) -> "QueueDefinition":
        """The same with some attributes changed; a Problem if one is unknown or makes no sense."""
        known = {field.name for field in dataclasses.fields(self)}
        if unknown := sorted(changes.keys() - known):
            raise Problem(f"queue {self.name}: no attribute {unknown[0]!r}; there are {', '.join(sorted(known))}")
        return dataclasses.replace(self, **changes)

    def _check_choice(self, field: str, found: str, choices: type[StrEnum]) -> None:
        if found not in list(choices):
            raise Problem(f"queue {self.name}: expected {field} to be one of {', '.join(choices)}, found {found!r}")

    def _check_other(self, field: str) -> None:
        """Check the name of another queue."""
        found = getattr(self, field)
        if not found:
            return
        try:
            check_name(found)
        except Problem as problem:
            raise Problem(f"queue {self.name}, {field}: {problem}") from None
        if found == self.name:
            raise Problem(f"queue {self.name}: expected another queue as {field}, found the queue itself")


_SWITCHES = ("put_enabled", "get_enabled", "default_persistence", "exclusive", "temporary")


def is_queue_name(name: str) -> bool:
    """Whether somebody could define a queue of this name."""
    return bool(_NAME.fullmatch(name))


def check_name(name: Any) -> None:
    """A Problem if no queue can have this name."""
    if isinstance(name, str) and name.startswith("$"):
        if mistake := text_mistake(name, _LONGEST_INTERNAL_NAME):
            raise Problem(f"the name of a subscription's queue: {mistake}")
    elif not isinstance(name, str) or not is_queue_name(name):
        length = f" ({len(name)} characters)" if isinstance(name, str) else ""
        raise Problem(
            f"expected a queue name of 1 to {LONGEST_NAME} letters, digits and . _ / % -, found {shown(name)}{length}"
        )


def milliseconds(seconds: float) -> int:
    """A time that messages live, as definitions have it; a Problem if it is none."""
    if seconds not in Range(0, LONGEST_LIFE):
        raise Problem(f"max_ttl: expected a number from 0 to {LONGEST_LIFE}, found {shown(seconds)}")
    return round(seconds * 1000)
