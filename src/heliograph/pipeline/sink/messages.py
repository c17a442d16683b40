"""Rows become messages: rows with the same head differ in id and body only, so a head is encoded once.

Columns come from Arrow with their values numbered, and a row's head is known by those numbers.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from heliograph.amqp.messages import MessageTemplate
from heliograph.errors import Problem
from heliograph.mapping import TOPIC_PREFIX, identifier_from_text
from heliograph.pipeline.errors import InvalidRow
from heliograph.pipeline.sink.heads import Values, template_of
from heliograph.pipeline.sink.options import SinkOptions

_NOT_OF_THE_HEAD = frozenset({"payload", "message_id"})


class _Numbered(NamedTuple):
    """A dictionary-encoded column: its different values, and the index of each row's value."""

    name: str
    values: list[Any]
    numbers: list[int]


class Messages:
    """Makes the messages of one task."""

    def __init__(self, columns: Sequence[str], options: SinkOptions, prefix: str, where: Callable[[int], str]) -> None:
        """Where a row does not have an id, messages for queues get one: the prefix and the row's number.

        `where` names a row for people.
        """
        self._columns = frozenset(columns)
        self._options = options
        self._prefix = prefix
        self._where = where

    def of(self, batch: pa.RecordBatch, first: int, now: int) -> list[bytes]:
        """The messages of these rows, of which the first has the number `first`; `now` is milliseconds since 1970."""
        columns = {name: batch.column(name) for name in batch.schema.names if name in self._columns}
        payloads = columns["payload"]
        bodies = _bytes_of(payloads)
        heads = [_numbered(name, each) for name, each in columns.items() if name not in _NOT_OF_THE_HEAD]
        common = {head.name: head.values[0] for head in heads if len(head.values) == 1}
        if _is_text(payloads):
            common["text"] = True
        elif "text" in columns:
            self._check_texts(columns["text"], bodies, first)
        different = [head for head in heads if len(head.values) > 1]
        ids = columns.get("message_id")
        if ids is not None and ids.null_count == len(ids):
            ids = None
        if not different and ids is None:
            template = self._template(common, first, now)
            if _without_id(template):
                return template.fill_all(bodies)
            return template.fill_run(self._prefix.encode(), first, bodies)
        return self._one_by_one(common, different, ids, bodies, first, now)

    def _one_by_one(
        self,
        common: Values,
        different: list[_Numbered],
        ids: pa.Array | None,
        bodies: list[bytes],
        first: int,
        now: int,
    ) -> list[bytes]:
        count = len(bodies)
        keys: Iterable[tuple[int, ...]] = [()] * count
        if different:
            keys = zip(*(head.numbers for head in different), strict=True)
        names = [None] * count if ids is None else ids.to_pylist()
        templates: dict[tuple[int, ...], MessageTemplate] = {}
        filled = []
        prefix = self._prefix
        for row, (key, name, body) in enumerate(zip(keys, names, bodies, strict=True), first):
            template = templates.get(key)
            if template is None:
                values = {head.name: head.values[number] for head, number in zip(different, key, strict=True)}
                template = templates[key] = self._template({**common, **values}, row, now)
            if name is not None:
                message_id: Any = identifier_from_text(name)
            else:
                message_id = None if _without_id(template) else prefix + str(row)
            filled.append(template.fill(message_id, body))
        return filled

    def _template(self, values: Values, row: int, now: int) -> MessageTemplate:
        try:
            return template_of(values, self._options, now)
        except Problem as problem:
            raise InvalidRow(f"{self._where(row)}: {problem}") from None

    def _check_texts(self, texts: pa.Array, bodies: list[bytes], first: int) -> None:
        for row, (text, body) in enumerate(zip(texts.to_pylist(), bodies, strict=True), first):
            if text and not body.isascii():
                try:
                    body.decode()
                except UnicodeDecodeError as error:
                    raise InvalidRow(
                        f"{self._where(row)}: the payload is to be a text, but is not UTF-8: {error}"
                    ) from None


def _without_id(template: MessageTemplate) -> bool:
    """Whether to leave out ids: a topic takes messages that differ only in their bodies at a tenth of the cost."""
    return template.to.startswith(TOPIC_PREFIX)


def _is_text(column: pa.Array) -> bool:
    return bool(pa.types.is_string(column.type) or pa.types.is_large_string(column.type))


def _bytes_of(column: pa.Array) -> list[bytes]:
    if pa.types.is_large_string(column.type):
        column = column.cast(pa.large_binary())
    elif pa.types.is_string(column.type):
        column = column.cast(pa.binary())  # the same bytes; to make Python strings of them first would cost
    bodies: list[bytes] = column.to_pylist()
    return [b"" if body is None else body for body in bodies] if column.null_count else bodies


def _numbered(name: str, column: pa.Array) -> _Numbered:
    if column.null_count == len(column):
        return _Numbered(name, [None], [])
    if pa.types.is_map(column.type):
        return _numbered_maps(name, column)
    encoded = pc.dictionary_encode(column, null_encoding="encode")
    values = encoded.dictionary.to_pylist()
    return _Numbered(name, values, encoded.indices.to_pylist() if len(values) > 1 else [])


def _numbered_maps(name: str, column: pa.Array) -> _Numbered:
    """Number the different maps of a column in Python, because Arrow does not dictionary-encode maps."""
    known: dict[tuple[tuple[str, Any], ...] | None, int] = {}
    numbers = [
        known.setdefault(
            None if items is None else tuple((key, each) for key, each in items if each is not None), len(known)
        )
        for items in column.to_pylist()
    ]
    return _Numbered(name, [dict(items) if items else None for items in known], numbers)
