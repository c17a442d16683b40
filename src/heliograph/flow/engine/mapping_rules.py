"""Mappings: from source paths to target paths, written in YAML, compiled as ESQL.

    mapping: order_to_invoice
    source: InputRoot.XMLNSC.Order
    target: OutputRoot.XMLNSC.Invoice
    map:
      - {to: Number, from: Id}
      - {to: Currency, constant: EUR}
      - {to: Total, expression: "CAST(source.Amount AS DECIMAL) * 1.2", when: source.Amount IS NOT NULL}
      - to: Line
        for: Item
        as: part
        when: part.Quantity > 0
        map:
          - {to: Sku, from: Code}

A path that begins with `source`, `target`, a loop's name or a tree (InputRoot, Environment, ...) is taken as it is; any
other is relative to the innermost loop's element, or to the source. Headers are copied, unless `headers: no`.

The ESQL of a rule stands in the same line as the rule does in the YAML file, so that whatever is said of a line of the
one holds for the other.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from heliograph.common.documents import Document, read_document
from heliograph.flow.definition import Findings, known, suggestion

_TREES = frozenset(
    {
        "InputRoot",
        "InputBody",
        "InputProperties",
        "InputLocalEnvironment",
        "InputExceptionList",
        "OutputRoot",
        "OutputLocalEnvironment",
        "OutputExceptionList",
        "Environment",
    }
)
_TOP_KEYS = ("mapping", "source", "target", "headers", "map")
_RULE_KEYS = ("to", "from", "constant", "expression", "for", "as", "when", "map")
_SOURCES = ("from", "constant", "expression", "for")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

Path = tuple[str | int, ...]


class Lines:
    """Text whose pieces stand in given lines, as far as what is before them allows."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._line = 1

    def add(self, line: int, text: str) -> None:
        """Add a piece; it begins in this line, or in the one that has been reached."""
        if line > self._line:
            self._pieces.append("\n" * (line - self._line))
            self._line = line
        self._pieces.append(text + " ")
        self._line += text.count("\n")

    def text(self) -> str:
        """All of it."""
        return "".join(self._pieces)


@dataclass(frozen=True, slots=True)
class _Scope:
    """Where the paths of a rule begin."""

    source: str = "source"
    target: str = "target"
    names: frozenset[str] = field(default_factory=lambda: frozenset({"source", "target", *_TREES}))

    def path(self, text: str) -> str:
        """The path as ESQL."""
        first = _NAME.match(text)
        if first is not None and first.group() in self.names:
            return text
        return f"{self.source}.{text}"

    def destination(self, text: str) -> str:
        """Where the rule writes to, as ESQL."""
        first = _NAME.match(text)
        return text if first is not None and first.group() in _TREES else f"{self.target}.{text}"


def mapping_text(text: str, file: str, findings: Findings) -> tuple[str, str]:
    """The name of the mapping and its ESQL; what is wrong are findings."""
    document = read_document(text, file, findings.mistake)
    return _Generation(document, findings).text()


class _Generation:
    def __init__(self, document: Document, findings: Findings) -> None:
        self._document = document
        self._findings = findings
        self._lines = Lines()
        self._loops = 0

    def text(self) -> tuple[str, str]:
        value = self._document.value
        if not isinstance(value, dict):
            self._findings.mistake(self._document.place(), "expected a mapping with source, target and map")
            return "", ""
        self._check_keys((), value, _TOP_KEYS)
        name = self._word((), value, "mapping")
        source, target = self._word((), value, "source"), self._word((), value, "target")
        headers = value.get("headers", "yes")
        if headers not in ("yes", "no"):
            self._findings.mistake(self._document.place("headers"), f"headers: expected yes or no, found {headers!r}")
        self._begin(name, source, target, headers == "yes")
        self._rules(("map",), value.get("map"), _Scope())
        self._lines.add(0, "RETURN TRUE; END; END MODULE;")
        return name, self._lines.text()

    def _begin(self, name: str, source: str, target: str, headers: bool) -> None:
        add = self._lines.add
        add(1, f"CREATE COMPUTE MODULE {name} CREATE FUNCTION Main() RETURNS BOOLEAN BEGIN")
        if headers:
            add(1, "SET OutputRoot = InputRoot; DELETE LASTCHILD OF OutputRoot;")
        add(self._line("source"), f"DECLARE source REFERENCE TO {source};")
        missing = f"The message has no {source}.".replace("'", "''")
        add(0, f"IF NOT LASTMOVE(source) THEN THROW USER EXCEPTION MESSAGE 2951 VALUES ('{missing}'); END IF;")
        add(self._line("target"), f"CREATE FIELD {target}; DECLARE target REFERENCE TO {target};")

    def _rules(self, path: Path, rules: Any, scope: _Scope) -> None:
        if not isinstance(rules, list) or not rules:
            self._findings.mistake(self._document.place(*path), "expected a list of rules under map")
            return
        for at, rule in enumerate(rules):
            if isinstance(rule, dict):
                self._rule((*path, at), rule, scope)
            else:
                self._findings.mistake(
                    self._document.place(*path, at), f"expected a rule {{to: ..., from: ...}}, found {rule!r}"
                )

    def _rule(self, path: Path, rule: Mapping[str, Any], scope: _Scope) -> None:
        self._check_keys(path, rule, _RULE_KEYS)
        target = self._word(path, rule, "to")
        given = [key for key in _SOURCES if key in rule]
        if len(given) != 1:
            has = f"has {' and '.join(given)}" if given else "has none"
            self._findings.mistake(
                self._document.place(*path), f"a rule needs one of {', '.join(_SOURCES)}; this one {has}"
            )
            return
        if given == ["for"]:
            self._loop(path, rule, target, scope)
            return
        for key in ("as", "map"):
            if key in rule:
                self._findings.mistake(self._document.place(*path, key), f"{key} belongs to a rule with for")
        condition = "when" in rule
        if condition:
            self._lines.add(self._line(*path, "when"), f"IF {self._word(path, rule, 'when')} THEN")
        value = self._value(path, rule, given[0], scope)
        self._lines.add(self._line(*path, given[0]), f"SET {scope.destination(target)} = {value};")
        if condition:
            self._lines.add(0, "END IF;")

    def _value(self, path: Path, rule: Mapping[str, Any], key: str, scope: _Scope) -> str:
        if key == "constant":
            return self._constant(path, rule[key])
        word = self._word(path, rule, key)
        return f"({word})" if key == "expression" else scope.path(word)

    def _loop(self, path: Path, rule: Mapping[str, Any], target: str, scope: _Scope) -> None:
        self._loops += 1
        item = self._word(path, rule, "as") if "as" in rule else f"each{self._loops}"
        if not _NAME.fullmatch(item):
            self._findings.mistake(self._document.place(*path, "as"), f"as: expected a name, found {item!r}")
        made = f"target{self._loops}"
        listed = scope.path(self._word(path, rule, "for")).removesuffix("[]") + "[]"
        before, _, last = _split(scope.destination(target))
        add = self._lines.add
        add(self._line(*path, "for"), f"FOR {item} AS {listed} DO")
        if "when" in rule:
            add(self._line(*path, "when"), f"IF {self._word(path, rule, 'when')} THEN")
        add(0, f"DECLARE {made} REFERENCE TO OutputRoot; CREATE LASTCHILD OF {before} AS {made} IDENTITY {last};")
        self._rules((*path, "map"), rule.get("map"), _Scope(item, made, scope.names | {item}))
        if "when" in rule:
            add(0, "END IF;")
        add(0, "END FOR;")

    def _constant(self, path: Path, value: Any) -> str:
        if isinstance(value, bool):
            return "TRUE" if value else "FALSE"
        if isinstance(value, str):
            return "'" + value.replace("'", "''") + "'"
        if isinstance(value, int | float):
            return repr(value)
        self._findings.mistake(self._document.place(*path, "constant"), f"expected a text or a number, found {value!r}")
        return "NULL"

    def _word(self, path: Path, mapping: Mapping[str, Any], key: str) -> str:
        value = mapping.get(key)
        if isinstance(value, str) and value.strip():
            return value.strip()
        found = "nothing" if value is None else repr(value)
        self._findings.mistake(self._document.place(*path, key), f"{key}: expected text, found {found}")
        return "missing"

    def _check_keys(self, path: Path, mapping: Mapping[str, Any], keys: tuple[str, ...]) -> None:
        for key in mapping:
            if key not in keys:
                text = f"there is no {key} here{suggestion(key, keys)}; there are: {known(keys)}"
                self._findings.mistake(self._document.place(*path, key), text)

    def _line(self, *path: str | int) -> int:
        return self._document.place(*path).line


def _split(path: str) -> tuple[str, str, str]:
    """The path before its last element, a dot, and the last element; not by dots inside of brackets and quotes."""
    depth, quoted, at = 0, False, -1
    for position, character in enumerate(path):
        if character == '"':
            quoted = not quoted
        elif not quoted:
            depth += (character in "([{") - (character in ")]}")
            if character == "." and not depth:
                at = position
    return path[:at], path[at : at + 1], path[at + 1 :]
