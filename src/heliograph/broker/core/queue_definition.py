"""What a queue is to be: its attributes, their defaults, and what makes sense."""

import dataclasses
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

from heliograph.broker.core.names import LONGEST_DESCRIPTION
from heliograph.broker.errors import InvalidQueue
from heliograph.objects import (
    About,
    Effect,
    Mistake,
    Mqsc,
    Range,
    attributes_of,
    check_object,
    shown_value,
    text_mistake,
)

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


class QueueKind(StrEnum):
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


def is_queue_name(name: str) -> bool:
    """Whether somebody could define a queue of this name."""
    return bool(_NAME.fullmatch(name))


def queue_name_mistake(name: Any) -> str:
    """What is wrong with the name of a queue."""
    if isinstance(name, str) and name.startswith("$"):
        mistake = text_mistake(name, _LONGEST_INTERNAL_NAME)
        return f"the name of a subscription's queue: {mistake}" if mistake else ""
    if isinstance(name, str) and is_queue_name(name):
        return ""
    length = f" ({len(name)} characters)" if isinstance(name, str) else ""
    return (
        f"expected a queue name of 1 to {LONGEST_NAME} letters, digits and . _ / % -, found {shown_value(name)}{length}"
    )


def check_name(name: Any) -> None:
    """A Problem if no queue can have this name."""
    if mistake := queue_name_mistake(name):
        raise InvalidQueue(mistake)


def _other_name_mistake(name: str) -> str:
    """What is wrong with the name of another queue, which can be left out."""
    return queue_name_mistake(name) if name else ""


def _description_mistake(text: str) -> str:
    return text_mistake(text, LONGEST_DESCRIPTION)


_WITH_MESSAGES = (QueueKind.LOCAL, QueueKind.MODEL)
_ENABLED = {"ENABLED": True, "DISABLED": False}


@dataclass(frozen=True, slots=True)
class QueueDefinition:
    """The attributes of a queue. Made only if they make sense; InvalidObject says what does not."""

    name: Annotated[
        str,
        About(
            "Name of the queue: 1 to 255 letters, digits and `.` `_` `/` `%` `-`.",
            check=queue_name_mistake,
            effect=Effect.NEVER,
        ),
    ]  # those that begin with "$" are the server's own and may have any characters
    kind: Annotated[
        QueueKind,
        About(
            "`local`: has messages. `alias`: another name for a queue. `model`: what queues that clients ask for are "
            "made after.",
            effect=Effect.NEVER,
        ),
    ] = QueueKind.LOCAL
    description: Annotated[str, About("For people.", check=_description_mistake, mqsc=Mqsc("DESCR"))] = ""
    max_depth: Annotated[
        int,
        About(
            "Most messages in the queue, those of open units of work included; more are refused.",
            range=Range(1, MOST_MESSAGES),
            only_for=_WITH_MESSAGES,
            mqsc=Mqsc("MAXDEPTH"),
        ),
    ] = 5_000
    max_message_length: Annotated[
        int,
        About(
            "Largest message, as it is encoded.",
            unit="bytes",
            range=Range(1, LONGEST_MESSAGE),
            only_for=_WITH_MESSAGES,
            mqsc=Mqsc("MAXMSGL"),
        ),
    ] = 4 << 20
    put_enabled: Annotated[bool, About("Whether messages are taken.", mqsc=Mqsc("PUT", words=_ENABLED))] = True
    get_enabled: Annotated[bool, About("Whether messages are handed out.", mqsc=Mqsc("GET", words=_ENABLED))] = True
    default_persistence: Annotated[
        bool,
        About(
            "Whether a message that does not say so itself is persistent.",
            only_for=_WITH_MESSAGES,
            mqsc=Mqsc("DEFPSIST", words={"YES": True, "NO": False}),
        ),
    ] = False
    default_priority: Annotated[
        int,
        About(
            f"Priority of a message that does not name one itself; 0 is that of the standard, {STANDARD_PRIORITY}.",
            range=Range(0, 9),
            only_for=_WITH_MESSAGES,
            mqsc=Mqsc("DEFPRTY"),
        ),
    ] = 0
    order: Annotated[
        Order,
        About(
            "`priority`: higher priorities first. `fifo`: as they came.",
            only_for=_WITH_MESSAGES,
            mqsc=Mqsc("MSGDLVSQ", words={"PRIORITY": Order.PRIORITY, "FIFO": Order.FIFO}),
        ),
    ] = Order.PRIORITY
    max_ttl: Annotated[
        float,
        About(
            "Longest time that a message lives, whatever it says itself; 0 is no limit.",
            unit="seconds",
            range=Range(0, LONGEST_LIFE),
            only_for=_WITH_MESSAGES,
            mqsc=Mqsc("CAPEXPRY", per_unit=10, counted="tenths of a second", zero="NOLIMIT"),
        ),
    ] = 0.0
    backout_threshold: Annotated[
        int,
        About(
            "After so many failed deliveries a message goes to `backout_queue` or becomes a dead letter; 0 is never.",
            range=Range(0, MOST_MESSAGES),
            only_for=_WITH_MESSAGES,
            mqsc=Mqsc("BOTHRESH"),
        ),
    ] = 0
    backout_queue: Annotated[
        str,
        About(
            "Queue for messages that have failed too often; by default they become dead letters.",
            check=_other_name_mistake,
            only_for=_WITH_MESSAGES,
            mqsc=Mqsc("BOQNAME"),
        ),
    ] = ""
    dead_letter_queue: Annotated[
        str,
        About("Queue for dead letters; by default `dead_letter_queue` of `[queues]`.", check=_other_name_mistake),
    ] = ""
    exclusive: Annotated[
        bool,
        About(
            "Whether there can be one consumer only.",
            only_for=_WITH_MESSAGES,
            mqsc=Mqsc(words={"SHARE": False, "NOSHARE": True}),
        ),
    ] = False
    target: Annotated[
        str,
        About(
            "Of an alias (needed): the queue that it stands for.",
            check=_other_name_mistake,
            only_for=(QueueKind.ALIAS,),
            mqsc=Mqsc("TARGET", synonym="TARGQ"),
        ),
    ] = ""
    temporary: Annotated[
        bool,
        About(
            "Of a model: whether its queues go, with all their messages, when whoever asked for them goes.",
            only_for=(QueueKind.MODEL,),
            mqsc=Mqsc("DEFTYPE", words={"TEMPDYN": True, "PERMDYN": False}),
        ),
    ] = False

    def __post_init__(self) -> None:
        """Check it."""
        check_object(self, self._broken_rules(), f"queue {self.name}")
        object.__setattr__(self, "kind", QueueKind(self.kind))
        object.__setattr__(self, "order", Order(self.order))
        object.__setattr__(self, "max_ttl", self.max_ttl_ms / 1000)  # as exactly as it is stored

    def _broken_rules(self) -> Iterator[Mistake]:
        if self.kind == QueueKind.ALIAS and not self.target:
            yield "target", "expected the name of a queue, which an alias needs, found none"
        elif self.kind != QueueKind.ALIAS and self.target:
            yield "target", f"expected none for a {self.kind} queue, found {shown_value(self.target)}"
        for key in ("backout_queue", "dead_letter_queue", "target"):
            if self.name == getattr(self, key):
                yield key, "expected another queue, found the queue itself"

    @property
    def internal(self) -> bool:
        """Whether the server made it for itself, as the queue behind a subscription: lists do not show it."""
        return self.name.startswith("$")

    @property
    def max_ttl_ms(self) -> int:
        """Milliseconds that a message lives at most; 0 is no limit."""
        return round(self.max_ttl * 1000)

    def replace(self, **changes: Any) -> "QueueDefinition":
        """The same with some attributes changed; a Problem if one is unknown or makes no sense."""
        known = [attribute.field for attribute in attributes_of(type(self))]
        if unknown := sorted(changes.keys() - set(known)):
            raise InvalidQueue(f"queue {self.name}: no attribute {unknown[0]!r}; there are {', '.join(known)}")
        return dataclasses.replace(self, **changes)
