"""What generated readers and writers call when something is wrong, and to protect delimiters that are data."""

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, NoReturn

from heliograph.flow.errors import CANNOT_WRITE, FormatProblem
from heliograph.flow.formats.model import Source
from heliograph.flow.formats.tds.tds_plan import MessagePlan
from heliograph.flow.tree import Element, building

SHOWN = 40


class Spot(NamedTuple):
    """What a line of generated code converts."""

    name: str
    variable: str
    """The local variable with the text or value."""
    offset: str
    """An expression of local variables that is where the text begins."""
    expected: str


class ErrorReports:
    """Problems of one message in one format."""

    def __init__(self, title: str, codec: str, spots: Mapping[int, Spot]) -> None:
        self.title = title
        self.codec = codec
        self.spots = spots

    def fail(self, parent: Element, text: str, at: int, expected: str, name: str = "") -> NoReturn:
        """The text at this place is not what was expected."""
        found = "the end of data" if at >= len(text) else repr(text[at : at + SHOWN])
        raise self.read_error(parent, text, at, expected, found, name)

    def not_read(self, error: ValueError, parent: Element, text: str) -> Exception:
        """The problem of a value that could not be read, in the function that catches the error."""
        trace = error.__traceback__
        spot = self.spots.get(trace.tb_lineno) if trace is not None else None
        if trace is None or spot is None:
            return error
        names = trace.tb_frame.f_locals
        at = eval(spot.offset, {"sum": sum, "len": len, "map": map}, names)  # noqa: S307 - generated with the code
        return self.read_error(parent, text, at, spot.expected, repr(names[spot.variable]), spot.name)

    def read_error(self, parent: Element, text: str, at: int, expected: str, found: str, name: str) -> FormatProblem:
        """The problem of a text that was found at a place."""
        line = text.count("\n", 0, at) + 1
        return FormatProblem(
            self.title,
            expected,
            found,
            path=_joined(parent.path(), name),
            offset=len(text[:at].encode(self.codec)),
            line=line if "\n" in text else None,
            column=at - text.rfind("\n", 0, at) if "\n" in text else None,
        )

    def unwritable(self, parent: Element, name: str, expected: str, found: str) -> FormatProblem:
        """The problem of a tree that cannot be written."""
        return FormatProblem(self.title, expected, found, path=_joined(parent.path(), name), number=CANNOT_WRITE)

    def not_written(self, error: ValueError, parent: Element) -> Exception:
        """The problem of a value that could not be written, in the function that catches the error."""
        trace = error.__traceback__
        spot = self.spots.get(trace.tb_lineno) if trace is not None else None
        if trace is None or spot is None:
            return error
        value = trace.tb_frame.f_locals.get(spot.variable)
        found = f"{value!r} ({type(value).__name__})"
        return self.unwritable(parent, spot.name, spot.expected, found)

    def unexpected_members(self, parent: Element, known: Mapping[str, Any], counts: Mapping[str, Any]) -> FormatProblem:
        """The problem of a group with members that its model does not have, or more often than it may."""
        strange = [name for name in counts if name not in known]
        if strange:
            return self.unwritable(parent, strange[0], f"one of {', '.join(known)}", strange[0])
        twice = next(child.name for child in parent.children if parent.count(child.name) > 1)
        return self.unwritable(parent, twice, f"one {twice}", f"{parent.count(twice)}")

    def protect_all(
        self, parent: Element, names: list[str], texts: list[str], protect: Callable[[str], str]
    ) -> list[str]:
        """The texts with their delimiters protected; a problem if that cannot be."""
        result = []
        for name, text in zip(names, texts, strict=True):
            try:
                result.append(protect(text))
            except ValueError:
                raise self.unwritable(parent, name, "text without delimiters", repr(text)) from None
        return result


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path and name else path or name


def text_taker(stops: tuple[str, ...], quote: str, escape: str) -> Callable[[str, int, int], tuple[str, int]]:
    """A function that takes a field's text at a place, up to the next delimiter that is none of its data.

    It returns the text without quotes and escape characters, and where the field ends; or `-at - 1` if it has a quote
    that is never closed.
    """
    ends = "|".join(map(re.escape, stops)) or r"(?!)"
    one = rf"(?!{ends})[\s\S]"
    if escape:
        one = rf"{re.escape(escape)}[\s\S]|{one}"
    plain = re.compile(f"(?:{one})*").match
    quoted = (
        re.compile(f"{re.escape(quote)}((?:[^{re.escape(quote)}]|{re.escape(quote * 2)})*){re.escape(quote)}").match
        if quote
        else None
    )
    unescape = re.compile(rf"{re.escape(escape)}([\s\S])").sub if escape else None

    def take(text: str, at: int, limit: int) -> tuple[str, int]:
        if quoted is not None and text.startswith(quote, at):
            found = quoted(text, at, limit)
            if found is None:
                return "", -at - 1
            return found[1].replace(quote * 2, quote), found.end()
        found = plain(text, at, limit)
        assert found is not None  # it may be empty
        taken = found[0]
        return (unescape(r"\1", taken) if unescape is not None and escape in taken else taken), found.end()

    return take


def text_protector(stops: tuple[str, ...], quote: str, escape: str, reserved: str) -> Callable[[str], str]:
    """A function that quotes or escapes a text where it has delimiters in it. Raises ValueError if there is no way."""
    special = [*stops, *reserved, *([quote] if quote else ()), *([escape] if escape else ())]
    unsafe = re.compile("|".join(map(re.escape, special)) or r"(?!)")

    def protect(text: str) -> str:
        if unsafe.search(text) is None:
            return text
        if quote:
            return quote + text.replace(quote, quote * 2) + quote
        if escape:
            return unsafe.sub(lambda found: "".join(escape + one for one in found[0]), text)
        raise ValueError(text)

    return protect


def check_tagged(
    errors: ErrorReports,
    parent: Element,
    added: list[Any],
    text: str,
    at: int,
    limits: Mapping[str, tuple[int, int | None, Any, str]],
) -> None:
    """Count the members of a tagged group: too few are filled with the default, or a problem, and so are too many."""
    counts: dict[str, int] = dict.fromkeys(limits, 0)
    for element in added:
        counts[element.name] += 1
    for name, count in counts.items():
        least, most, default, tag = limits[name]
        if count < least:
            if default is None:
                errors.fail(
                    parent, text, at, f"{least - count} more of {name} (tag {tag!r})" if count else f"tag {tag!r}", name
                )
            for _ in range(least - count):
                made = Element(name, default, 0x03000000)
                added.append(made)
                building.attach(parent, made)
        elif most is not None and count > most:
            raise errors.read_error(parent, text, at, f"at most {most} of {name}", str(count), name)


def choose(
    branches: tuple[Callable[[Element, str, int, int], int], ...], parent: Element, text: str, at: int, limit: int
) -> int:
    """Read the first branch of a choice that fits; where it ends."""
    children = parent.loaded
    assert children is not None
    before = len(children)
    problem: FormatProblem | None = None
    for branch in branches:
        try:
            return branch(parent, text, at, limit)
        except FormatProblem as error:
            del children[before:]
            if problem is None or (error.offset or 0) > (problem.offset or 0):
                problem = error  # the branch that came furthest says most
    assert problem is not None
    raise problem


class CodeGenerator:
    """Adds the code for a message to a source."""

    def __init__(self, plan: MessagePlan, source: Source, spots: dict[int, Spot], codec: str) -> None:
        """`spots` gets what each line of the source converts; `codec` is the name of the character set."""
        self.plan = plan
        self.source = source
        self.spots = spots
        self.codec = codec
