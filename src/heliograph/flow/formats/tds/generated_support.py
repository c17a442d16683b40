"""Functions that generated readers and writers call: errors, and delimiters that are part of the data."""

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, NoReturn

from heliograph.flow.errors import CANNOT_WRITE, FormatProblem
from heliograph.flow.formats.model import Source
from heliograph.flow.formats.tds.tds_plan import MessagePlan
from heliograph.flow.tree import Element, building

SHOWN = 40


class Spot(NamedTuple):
    """What a line of generated code converts: an error in that line is reported for this field."""

    name: str
    variable: str
    """The local variable with the text or value."""
    offset: str
    """An expression of local variables: the offset of the text."""
    expected: str


class ErrorReports:
    """Makes the errors of one message in one format."""

    def __init__(self, title: str, codec: str, spots: Mapping[int, Spot]) -> None:
        self.title = title
        self.codec = codec
        self.spots = spots

    def fail(self, parent: Element, text: str, at: int, expected: str, name: str = "") -> NoReturn:
        """Raise the error that the text at this offset is not what was expected."""
        found = "the end of data" if at >= len(text) else repr(text[at : at + SHOWN])
        raise self.read_error(parent, text, at, expected, found, name)

    def not_read(self, error: ValueError, parent: Element, text: str) -> Exception:
        """Return the error for a value that could not be parsed.

        The field is found by the line that raised `error`, and its offset by evaluating `Spot.offset` in that frame. So
        the reader does no bookkeeping for errors in the normal case.
        """
        trace = error.__traceback__
        spot = self.spots.get(trace.tb_lineno) if trace is not None else None
        if trace is None or spot is None:
            return error
        names = trace.tb_frame.f_locals
        at = eval(spot.offset, {"sum": sum, "len": len, "map": map}, names)  # noqa: S307 - generated with the code
        return self.read_error(parent, text, at, spot.expected, repr(names[spot.variable]), spot.name)

    def read_error(self, parent: Element, text: str, at: int, expected: str, found: str, name: str) -> FormatProblem:
        """Return the error for a text at this offset, with its line and column if the message has several lines."""
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
        """Return the error for a tree that cannot be written."""
        return FormatProblem(self.title, expected, found, path=_joined(parent.path(), name), number=CANNOT_WRITE)

    def not_written(self, error: ValueError, parent: Element) -> Exception:
        """Return the error for a value that could not be written; the field is found as in `not_read`."""
        trace = error.__traceback__
        spot = self.spots.get(trace.tb_lineno) if trace is not None else None
        if trace is None or spot is None:
            return error
        value = trace.tb_frame.f_locals.get(spot.variable)
        found = f"{value!r} ({type(value).__name__})"
        return self.unwritable(parent, spot.name, spot.expected, found)

    def unexpected_members(self, parent: Element, known: Mapping[str, Any], counts: Mapping[str, Any]) -> FormatProblem:
        """Return the error for a group with members that its model does not have, or that occur too often."""
        strange = [name for name in counts if name not in known]
        if strange:
            return self.unwritable(parent, strange[0], f"one of {', '.join(known)}", strange[0])
        twice = next(child.name for child in parent.children if parent.count(child.name) > 1)
        return self.unwritable(parent, twice, f"one {twice}", f"{parent.count(twice)}")

    def protect_all(
        self, parent: Element, names: list[str], texts: list[str], protect: Callable[[str], str]
    ) -> list[str]:
        """Return the texts with their delimiters quoted or escaped; an error if the format has no way to do that."""
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
    """Return a function that takes the text of a field, up to the next delimiter that is not quoted or escaped.

    That function returns the text without quotes and escape characters, and the offset behind the field; `-at - 1`
    means that a quote at `at` is never closed.
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
    """Return a function that quotes or escapes a text with delimiters in it, and raises ValueError if neither is
    defined."""
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
    """Check how often the members of a tagged group occur: a missing one gets its default; otherwise raise an error."""
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
    """Read the first branch of a choice that fits; return the offset behind it."""
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
                problem = error  # of all failures, that of the branch that got furthest is the most useful one
    assert problem is not None
    raise problem


class CodeGenerator:
    """Base of the generators: adds the code for a message to a source."""

    def __init__(self, plan: MessagePlan, source: Source, spots: dict[int, Spot], codec: str) -> None:
        """`spots` is filled with what each line of the source converts; `codec` is the name of the character set."""
        self.plan = plan
        self.source = source
        self.spots = spots
        self.codec = codec
