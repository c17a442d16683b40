"""Routes: where the outputs of a flow go, by output node.

    NODE=flow                          as the node says: its queue, topic or file (the default)
    NODE=topic:NAME                    a topic of the server
    NODE=queue:NAME                    a queue of the server
    NODE=parquet:PATH?partition=day    Parquet files
    NODE=table:URL#TABLE               a table of a database
    dead_letters=...                   any of these, for messages that fail

Parquet files and tables have a column for each thing that is known of an output, `payload` among them. With
`?format=json&schema=DDL` their columns are those of the JSON that the payload is.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from heliograph.pipeline.errors import InvalidOption

DEAD_LETTERS = "dead_letters"
"""The name of the route for messages that fail; nodes cannot be called so in a route."""
KINDS = ("flow", "topic", "queue", "parquet", "table")
_OPTIONS = {"parquet": ("format", "schema", "partition"), "table": ("format", "schema")}
_FORMS = "flow, topic:NAME, queue:NAME, parquet:PATH or table:URL#TABLE"


@dataclass(frozen=True, slots=True)
class Route:
    """Where outputs go."""

    kind: str = "flow"
    """One of `KINDS`."""
    target: str = ""
    """The topic, the queue, the folder, or the URL of the database."""
    table: str = ""
    json_schema: str = ""
    """The columns of JSON payloads, as DDL (`device string, value double`); empty: payloads stay bytes."""
    partition: tuple[str, ...] = ()
    """Columns by which Parquet files are put into folders; `day` is that of the message, in UTC."""

    @property
    def to_server(self) -> bool:
        """Whether outputs become messages of the server (those of nodes that write files do not)."""
        return self.kind in {"flow", "topic", "queue"}

    @classmethod
    def parse(cls, text: str, where: str = "route") -> "Route":
        """A route as people write it; `where` is for the message if it is wrong."""
        kind, colon, rest = text.partition(":")
        if kind not in KINDS or bool(colon) != (kind != "flow") or (colon and not rest):
            raise InvalidOption(f"{where}: expected {_FORMS}, found {text!r}")
        if kind not in _OPTIONS:
            return cls(kind, rest)
        target, _, query = rest.partition("?") if kind == "parquet" else _table_parts(rest)
        table = ""
        if kind == "table":
            target, _, table = target.rpartition("#")
            if not target or not table:
                raise InvalidOption(f"{where}: expected table:URL#TABLE, found {text!r}")
        options = _options(kind, query, where)
        return cls(
            kind,
            target,
            table,
            options.get("schema", ""),
            tuple(name.strip() for name in options.get("partition", "").split(",") if name.strip()),
        )


def _table_parts(rest: str) -> tuple[str, str, str]:
    """The options of a table follow its name, because the URL of a database has a query of its own."""
    url, mark, last = rest.rpartition("#")
    table, question, query = last.partition("?")
    return url + mark + table, question, query


def _options(kind: str, query: str, where: str) -> dict[str, str]:
    options = dict(parse_qsl(query, keep_blank_values=True))
    for name in options:
        if name not in _OPTIONS[kind]:
            raise InvalidOption(f"{where}: {kind} has no option {name}; it has: {', '.join(_OPTIONS[kind])}")
    form = options.get("format", "")
    if form not in {"", "json"}:
        raise InvalidOption(f"{where}: expected format=json, found format={form}")
    if bool(form) != bool(options.get("schema")):
        raise InvalidOption(f"{where}: format=json and schema=DDL go together (schema=device string, value double)")
    return options


@dataclass(frozen=True, slots=True)
class Routes:
    """The routes of a flow. Nodes that are not named send where they say themselves."""

    by_node: Mapping[str, Route] = field(default_factory=dict)
    dead_letters: Route = Route()
    """By default the backout or dead-letter queue of the input node."""

    @classmethod
    def parse(cls, given: Mapping[str, str] | Iterable[str]) -> "Routes":
        """From a table NODE -> route, or from texts `NODE=route`."""
        pairs = list(given.items()) if isinstance(given, Mapping) else [_pair(text) for text in given]
        by_node: dict[str, Route] = {}
        for node, text in pairs:
            if node in by_node:
                raise InvalidOption(f"{node} has two routes; an output goes to one place")
            by_node[node] = Route.parse(text, f"route of {node}")
        dead_letters = by_node.pop(DEAD_LETTERS, Route())
        return cls(by_node, dead_letters)

    def of(self, node: str) -> Route:
        """The route of an output node."""
        return self.by_node.get(node, _AS_THE_FLOW_SAYS)

    def __reduce__(self) -> tuple[Any, ...]:
        return Routes, (dict(self.by_node), self.dead_letters)


_AS_THE_FLOW_SAYS = Route()


def _pair(text: str) -> tuple[str, str]:
    node, equals, route = text.partition("=")
    if not equals or not node:
        raise InvalidOption(f"expected NODE=ROUTE with a route such as {_FORMS}, found {text!r}")
    return node, route
