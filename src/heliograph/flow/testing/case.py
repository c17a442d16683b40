"""Test cases as files: `tests/NAME.yaml` is one case, or has several under `cases`.

    description: A big order goes to BIG, and its customer is counted
    environment: test                     # parameters/test.yaml
    parameters: {limit: 100}
    now: 2026-11-16T12:00:00
    database:                             # data source, tables, rows
      ORDERS:
        sql: CREATE UNIQUE INDEX ...      # after the tables, if there is something special; or {file: NAME}
        tables:
          CUSTOMER: [{ID: 1, ORDERS: 0}]
    refuse: {out: {BIG: queue is full}}   # node, queue, reason
    input:                                # a text, a message, or a list of messages and waits
      - {file: big-order.xml, persistent: true}
      - <Order><Amount>5</Amount></Order>
      - {wait: 60}
    expect:                               # everything that comes out, nothing more
      queues:
        BIG: {file: big-order.out.xml, as: tree, ignore: [Order.Printed]}
        SMALL: [{body: "<Order/>"}, {fields: {Order.Amount: 5}}]
      topics: {orders/big: {body: "..."}}
      files: {out/orders.csv: "..."}
      responses: [{status: 200, body: "..."}]
      error: divide by zero               # the message fails, and this is in the reason
      trace: "..."
      database: {ORDERS: {CUSTOMER: [{ID: 1, ORDERS: 1}]}}

Files are beside the case. The line feed that YAML puts at the end of a block is no part of a body. `as: tree` compares
what messages say, not their bytes: XML by XMLNSC, JSON by JSON, or the domain that `domain` says (and `message_set`,
`message` and `message_format`, for domain MRM).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from pathlib import Path
from typing import Any

from heliograph.common.documents import Document, Place, read_document
from heliograph.flow.definition import Findings, known, suggestion
from heliograph.flow.formats.envelope import Envelope
from heliograph.flow.testing.flow_under_test import NOON

ENVELOPE_FIELDS = tuple(each.name for each in fields(Envelope) if each.name not in {"body", "place"})
_BODY_KEYS = ("body", "file", "hex")
_INPUT_KEYS = (*_BODY_KEYS, "node", "wait", *ENVELOPE_FIELDS)
_MODEL_KEYS = ("domain", "message_set", "message", "message_format")
_MESSAGE_KEYS = (*_BODY_KEYS, "as", "fields", "ignore", "status", "headers", *_MODEL_KEYS, *ENVELOPE_FIELDS)
_CASE_KEYS = ("description", "environment", "parameters", "now", "database", "refuse", "input", "expect")
_EXPECT_KEYS = ("queues", "topics", "files", "responses", "error", "trace", "database")

Tables = dict[str, list[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class CaseStep:
    """One message to be sent, or a while to wait."""

    body: bytes = b""
    node: str | None = None
    envelope: Mapping[str, Any] = field(default_factory=dict)
    wait: float | None = None


@dataclass(frozen=True, slots=True)
class ExpectedMessage:
    """What a message has to be."""

    place: Place
    body: bytes | None = None
    """None: only fields and the envelope are looked at."""
    as_tree: bool = False
    model: Mapping[str, str] = field(default_factory=dict)
    fields: Mapping[str, Any] = field(default_factory=dict)
    ignore: tuple[str, ...] = ()
    envelope: Mapping[str, Any] = field(default_factory=dict)
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Expected:
    """Everything that has to come out."""

    queues: dict[str, list[ExpectedMessage]] = field(default_factory=dict)
    topics: dict[str, list[ExpectedMessage]] = field(default_factory=dict)
    files: dict[str, list[ExpectedMessage]] = field(default_factory=dict)
    responses: list[ExpectedMessage] = field(default_factory=list)
    error: str | None = None
    trace: str | None = None
    tables: dict[str, Tables] = field(default_factory=dict)
    places: dict[str, Place] = field(default_factory=dict)


@dataclass(slots=True)
class Case:
    """One test case."""

    name: str
    place: Place
    description: str = ""
    environment: str | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    now: datetime = NOON
    tables: dict[str, Tables] = field(default_factory=dict)
    sql: dict[str, str] = field(default_factory=dict)
    refuse: dict[tuple[str, str], str] = field(default_factory=dict)
    steps: list[CaseStep] = field(default_factory=list)
    expected: Expected = field(default_factory=Expected)


def read_cases(file: Path, shown: str) -> list[Case]:
    """The cases of a file; `shown` is what the file is called in messages. A `DefinitionProblem` has all mistakes."""
    findings = Findings()
    document = read_document(file.read_text("utf-8"), shown, findings.mistake)
    value = document.value
    cases: list[Case] = []
    if isinstance(value, dict) and "cases" in value:
        for key in value.keys() - {"cases"}:
            findings.mistake(document.place(key), f"beside cases there can be nothing else, found {key}")
        named = value["cases"] if isinstance(value["cases"], dict) else {}
        if not named:
            findings.mistake(document.place("cases"), "expected names of cases under cases")
        readers = {name: _Reader(document, findings, file.parent, ("cases", name)) for name in named}
        cases += [reader.case(f"{file.stem}: {name}") for name, reader in readers.items()]
    else:
        cases.append(_Reader(document, findings, file.parent, ()).case(file.stem))
    findings.raise_mistakes()
    return cases


class _Reader:
    """Reads one case."""

    def __init__(self, document: Document, findings: Findings, folder: Path, base: tuple[str | int, ...]) -> None:
        self._document = document
        self._findings = findings
        self._folder = folder
        self._base = base

    def case(self, name: str) -> Case:
        value = self._document.value
        for key in self._base:
            value = value[key]
        case = Case(name, self._place())
        if not isinstance(value, dict):
            self._wrong("a case with input and expect", value)
            return case
        self._keys(value, _CASE_KEYS)
        case.description = str(value.get("description") or "")
        case.environment = value.get("environment")
        case.parameters = self._mapping(value, "parameters")
        case.now = self._time(value)
        self._database(value, case)
        for node, queues in self._mapping(value, "refuse").items():
            for queue, why in queues.items() if isinstance(queues, dict) else ():
                case.refuse[node, queue] = str(why)
        self._steps(value, case)
        if "expect" not in value:
            self._findings.mistake(self._place(), "the case expects nothing: it needs expect")
        self._expect(self._mapping(value, "expect"), case.expected)
        return case

    # What goes in

    def _time(self, value: Mapping[str, Any]) -> datetime:
        text = value.get("now")
        if text is None:
            return NOON
        try:
            return datetime.fromisoformat(text).replace(tzinfo=None)
        except (TypeError, ValueError):
            self._wrong("a time such as 2026-11-16T12:00:00", text, "now")
            return NOON

    def _database(self, value: Mapping[str, Any], case: Case) -> None:
        for source, content in self._mapping(value, "database").items():
            path = ("database", source)
            if not isinstance(content, dict):
                self._wrong("tables and sql", content, *path)
                continue
            self._keys(content, ("tables", "sql"), *path)
            name = _source(source)
            case.tables[name] = self._tables(content.get("tables") or {}, *path, "tables")
            if "sql" in content:
                case.sql[name] = self._sql(content["sql"], *path, "sql")

    def _sql(self, value: Any, *path: str | int) -> str:
        if isinstance(value, str):
            return value
        if not isinstance(value, dict) or list(value) != ["file"]:
            self._wrong("SQL, or {file: NAME}", value, *path)
            return ""
        return self._file(str(value["file"]), *path).decode()

    def _tables(self, value: Any, *path: str | int) -> Tables:
        if not isinstance(value, dict):
            self._wrong("tables with rows", value, *path)
            return {}
        tables: Tables = {}
        for table, rows in value.items():
            if isinstance(rows, list) and all(isinstance(row, dict) for row in rows):
                tables[table] = rows
            else:
                self._wrong("a list of rows {COLUMN: value}", rows, *path, table)
        return tables

    def _steps(self, value: Mapping[str, Any], case: Case) -> None:
        given = value.get("input")
        if given is None:
            self._findings.mistake(self._place(), "the case sends nothing: it needs input")
            return
        if not isinstance(given, list):
            case.steps.append(self._step(given, "input"))
            return
        for at, item in enumerate(given):
            case.steps.append(self._step(item, "input", at))

    def _step(self, item: Any, *path: str | int) -> CaseStep:
        if isinstance(item, str):
            return CaseStep(_inline(item))
        if not isinstance(item, dict):
            self._wrong("a message or a wait", item, *path)
            return CaseStep()
        self._keys(item, _INPUT_KEYS, *path)
        if "wait" in item:
            return CaseStep(wait=float(item["wait"]))
        return CaseStep(self._body(item, *path) or b"", item.get("node"), self._envelope(item, *path))

    # What comes out

    def _expect(self, value: Mapping[str, Any], expected: Expected) -> None:
        self._keys(value, _EXPECT_KEYS, "expect")
        expected.places.update({key: self._place("expect", key) for key in _EXPECT_KEYS})
        for key, wanted in (("queues", expected.queues), ("topics", expected.topics), ("files", expected.files)):
            for name, messages in self._mapping(value, key, "expect").items():
                wanted[name] = self._messages(messages, "expect", key, name)
        if "responses" in value:
            expected.responses = self._messages(value["responses"], "expect", "responses")
        expected.error = value.get("error")
        expected.trace = value.get("trace")
        for source, tables in self._mapping(value, "database", "expect").items():
            expected.tables[_source(source)] = self._tables(tables, "expect", "database", source)

    def _messages(self, value: Any, *path: str | int) -> list[ExpectedMessage]:
        if not isinstance(value, list):
            return [self._message(value, *path)]
        return [self._message(item, *path, at) for at, item in enumerate(value)]

    def _message(self, item: Any, *path: str | int) -> ExpectedMessage:
        place = self._place(*path)
        if isinstance(item, str):
            return ExpectedMessage(place, _inline(item))
        if not isinstance(item, dict):
            self._wrong("a message", item, *path)
            return ExpectedMessage(place)
        self._keys(item, _MESSAGE_KEYS, *path)
        how = item.get("as", "bytes")
        if how not in ("bytes", "tree"):
            self._wrong("bytes or tree", how, *path, "as")
        return ExpectedMessage(
            place,
            self._body(item, *path),
            how == "tree",
            {key: str(item[key]) for key in _MODEL_KEYS if key in item},
            self._mapping(item, "fields", *path),
            tuple(item.get("ignore") or ()),
            self._envelope(item, *path),
            item.get("status"),
            {str(key): str(text) for key, text in self._mapping(item, "headers", *path).items()},
        )

    def _body(self, item: Mapping[str, Any], *path: str | int) -> bytes | None:
        given = [key for key in _BODY_KEYS if key in item]
        if len(given) > 1:
            self._findings.mistake(self._place(*path), f"expected one of {' and '.join(given)}, found both")
        if not given:
            return None
        text = str(item[given[0]])
        if given[0] == "file":
            return self._file(text, *path)
        if given[0] == "hex":
            try:
                return bytes.fromhex(text)
            except ValueError:
                self._wrong("pairs of hexadecimal digits", text, *path, "hex")
                return b""
        return _inline(text)

    def _file(self, name: str, *path: str | int) -> bytes:
        file = self._folder / name
        if file.is_file():
            return file.read_bytes()
        there = [found.name for found in sorted(self._folder.iterdir()) if found.is_file()]
        self._findings.mistake(
            self._place(*path, "file"), f"there is no file {name} beside the case{suggestion(name, there)}"
        )
        return b""

    def _envelope(self, item: Mapping[str, Any], *path: str | int) -> dict[str, Any]:
        envelope = {key: item[key] for key in ENVELOPE_FIELDS if key in item}
        for key in ("message_id", "correlation_id"):
            if key in envelope:
                text = envelope[key]
                if not isinstance(text, str):  # a number in hexadecimal would lose its leading zeros
                    self._wrong("a text, or pairs of hexadecimal digits behind 0x, in quotes", text, *path, key)
                    text = ""
                envelope[key] = bytes.fromhex(text[2:]) if text.startswith("0x") else text.encode()
        if "persistent" in envelope:
            envelope["persistent"] = envelope["persistent"] in (True, "yes")
        return envelope

    # Telling

    def _place(self, *path: str | int) -> Place:
        return self._document.place(*self._base, *path)

    def _wrong(self, expected: str, found: Any, *path: str | int) -> None:
        self._findings.mistake(self._place(*path), f"expected {expected}, found {found!r}")

    def _keys(self, value: Mapping[str, Any], keys: tuple[str, ...], *path: str | int) -> None:
        for key in value:
            if key not in keys:
                text = f"there is no {key} here{suggestion(key, keys)}; there are: {known(keys)}"
                self._findings.mistake(self._place(*path, key), text)

    def _mapping(self, value: Mapping[str, Any], key: str, *path: str | int) -> dict[str, Any]:
        inner = value.get(key)
        if inner is None:
            return {}
        if not isinstance(inner, dict):
            self._wrong("a mapping", inner, *path, key)
            return {}
        return inner


def _inline(text: str) -> bytes:
    # No block of YAML ends with a carriage return: one that stands in quotes is meant.
    return (text if text.endswith("\r\n") else text.removesuffix("\n")).encode()


def _source(name: str) -> str:
    """The data source without a name is called `default` in test cases."""
    return "" if name == "default" else name
