"""A selector: which messages of a queue a consumer wants."""

from collections.abc import Callable

from heliograph.broker.queues.message_view import MessageView
from heliograph.broker.queues.selectors.code import Code
from heliograph.broker.queues.selectors.parsing import parse
from heliograph.common.bounded_dict import BoundedDict

_KNOWN_MOST = 1000
_known: BoundedDict[str, "Selector"] = BoundedDict(_KNOWN_MOST)
_KNOWN_LONGEST = 1000


class Selector:
    """A compiled selector. `matches(view)` says whether a message is wanted."""

    __slots__ = ("matches", "python", "text")

    def __init__(self, text: str) -> None:
        """What cannot be understood raises SelectorError; see `selector_for`, which compiles each text once."""
        self.text = text
        code = Code(parse(text))
        self.python = code.source
        """What it was compiled to, for display."""
        self.matches: Callable[[MessageView], bool] = code.function()

    def __repr__(self) -> str:
        return f"Selector({self.text!r})"

    def __reduce__(self) -> tuple[Callable[[str], "Selector"], tuple[str]]:
        return selector_for, (self.text,)


def selector_for(text: str) -> Selector:
    """The selector that a text describes; consumers with the same text share one, unless it is very long."""
    known = _known.get(text)
    if known is None:
        known = Selector(text)
        if len(text) <= _KNOWN_LONGEST:
            _known[text] = known
    return known
