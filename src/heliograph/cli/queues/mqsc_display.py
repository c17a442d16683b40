"""What MQSC's DISPLAY shows: which queues, which of their attributes, and how these are set out."""

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from heliograph.cli.queues.mqsc_attributes import ATTRIBUTES, FLAGS, KINDS, SYNONYMS, WITHOUT_EFFECT, shown
from heliograph.cli.queues.mqsc_parser import Clause, Command, quoted, single

_COLUMN = 40
_INDENT = "   "

_TYPES = {kind: keyword for keyword, kind in KINDS.items()}
_FIGURES = ("CURDEPTH", "IPPROCS")
_STATUS = ("CURDEPTH", "IPPROCS", "INFLIGHT", "MSGAGE")


def _like(value: str, pattern: str) -> bool:
    return value.startswith(pattern[:-1]) if pattern.endswith("*") else value == pattern


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "LT": operator.lt,
    "GT": operator.gt,
    "LE": operator.le,
    "GE": operator.ge,
    "EQ": operator.eq,
    "NE": operator.ne,
    "LK": _like,
    "NL": lambda value, pattern: not _like(value, pattern),
}


@dataclass(frozen=True, slots=True)
class Display:
    """What a DISPLAY command asks for."""

    wanted: frozenset[str]
    """Keywords to show; empty is all of them."""
    kind: str | None
    where: tuple[str, str, str] | None
    ignored: tuple[Clause, ...]
    names_only: bool = False

    def rows(self, queues: Iterable[Mapping[str, Any]], figures: Callable[[Mapping[str, Any]], dict[str, str]]) -> Any:
        """The attributes to show of each queue that is meant."""
        for queue in queues:
            attributes = figures(queue)
            if (self.kind is None or queue["kind"] == self.kind) and self._meets(attributes):
                yield {keyword: text for keyword, text in attributes.items() if self._shows(keyword)}

    def _shows(self, keyword: str) -> bool:
        if keyword in {"QUEUE", "TYPE"}:
            return True
        if keyword in FLAGS and self.wanted & set(FLAGS):  # a queue has one of the two, whichever is asked for
            return True
        return not self.names_only and (not self.wanted or keyword in self.wanted)

    def _meets(self, attributes: Mapping[str, str]) -> bool:
        if self.where is None:
            return True
        keyword, comparison, wanted = self.where
        if keyword not in attributes:
            return False
        value = attributes[keyword]
        if value.isdecimal() and wanted.isdecimal():
            return _COMPARISONS[comparison](int(value), int(wanted))
        return _COMPARISONS[comparison](value, wanted if wanted.endswith("*") else quoted(wanted))


def queue_attributes(queue: Mapping[str, Any]) -> dict[str, str]:
    """All that DISPLAY QUEUE shows of a queue."""
    found = {"QUEUE": quoted(queue["name"]), "TYPE": _TYPES[queue["kind"]]}
    if queue["kind"] == "local":
        found |= {"CURDEPTH": str(queue["depth"]), "IPPROCS": str(queue["consumers"])}
    return found | shown(queue)


def status_attributes(queue: Mapping[str, Any]) -> dict[str, str]:
    """All that DISPLAY QSTATUS shows of a queue."""
    return {
        "QUEUE": quoted(queue["name"]),
        "TYPE": "QUEUE",
        "CURDEPTH": str(queue["depth"]),
        "IPPROCS": str(queue["consumers"]),
        "INFLIGHT": str(queue["in_flight"]),
        "MSGAGE": str(round(queue["oldest_age"])),
    }


def read_display(command: Command, *, generic: bool, status: bool) -> Display:
    """What the clauses of DISPLAY QUEUE or, for `status`, DISPLAY QSTATUS ask for."""
    known = {"QUEUE", "TYPE", *(_STATUS if status else (*ATTRIBUTES, *FLAGS, *_FIGURES))}
    wanted: set[str] = set()
    kind, where, everything = None, None, False
    ignored = []
    for clause in command.clauses:
        keyword = SYNONYMS.get(clause.keyword, clause.keyword)
        if keyword == "WHERE":
            where = _read_where(command, clause, known)
        elif keyword == "TYPE" and clause.values is not None:
            kind = None if status else _read_type(command, clause)
        elif keyword == "ALL":
            everything = True
        elif keyword in known:
            wanted.add(keyword)
        elif keyword in WITHOUT_EFFECT:
            ignored.append(clause)
        else:
            raise command.source.mistake(clause.at, f"expected an attribute of queues, found {clause.keyword}")
    names_only = generic and not wanted and not everything and not status
    return Display(frozenset() if everything else frozenset(wanted), kind, where, tuple(ignored), names_only)


def _read_type(command: Command, clause: Clause) -> str | None:
    word = single(command, clause)
    types = {**KINDS, "ALL": None, "QUEUE": None}
    if word.text not in types:
        raise command.source.mistake(word.at, f"expected one of {', '.join(types)} for TYPE, found {word.text}")
    return types[word.text]


def _read_where(command: Command, clause: Clause, known: set[str]) -> tuple[str, str, str]:
    values = clause.values or ()
    if len(values) != 3:
        raise command.source.mistake(clause.at, "expected WHERE(attribute comparison value), found something else")
    keyword, comparison, wanted = values
    name = SYNONYMS.get(keyword.text, keyword.text)
    if name not in known:
        raise command.source.mistake(keyword.at, f"expected an attribute of queues, found {keyword.text}")
    if comparison.text not in _COMPARISONS:
        raise command.source.mistake(
            comparison.at, f"expected one of {', '.join(_COMPARISONS)}, found {comparison.text}"
        )
    return name, comparison.text, wanted.text


def set_out(attributes: Mapping[str, str]) -> Iterator[str]:
    """The lines that show these attributes: two to a line where they fit."""
    line = ""
    for keyword, text in attributes.items():
        item = f"{keyword}({text})" if text else keyword
        if line and len(line) + len(item) <= 2 * _COLUMN and len(line) <= _COLUMN:
            yield f"{_INDENT}{line:<{_COLUMN}}{item}"
            line = ""
        else:
            if line:
                yield _INDENT + line
            line = item
    if line:
        yield _INDENT + line
