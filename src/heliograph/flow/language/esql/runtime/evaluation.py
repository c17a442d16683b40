"""One run of an ESQL module: one node, one message; and what it is handed from outside.

An `Evaluation` owns nothing but the output trees that it makes. Formats, databases, shared variables, the log and what
PROPAGATE does are handed in: see `Formats`, `DatabaseAccess`, `SharedVariables`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from threading import RLock
from typing import Any, Protocol

from heliograph.errors import Problem
from heliograph.flow.errors import FlowError
from heliograph.flow.tree import Element, Format, Part, Step, Text
from heliograph.flow.tree.packed import Packed

# Databases. What runs the flow implements `DatabaseAccess`; a program never sees a connection.
#
# `source` is the name of a data source, as the flow declares it. SQL has `?` for each parameter, in order; parameters
# and results are values of ESQL: DECIMAL stays exact, timestamps are naive local ones.


@dataclass(frozen=True, slots=True)
class Rows:
    """What a query brought: the columns' names as the database says them, and the rows."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]


class DatabaseAccess(Protocol):
    """The databases of one flow, within one unit of work. Everything may raise `DatabaseError`."""

    def query(self, source: str, sql: str, parameters: Sequence[Any]) -> Rows:
        """The rows of a SELECT."""

    def change(self, source: str, sql: str, parameters: Sequence[Any]) -> int:
        """Run an INSERT, UPDATE or DELETE; how many rows it changed."""

    def execute(self, source: str, sql: str, parameters: Sequence[Any]) -> Rows:
        """Run what the user wrote (PASSTHRU), whatever it is; no columns if it is no query."""

    def call(
        self, source: str, procedure: str, arguments: Sequence[Any], modes: Sequence[str], result_sets: int
    ) -> tuple[Any, Sequence[Any], Sequence[Rows]]:
        """Call a stored routine; `modes` has IN, OUT or INOUT for each argument.

        Gives what it returned (None for a procedure), the arguments as they are afterwards, and its result sets.
        """

    def commit(self, source: str) -> None:
        """Commit what has been done on this source so far."""

    def rollback(self, source: str) -> None:
        """Roll back what has been done on this source since the last commit."""


# SHARED variables: they live as long as the flow, and all its instances see them.


class SharedVariables:
    """The shared variables of one flow in one process, and the locks of its BEGIN ATOMIC blocks."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        """By schema, module and name."""
        self._locks: dict[str, RLock] = {}
        self._guard = RLock()

    def initialise(self, name: str, make: Callable[[], Any]) -> None:
        """Give a variable its first value, unless another instance has done so."""
        with self._guard:
            if name not in self.values:
                self.values[name] = make()

    def lock(self, label: str) -> RLock:
        """The lock of all ATOMIC blocks with this label (in their schema); taken by one instance at a time."""
        lock = self._locks.get(label)
        if lock is None:
            with self._guard:
                lock = self._locks.setdefault(label, RLock())
        return lock


@dataclass(frozen=True, slots=True)
class Propagation:
    """What a PROPAGATE statement asks for.

    Trees that are None are those of the node: the output trees of the evaluation, or the input's, by the node's mode.
    The callback has to be done with the output trees when it returns: DELETE DEFAULT empties them then. What goes wrong
    behind it is a `DownstreamFailure`.
    """

    terminal: str | None = "out"
    """out, out1 to out4, failure or nowhere; None if a label is named."""
    label: str | None = None
    message: Element | None = None
    local_environment: Element | None = None
    exception_list: Element | None = None
    finalize: bool = True
    """Whether headers are to be chained before. Writing a message chains them anyway, so nodes may ignore this."""


@dataclass(frozen=True, slots=True)
class LogEntry:
    """What a LOG statement says."""

    trace: bool
    """True: for the user trace; False: for the event log."""
    severity: int
    catalog: str
    number: int
    inserts: tuple[Any, ...]
    exception: Problem | None = None
    """The exception that is being handled, if the statement says EXCEPTION."""
    full: bool = False


def no_propagation(propagation: Propagation) -> None:
    """Reject PROPAGATE where it is not allowed."""
    raise FlowError(f"PROPAGATE is not possible here (to {propagation.label or propagation.terminal}).")


def _no_log(entry: LogEntry) -> None:
    """Discard the entry."""


class _Late:
    """An attribute that is made when it is first read. (`cached_property` takes a lock for that.)"""

    def __init__(self, make: Callable[[Any], Any]) -> None:
        self._make = make
        self._attribute = ""

    def __set_name__(self, owner: type, attribute: str) -> None:
        self._attribute = attribute

    def __get__(self, evaluation: object, owner: type) -> Any:
        made = evaluation.__dict__[self._attribute] = self._make(evaluation)
        return made


def late(make: Callable[[Any], Any]) -> Any:
    """An attribute of evaluations that `make` gives when it is first read, unless it was set."""
    return _Late(make)


class Formats(Protocol):
    """The formats that a program can name by their domains. `formats.catalogue.Catalogue` is one."""

    without_model: Mapping[str, Format]
    """Those that are the same for all messages."""

    def knows(self, domain: str) -> bool:
        """Whether a child of a message's root that has this name is a part with a format of its own."""

    def new_part(self, domain: str, text: Text = ...) -> Part:
        """An empty part of this domain."""

    def part_of(self, domain: str, data: bytes, text: Text = ...) -> Part:
        """A part with these bytes, parsed when its elements are first used."""


class MessageRoot(Element):
    """A root whose new children become parts if they are named like a domain: `SET OutputRoot.XMLNSC.a = 1`."""

    __slots__ = ("_catalogue",)

    def __init__(self, catalogue: Formats) -> None:
        super().__init__("Root")
        self._catalogue = catalogue

    def ensure_nth(self, name: str, number: int, packed: Packed | None = None) -> Element | None:
        """The number-th part of this name, made (empty) if just one is missing; None if more are."""
        found = self.all(name)
        if 1 <= number <= len(found):
            return found[number - 1]
        return self.append(self.new_child(name)) if number == len(found) + 1 else None

    def ensure_match(self, step: Step, number: int = 1) -> Element | None:
        """The number-th child that the step looks for, made if just one is missing; None if more are."""
        if step.name is None or step.namespace or step.type is not None:
            return super().ensure_match(step, number)
        return self.ensure_nth(step.name, number)

    def new_child(self, name: str) -> Element:
        """An element that can become a child: a part, if the name is a domain's."""
        known = self._catalogue.without_model.get(name)
        if known is not None:
            return Part(known)
        return self._catalogue.new_part(name) if self._catalogue.knows(name) else Element(name)

    def copy(self) -> Element:
        """A root with copies of all parts."""
        copy = MessageRoot(self._catalogue)
        for child in self.children:
            copy.append(child.copy())
        return copy


class Evaluation:
    """What a module works on, and what it needs from outside.

    Filter and Database modules have `Root`, `LocalEnvironment` and `ExceptionList` where Compute modules have the input
    trees. Output trees are made here, empty, unless they are handed in.
    """

    # Most programs use few of these, so each is created at its first use, unless it was handed in.
    output_root: Element = late(lambda self: MessageRoot(self.catalogue))
    input_local_environment: Element = late(lambda _: Element("LocalEnvironment"))
    output_local_environment: Element = late(lambda _: Element("LocalEnvironment"))
    input_exception_list: Element = late(lambda _: Element("ExceptionList"))
    output_exception_list: Element = late(lambda _: Element("ExceptionList"))
    environment: Element = late(lambda _: Element("Environment"))
    shared: SharedVariables = late(lambda _: SharedVariables())

    # Of the last statement that worked on a database.
    sqlcode = 0
    sqlstate = "00000"
    sqlerrortext = ""
    sqlnativeerror = 0

    def __init__(
        self,
        input_root: Element,
        *,
        catalogue: Formats,
        now: datetime,
        output_root: Element | None = None,
        input_local_environment: Element | None = None,
        output_local_environment: Element | None = None,
        input_exception_list: Element | None = None,
        output_exception_list: Element | None = None,
        environment: Element | None = None,
        database: DatabaseAccess | None = None,
        data_source: str = "",
        throw_database_errors: bool = True,
        propagate: Callable[[Propagation], None] = no_propagation,
        shared: SharedVariables | None = None,
        external: Mapping[str, Any] | None = None,
        properties: Mapping[str, Any] | None = None,
        log: Callable[[LogEntry], None] = _no_log,
    ) -> None:
        self.catalogue = catalogue
        self.now = now
        """With a zone, or local. CURRENT_TIMESTAMP and its like do not change within one evaluation."""
        self.input_root = input_root
        if output_root is not None:
            self.output_root = output_root
        if input_local_environment is not None:
            self.input_local_environment = input_local_environment
        if output_local_environment is not None:
            self.output_local_environment = output_local_environment
        if input_exception_list is not None:
            self.input_exception_list = input_exception_list
        if output_exception_list is not None:
            self.output_exception_list = output_exception_list
        if environment is not None:
            self.environment = environment
        self.database = database
        self.data_source = data_source
        """The node's own data source; tables without one are there."""
        self.throw_database_errors = throw_database_errors
        """False: the program looks at SQLCODE itself."""
        self.propagate = propagate
        if shared is not None:
            self.shared = shared
        self.external: Mapping[str, Any] = external or {}
        """Values of EXTERNAL variables by name; strings are converted to the declared type."""
        self.properties: Mapping[str, Any] = properties or {}
        """BrokerName, MessageFlowLabel, NodeLabel, ...: what the program can ask about where it runs."""
        self.log = log

    def clear_outputs(self) -> None:
        """Empty the output trees, as PROPAGATE does when it is done."""
        self.output_root.clear()
        self.output_local_environment.clear()
        self.output_exception_list.clear()
