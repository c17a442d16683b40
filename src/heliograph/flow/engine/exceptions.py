"""Exceptions inside a flow: what they say, and the exception list that nodes see of them."""

import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from heliograph.errors import Problem
from heliograph.flow.errors import DownstreamFailure, EsqlError, FormatProblem, StatementError, statement_place
from heliograph.flow.language.values.types import character
from heliograph.flow.tree import Element
from heliograph.flow.tree.element_types import NAME, NAME_VALUE

CATALOG = "heliograph"

NODE_FAILED = 2230
BACKED_OUT = 2631
TO_DEAD_LETTERS = 2648
FAILURE_PATH_FAILED = 2650
EXPRESSION_FAILED = 2439
FLOW_TOO_DEEP = 2560
NOT_MENDABLE = 2111

SEVERITY = 3

INSERT_INTEGER = 2
INSERT_CHARACTER = 5


@dataclass(slots=True)
class ExceptionRecord:
    """One exception of a list; the one that it wraps is its `cause`, and the innermost is the specific one."""

    text: str
    number: int
    kind: str = "RecoverableException"
    """RecoverableException; innermost also Parser-, Conversion-, User-, Database- or MessageException."""
    type: str = ""
    """The type of the node."""
    name: str = ""
    """The node."""
    label: str = ""
    """The flow and the node: `flow.node`."""
    file: str = ""
    line: int = 0
    function: str = ""
    severity: int = SEVERITY
    catalog: str = CATALOG
    inserts: tuple[Any, ...] = ()
    cause: "ExceptionRecord | None" = None

    def chain(self) -> Iterator["ExceptionRecord"]:
        """This one and its causes, outermost first."""
        record: ExceptionRecord | None = self
        while record is not None:
            yield record
            record = record.cause

    def innermost(self) -> "ExceptionRecord":
        """The one that says what really happened."""
        *_, last = self.chain()
        return last

    def describe(self) -> str:
        """All of them, one in a line, outermost first."""
        return "\n".join(record.describe_one() for record in self.chain())

    def describe_one(self) -> str:
        """This one alone, in a line."""
        place = f"{self.file}:{self.line}" if self.file and self.line else ""
        place = f" ({place})" if place and not self.text.startswith(f"{place}:") else ""
        return f"{self.kind} {self.number} in {self.label}: {self.text}{place}"

    def tree(self) -> Element:
        """The exception list that nodes see."""
        top = Element("ExceptionList")
        folder = top
        for record in self.chain():
            folder = folder.append(record.folder())
        return top

    def folder(self) -> Element:
        """What an exception list shows of this one alone."""
        folder = Element(self.kind)
        fields = (
            ("File", self.file),
            ("Line", self.line),
            ("Function", self.function),
            ("Type", self.type),
            ("Name", self.name),
            ("Label", self.label),
            ("Text", self.text),
            ("Catalog", self.catalog),
            ("Severity", self.severity),
            ("Number", self.number),
        )
        for name, value in fields:
            folder.append(Element(name, value, NAME_VALUE))
        for insert in self.inserts:
            folder.append(_insert(insert))
        return folder


def _insert(value: Any) -> Element:
    is_integer = type(value) is int
    insert = Element("Insert", None, NAME)
    insert.append(Element("Type", INSERT_INTEGER if is_integer else INSERT_CHARACTER, NAME_VALUE))
    insert.append(Element("Text", _shown(value), NAME_VALUE))
    return insert


def _shown(value: Any) -> str:
    try:
        return "NULL" if value is None else character(value)
    except EsqlError:
        return str(value)  # no value of ESQL: of a Python node, say


class FlowException(DownstreamFailure):
    """An exception on its way back through the flow, to the nearest node that catches: a TryCatch, an input, or the
    handler around a PROPAGATE."""

    def __init__(self, record: ExceptionRecord, reason: BaseException | None = None) -> None:
        innermost = record.innermost()
        super().__init__(innermost.text, innermost.number, reason)
        self.record = record


def record_of(error: Exception, flow: str, node: str, node_type: str) -> ExceptionRecord:
    """What the exception list says when this node fails with this error."""
    label = f"{flow}.{node}"
    return ExceptionRecord(
        f"Node {node} failed.",
        NODE_FAILED,
        type=node_type,
        name=node,
        label=label,
        cause=_specific(error, label, node, node_type),
    )


def _specific(error: Exception, label: str, node: str, node_type: str) -> ExceptionRecord:
    record = ExceptionRecord(str(error), NOT_MENDABLE, type=node_type, name=node, label=label)
    if isinstance(error, StatementError):
        _tell_esql(record, error)
        record.text = f"{statement_place(error.file, error.line, error.routine)}: {error.statement}"
        record.cause = _specific(error.reason, label, node, node_type)
    elif isinstance(error, EsqlError):
        _tell_esql(record, error)
    elif isinstance(error, FormatProblem):
        record.kind, record.number = "ParserException", error.number
    elif isinstance(error, Problem):
        record.number = getattr(error, "number", EXPRESSION_FAILED)
    else:
        _tell_python(record, error)
    return record


def _tell_esql(record: ExceptionRecord, error: EsqlError) -> None:
    record.kind, record.number, record.inserts = error.folder, error.number, error.inserts
    record.file, record.line = getattr(error, "file", ""), getattr(error, "line", 0)
    record.severity = getattr(error, "severity", SEVERITY)
    record.catalog = getattr(error, "catalog", CATALOG)
    record.function = getattr(error, "routine", "")


def _tell_python(record: ExceptionRecord, error: Exception) -> None:
    """Errors that are no `Problem`: those of Python nodes, and defects of this program. Says where they were raised."""
    record.text = f"{type(error).__name__}: {error}"
    frames = traceback.extract_tb(error.__traceback__)
    if frames:
        record.file, record.line, record.function = frames[-1].filename, frames[-1].lineno or 0, frames[-1].name
