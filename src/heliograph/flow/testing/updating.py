"""Writes what came out of a flow into a test case, as what is expected from now on.

Only `expect` of the case is written anew, and files that it names; what still fits is left as it was, and so is how a
message is compared. Comments inside of `expect` are lost.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from heliograph.common.documents import read_document
from heliograph.errors import InvalidInput, Problem
from heliograph.flow.definition import Findings
from heliograph.flow.engine.compilation import Compilation
from heliograph.flow.engine.outcome import Respond
from heliograph.flow.formats.catalogue import Catalogue
from heliograph.flow.formats.envelope import Envelope
from heliograph.flow.testing.case import ENVELOPE_FIELDS, Case, ExpectedMessage
from heliograph.flow.testing.case_running import play, prepared_flow
from heliograph.flow.testing.comparing import field_texts, message_differences
from heliograph.flow.testing.flow_under_test import FlowUnderTest

_INDENT = 2


def update_case(folder: Path, case: Case) -> list[Path]:
    """Run the case, and make what came out what it expects. Gives the files that were written."""
    file = folder / case.place.file
    text = file.read_text("utf-8")
    base = () if case.name == file.stem else ("cases", case.name.removeprefix(f"{file.stem}: "))
    value: Any = read_document(text, case.place.file, Findings().mistake).value
    for key in base:
        value = value[key]
    with prepared_flow(folder, case) as flow:
        play(case, flow)
        update = _Update(case, flow, file.parent)
        expect = update.expect(value.get("expect") or {})
    file.write_text(_replaced(text, base, expect), "utf-8")
    for path, data in update.files.items():
        path.write_bytes(data)
    return [file, *update.files]


class _Update:
    """The new `expect` of a case."""

    def __init__(self, case: Case, flow: FlowUnderTest, folder: Path) -> None:
        self._case = case
        self._flow = flow
        self._folder = folder
        self._catalogue: Catalogue = Compilation(flow.definition).catalogue
        self.files: dict[Path, bytes] = {}
        """Files beside the case that are to be written."""

    def expect(self, old: Mapping[str, Any]) -> dict[str, Any]:
        """What came, in the order and the words of what was there."""
        expected, flow = self._case.expected, self._flow
        made: dict[str, Any] = {
            "queues": self._places(old.get("queues"), expected.queues, flow.queues),
            "topics": self._places(old.get("topics"), expected.topics, flow.topics),
            "files": self._places(
                old.get("files"), expected.files, {name: [Envelope(data)] for name, data in flow.files.items()}
            ),
            "responses": self._responses(old.get("responses")),
            "error": self._error(old.get("error")),
            "trace": flow.trace.strip() if "trace" in old else None,
            "database": {
                source: {table: self._rows(source, table) for table in tables}
                for source, tables in (old.get("database") or {}).items()
            },
        }
        keys = [*(key for key in old if key in made), *(key for key in made if key not in old)]
        return {key: made[key] for key in keys if made[key]}

    def _rows(self, source: str, table: str) -> list[dict[str, Any]]:
        rows = self._flow.database("" if source == "default" else source).rows(table)
        return [{name: _plain(value) for name, value in row.items()} for row in rows]

    def _error(self, old: str | None) -> str | None:
        failures = self._flow.failures
        if not failures:
            return None
        fits = old is not None and any(old.lower() in failure.exceptions.lower() for failure in failures)
        return old if fits else failures[0].text

    def _places(
        self,
        old: Mapping[str, Any] | None,
        expected: Mapping[str, list[ExpectedMessage]],
        found: Mapping[str, Sequence[Envelope]],
    ) -> dict[str, Any]:
        """By queue, topic or file."""
        old = old or {}
        names = [*(name for name in old if name in found), *(name for name in found if name not in old)]
        return {name: self._messages(old.get(name), expected.get(name, []), found[name]) for name in names}

    def _messages(self, old: Any, expected: Sequence[ExpectedMessage], found: Sequence[Envelope]) -> Any:
        items = old if isinstance(old, list) else [] if old is None else [old]
        made = [
            self._message(items[at], expected[at], message) if at < len(items) else _inline(message.body)
            for at, message in enumerate(found)
        ]
        return made if isinstance(old, list) or len(made) != 1 else made[0]

    def _responses(self, old: Any) -> list[Any]:
        expected = self._case.expected.responses
        items = old if isinstance(old, list) else [] if old is None else [old]
        made = []
        for at, response in enumerate(self._flow.responses):
            if at >= len(items):
                made.append({"status": response.status, **_as_mapping(_inline(response.body))})
                continue
            item = self._message(items[at], expected[at], Envelope(response.body))
            made.append(_with_status(item, response) if isinstance(item, dict) else item)
        return made

    def _message(self, old: Any, expected: ExpectedMessage, found: Envelope) -> Any:
        """The old item with what is different changed."""
        if not message_differences(expected, found, self._catalogue):
            return old
        if not isinstance(old, dict):
            return _inline(found.body)
        made = dict(old)
        if "file" in old:
            self.files[self._folder / old["file"]] = found.body
        elif "hex" in old:
            made["hex"] = found.body.hex()
        elif "body" in old:
            (new,) = _as_mapping(_inline(found.body)).items()
            made = dict(new if key == "body" else (key, value) for key, value in made.items())
        if "fields" in old:
            made["fields"] = self._fields(expected, found)
        for name in ENVELOPE_FIELDS:
            if name in old:
                made[name] = _envelope_value(old[name], getattr(found, name))
        return made

    def _fields(self, expected: ExpectedMessage, found: Envelope) -> dict[str, str | None]:
        try:
            return field_texts(expected, found.body, self._catalogue)
        except Problem as problem:
            raise InvalidInput(f"{expected.place}: fields cannot be updated: {problem}") from problem


def _with_status(item: dict[str, Any], response: Respond) -> dict[str, Any]:
    made = dict(item)
    if "status" in made:
        made["status"] = response.status
    if "headers" in made:
        made["headers"] = {name: response.headers.get(name, "") for name in made["headers"]}
    return made


def _inline(body: bytes) -> Any:
    """A body as it can stand in a case: as a text if it is one. YAML's own line feed at its end is no part of it."""
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return {"hex": body.hex()}
    if not all(character.isprintable() or character in "\n\t" for character in text):
        return {"hex": body.hex()}
    return f"{text}\n" if "\n" in text else text


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, str | int | float) else str(value)


def _as_mapping(item: Any) -> dict[str, Any]:
    return item if isinstance(item, dict) else {"body": item}


def _envelope_value(old: Any, found: Any) -> Any:
    if isinstance(found, bytes):
        text = found.decode("ascii", "replace")
        return text if text.isprintable() and not text.startswith("0x") and "\ufffd" not in text else f"0x{found.hex()}"
    if isinstance(old, dict):
        return {name: found[name] for name in old if name in found}
    return found


# The file


class _Dumper(yaml.SafeDumper):
    """Texts of several lines as blocks, lists inside of what they belong to."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _represent_text)


def _replaced(text: str, base: Sequence[str], expect: dict[str, Any]) -> str:
    """The text of a file with another `expect` in the case at `base`."""
    node: Any = yaml.compose(text, yaml.SafeLoader)
    for name in base:
        node = next(value for key, value in node.value if key.value == name)
    key, value = next(pair for pair in node.value if pair[0].value == "expect")
    begins, ends = key.start_mark, _end(text, value.end_mark.index)
    made = _dumped(expect, begins.column, flow=bool(node.flow_style))
    return f"{text[: begins.index]}{made}{text[ends:]}"


def _dumped(expect: dict[str, Any], column: int, *, flow: bool) -> str:
    if flow or not expect:
        inner = yaml.dump(
            expect, Dumper=_Dumper, default_flow_style=True, sort_keys=False, allow_unicode=True, width=1 << 30
        )
        return f"expect: {inner.rstrip()}"
    dumped = yaml.dump(
        {"expect": expect}, Dumper=_Dumper, indent=_INDENT, sort_keys=False, allow_unicode=True, width=1 << 30
    )
    return "\n".join(_shifted(dumped.removesuffix("\n").split("\n"), column))


def _shifted(lines: Sequence[str], column: int) -> Iterator[str]:
    """All lines but the first begin at another column."""
    for number, line in enumerate(lines):
        yield " " * column + line if number and line else line


def _end(text: str, index: int) -> int:
    """Where a value really ends: YAML counts the empty lines and comments behind a block as part of it."""
    lines = text[:index].split("\n")
    while len(lines) > 1 and (not lines[-1].strip() or lines[-1].lstrip().startswith("#")):
        lines.pop()
    return len("\n".join(lines))
