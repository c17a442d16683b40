"""Python source under construction: the lines of a reader and a writer, and the objects that they use by name."""

import linecache
import re
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from heliograph.flow.errors import CANNOT_READ, CANNOT_WRITE, FormatProblem
from heliograph.flow.tree import Part


class Site(NamedTuple):
    """What a line of generated code works on."""

    path: str
    """The field; `[i]` in it stands for the number of a repetition in the local variable `i`, counted from 0."""
    at: str
    """An expression of local variables that is the offset in bytes; empty when writing."""
    expected: str
    parts: tuple[tuple[int, str], ...] = ()
    """If the line works on several fields: where each ends, from the offset, and its path."""


class Source:
    """Collects indented lines; gives names to constants; records which field a line works on."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.lines: list[str] = []
        self.names: dict[str, Any] = {}
        self.sites: dict[int, Site] = {}
        self._depth = 0
        self._numbers: dict[str, int] = {}
        self._constants: dict[tuple[type, Any], str] = {}

    def add(self, line: str, site: Site | None = None) -> None:
        """Add a line."""
        self.lines.append("    " * self._depth + line)
        if site is not None:
            self.sites[len(self.lines)] = site

    @contextmanager
    def block(self, line: str) -> Iterator[None]:
        """Add a line that opens a block, and indent the lines added inside."""
        self.add(line)
        self._depth += 1
        yield
        self._depth -= 1

    def new_name(self, stem: str) -> str:
        """Return a name that is not used yet."""
        number = self._numbers[stem] = self._numbers.get(stem, -1) + 1
        return f"{stem}{number}"

    def constant(self, stem: str, value: Any) -> str:
        """Return a name for this object in the generated code; equal hashable objects share one."""
        try:
            key = (type(value), value)
            known = self._constants.get(key)
        except TypeError:
            key = known = None  # type: ignore[assignment]
        if known is not None:
            return known
        name = self.new_name(stem)
        self.names[name] = value
        if key is not None:
            self._constants[key] = name
        return name

    def use(self, **names: Any) -> None:
        """Make objects known to the generated code under these names."""
        self.names.update(names)

    @property
    def text(self) -> str:
        """The source, to be read by people."""
        return "\n".join(self.lines) + "\n"


class Codec(NamedTuple):
    """A compiled reader and writer of one message in one physical format."""

    read: Callable[[Part, bytes], Iterator[None]]
    write: Callable[[Part], bytes]
    source: str


def compiled(source: Source) -> Codec:
    """The functions that the source defines."""
    file = f"<{source.title}>".replace("\0", "?")  # Python does not allow NUL in file names
    text = source.text
    names = dict(source.names)
    exec(compile(text, file, "exec"), names)  # noqa: S102 - we generated it
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    return Codec(names["read"], names["write"], text)


# From an error inside generated code to a problem that names the field.
#
# Generated code has one `try` around all of it, and a table of what each line works on (`Source.sites`). So the normal
# case costs nothing, and an error can still name its field: the line number of the traceback is the key of the table.

ERRORS = (ValueError, struct.error, ArithmeticError, LookupError)
"""What generated code may run into, UnicodeError among them."""
INDEX = re.compile(r"\[(i\d+)\]")


def read_problem(error: Exception, sites: Mapping[int, Site], form: str, data: bytes) -> FormatProblem:
    """The problem of a reader; the error was caught in the generated function itself."""
    site, local = _site(error, sites)
    offset = eval(site.at, {}, local) if site.at else None  # noqa: S307 - we generated it
    found, path, expected = _found(error), site.path, site.expected
    if isinstance(error, struct.error) and offset is not None:
        left = max(len(data) - offset, 0)
        found = f"{left} bytes"
        start = 0
        for end, part_path in site.parts:  # a run reads several fields at once: find the first one that is cut off
            if end > left:
                path, offset = part_path, offset + start
                expected, found = f"{end - start} bytes", f"{max(left - start, 0)} bytes"
                break
            start = end
    return FormatProblem(
        form, expected or "other bytes", found, path=_numbered(path, local), offset=offset, number=CANNOT_READ
    )


def write_problem(error: Exception, sites: Mapping[int, Site], form: str) -> FormatProblem:
    """The problem of a writer."""
    site, local = _site(error, sites)
    path = _numbered(site.path, local)
    return FormatProblem(form, site.expected or "another value", _found(error), path=path, number=CANNOT_WRITE)


def _site(error: Exception, sites: Mapping[int, Site]) -> tuple[Site, Mapping[str, object]]:
    trace = error.__traceback__
    assert trace is not None
    return sites.get(trace.tb_lineno) or Site("", "", ""), trace.tb_frame.f_locals


def _numbered(path: str, local: Mapping[str, object]) -> str:
    """The path with the numbers of repetitions, from 1."""

    def number(found: re.Match[str]) -> str:
        at = local.get(found[1])
        return f"[{at + 1}]" if isinstance(at, int) else ""

    return INDEX.sub(number, path.rstrip("."))


def _found(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"{error.object.hex()} ({error.reason})"
    if isinstance(error, UnicodeEncodeError):
        return f"{error.object!r}, of which {error.object[error.start : error.end]!r} is not in {error.encoding}"
    return str(error)
