"""Filters of a receiving link: selector and no-local, by either of their two descriptors."""

from typing import Any, NamedTuple

from heliograph.amqp import Described
from heliograph.broker.errors import InvalidLink
from heliograph.broker.queues.consumer import Selector
from heliograph.broker.queues.selectors.compiling import selector_for
from heliograph.broker.queues.selectors.expressions import Comparison, Identifier, Literal
from heliograph.broker.queues.selectors.parsing import parse

SELECTOR_CODE = 0x0000468C00000004
NO_LOCAL_CODE = 0x0000468C00000003
SELECTOR = frozenset({SELECTOR_CODE, "apache.org:selector-filter:string"})
NO_LOCAL = frozenset({NO_LOCAL_CODE, "apache.org:no-local-filter:list"})


class Filters(NamedTuple):
    """What a client wants to be spared."""

    selector: str
    """Empty for none."""
    no_local: bool
    understood: dict[Any, Any] | None
    """What the answer to the client repeats: the filters that are in force."""

    @property
    def awaited(self) -> str | None:
        """The correlation id that the selector asks for, if it asks for nothing else: a queue finds that at once.

        Identifiers that are no strings are written with a prefix in selectors; those are left to the selector.
        """
        if not self.selector:
            return None
        match parse(self.selector):
            case Comparison("=", Identifier("JMSCorrelationID"), Literal(str(text))) if not text.startswith("ID:"):
                return text
        return None

    def compiled(self) -> Selector | None:
        """The selector for a queue's consumer; SelectorError, which is a Problem, if it cannot be understood."""
        return selector_for(self.selector).matches if self.selector else None


def read_filters(asked: dict[Any, Any] | None) -> Filters:
    """The filters of a source that are known here; a Problem for one whose value makes no sense."""
    selector, no_local, understood = "", False, {}
    for key, value in (asked or {}).items():
        descriptor = value.descriptor if isinstance(value, Described) else key
        if not isinstance(descriptor, int | str):
            continue
        if descriptor in SELECTOR:
            text = value.value if isinstance(value, Described) else value
            if not isinstance(text, str):
                raise InvalidLink(f"expected a string as selector, found {type(text).__name__}")
            selector = text
        elif descriptor in NO_LOCAL:
            no_local = True
        else:
            continue
        understood[key] = value
    return Filters(selector, no_local, understood or None)
