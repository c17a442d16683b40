"""Runs the test cases of a flow, and reports."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from time import perf_counter
from typing import Any

from heliograph.common.documents import Place
from heliograph.errors import InvalidInput, Problem
from heliograph.flow.engine.compilation import Compilation
from heliograph.flow.engine.compiled_flow import Observer
from heliograph.flow.formats.catalogue import Catalogue
from heliograph.flow.formats.envelope import Envelope
from heliograph.flow.loading.flow_loading import load_flow
from heliograph.flow.testing.case import Case, ExpectedMessage, read_cases
from heliograph.flow.testing.comparing import body_difference, message_differences
from heliograph.flow.testing.flow_under_test import FlowUnderTest, comparable, statements


@dataclass(frozen=True, slots=True)
class CaseResult:
    """What came of one case."""

    name: str
    place: Place
    differences: tuple[str, ...]
    """Empty if it passed; each begins with the place of what was expected."""
    seconds: float

    @property
    def passed(self) -> bool:
        """Whether everything came as expected."""
        return not self.differences

    def text(self) -> str:
        """For people: a line, and below it what is different."""
        lines = [f"{'ok  ' if self.passed else 'FAIL'}  {self.name}  ({self.seconds * 1000:.0f} ms)"]
        for difference in self.differences:
            lines += [f"      {line}" for line in difference.splitlines()]
        return "\n".join(lines)


@dataclass(slots=True)
class CaseReport:
    """What came of all cases."""

    results: list[CaseResult] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether all did."""
        return all(result.passed for result in self.results)

    def text(self) -> str:
        """For people."""
        return "\n".join([*(result.text() for result in self.results), self.summary()])

    def summary(self) -> str:
        """How many passed."""
        failed = sum(not result.passed for result in self.results)
        return f"{len(self.results) - failed} passed, {failed} failed"


def run_tests(folder: str | Path, names: Iterable[str] = ()) -> CaseReport:
    """Run the cases in tests/ of a flow's folder; with names, only those whose names have one of them inside."""
    return CaseReport([run_case(Path(folder), case) for case in select_cases(folder, names)])


def select_cases(folder: str | Path, names: Iterable[str] = ()) -> list[Case]:
    """The cases in tests/ of a flow's folder; with names, only those whose names have one of them inside."""
    tests = Path(folder) / "tests"
    files = sorted(tests.glob("*.yaml"))
    if not files:
        raise InvalidInput(f"{tests}: there are no test cases (NAME.yaml)")
    wanted = tuple(names)
    cases = [
        case
        for file in files
        for case in read_cases(file, f"tests/{file.name}")
        if not wanted or any(name in case.name for name in wanted)
    ]
    if not cases:
        raise InvalidInput(f"{tests}: no test case has {' or '.join(wanted)} in its name")
    return cases


def run_case(folder: Path, case: Case) -> CaseResult:
    """Run one case. A flow that cannot be loaded is a Problem, not a failed case."""
    began = perf_counter()
    with prepared_flow(folder, case) as flow:
        play(case, flow)
        differences = list(_Comparison(case, flow, Compilation(flow.definition).catalogue).differences())
        if differences:  # an exception that the flow handled itself is often why
            differences += [f"{case.place}: the flow handled an exception\n{handled}" for handled in flow.handled]
    return CaseResult(case.name, case.place, tuple(differences), perf_counter() - began)


@contextmanager
def prepared_flow(folder: Path, case: Case, observer: Observer | None = None) -> Iterator[FlowUnderTest]:
    """The flow as a case wants it: its parameters, its time, its rows in the databases."""
    definition = load_flow(folder, case.environment, case.parameters)
    with FlowUnderTest(definition, now=case.now, refuse=case.refuse, observer=observer) as flow:
        for source, tables in case.tables.items():
            for table, rows in tables.items():
                flow.database(source).load(table, rows)
        for source, sql in case.sql.items():
            for statement in statements(sql):
                flow.database(source).execute(statement)
        yield flow


def play(case: Case, flow: FlowUnderTest) -> None:
    """Send what the case sends."""
    for step in case.steps:
        if step.wait is not None:
            flow.wait(step.wait)
        else:
            flow.send(step.body, step.node, **step.envelope)


class _Comparison:
    def __init__(self, case: Case, flow: FlowUnderTest, catalogue: Catalogue) -> None:
        self._case = case
        self._expected = case.expected
        self._flow = flow
        self._catalogue = catalogue

    def differences(self) -> Iterator[str]:
        expected, flow = self._expected, self._flow
        yield from self._failures()
        yield from self._messages("queue", expected.queues, flow.queues)
        yield from self._messages("topic", expected.topics, flow.topics)
        files = {name: [Envelope(data)] for name, data in flow.files.items()}
        yield from self._messages("file", expected.files, files)
        yield from self._responses()
        if expected.trace is not None and expected.trace.strip() != flow.trace.strip():
            picture = body_difference(expected.trace.strip().encode(), flow.trace.strip().encode())
            yield f"{expected.places['trace']}: the trace differs\n{picture}"
        for source, tables in expected.tables.items():
            for table, rows in tables.items():
                yield from self._rows(source, table, rows)

    def _failures(self) -> Iterator[str]:
        error, failures = self._expected.error, self._flow.failures
        if error is None:
            for failure in failures:
                yield f"{self._case.place}: a message failed ({failure.result.value})\n{failure.exceptions}"
        elif not failures:
            yield f"{self._expected.places['error']}: expected an error with {error!r}, but no message failed"
        elif not any(error.lower() in failure.exceptions.lower() for failure in failures):
            reasons = "\n".join(failure.exceptions for failure in failures)
            yield f"{self._expected.places['error']}: expected an error with {error!r}, found\n{reasons}"

    def _messages(
        self, what: str, expected: Mapping[str, list[ExpectedMessage]], found: Mapping[str, list[Envelope]]
    ) -> Iterator[str]:
        for name in found.keys() - expected.keys():
            place = self._expected.places[f"{what}s"]
            yield f"{place}: {what} {name}: {_counted(len(found[name]))} not expected\n{_pictures(found[name])}"
        for name, messages in expected.items():
            came = found.get(name, [])
            for number, (wanted, message) in enumerate(zip(messages, came, strict=False), 1):
                of = f"{what} {name}" + (f", message {number}" if len(messages) > 1 else "")
                for difference in message_differences(wanted, message, self._catalogue):
                    yield f"{wanted.place}: {of}: {difference}"
            if len(messages) != len(came):
                place = messages[0].place if messages else self._expected.places[f"{what}s"]
                more = _pictures(came[len(messages) :])
                yield f"{place}: {what} {name}: expected {_counted(len(messages))}, found {len(came)}\n{more}".rstrip()

    def _responses(self) -> Iterator[str]:
        expected, found = self._expected.responses, self._flow.responses
        for wanted, response in zip(expected, found, strict=False):
            if wanted.status is not None and wanted.status != response.status:
                yield f"{wanted.place}: response: expected status {wanted.status}, found {response.status}"
            for name, value in wanted.headers.items():
                if response.headers.get(name) != value:
                    yield f"{wanted.place}: response: {name}: expected {value!r}, found {response.headers.get(name)!r}"
            for difference in message_differences(wanted, Envelope(response.body), self._catalogue):
                yield f"{wanted.place}: response: {difference}"
        if len(expected) != len(found):
            place = self._expected.places["responses"]
            yield f"{place}: expected {len(expected)} responses, found {len(found)}"

    def _rows(self, source: str, table: str, expected: list[dict[str, Any]]) -> Iterator[str]:
        place = self._expected.places["database"]
        try:
            found = self._flow.database(source).rows(table)
        except Problem as problem:
            yield f"{place}: table {table}: {problem}"
            return
        if [comparable(row) for row in found] != [comparable(row) for row in expected]:
            lines = _row_lines(expected), _row_lines(found)
            picture = body_difference(lines[0].encode(), lines[1].encode())
            yield f"{place}: table {table}: the rows differ\n{picture}"


def _row_lines(rows: list[dict[str, Any]]) -> str:
    def shown(value: Any) -> str:
        return str(value) if isinstance(value, Decimal) else repr(value)

    return "\n".join(", ".join(f"{name}: {shown(value)}" for name, value in comparable(row).items()) for row in rows)


def _counted(number: int) -> str:
    return f"{number} message" if number == 1 else f"{number} messages"


def _pictures(messages: Iterable[Envelope]) -> str:
    return "\n".join(f"  {message.body[:200]!r}" for message in messages)
