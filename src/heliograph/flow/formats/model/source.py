"""Python source of a reader and a writer, as it is generated: lines, and the objects that they use by name."""

import linecache
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

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
    """Lines at an indentation; constants get names; lines can say which field they work on."""

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
        """Add a line that opens a block, and indent what is added inside."""
        self.add(line)
        self._depth += 1
        yield
        self._depth -= 1

    def new_name(self, stem: str) -> str:
        """A name that no other line uses."""
        number = self._numbers[stem] = self._numbers.get(stem, -1) + 1
        return f"{stem}{number}"

    def constant(self, stem: str, value: Any) -> str:
        """A name for this object in the generated code; equal hashable objects share one."""
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
    file = f"<{source.title}>".replace("\0", "?")  # which Python has in no name of a file
    text = source.text
    names = dict(source.names)
    exec(compile(text, file, "exec"), names)  # noqa: S102 - we generated it
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    return Codec(names["read"], names["write"], text)
