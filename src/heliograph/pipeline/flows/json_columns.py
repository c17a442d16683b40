"""JSON payloads as columns, by a schema that a route gives."""

from collections.abc import Sequence
from io import BytesIO

import pyarrow as pa
import pyarrow.json as pj

from heliograph.errors import Problem
from heliograph.pipeline.errors import InvalidRow


def json_rows(payloads: Sequence[bytes], schema: pa.Schema) -> pa.Table:
    """A row for each payload. Fields that are not there are null, others than those of the schema are left out.

    `Problem` if one of them is no JSON object, or a value is not of its column's type.
    """
    if not payloads:
        return schema.empty_table()
    text = b"\n".join(payloads)
    whole = all(payload.strip()[:1] == b"{" and payload.strip()[-1:] == b"}" for payload in payloads)
    try:
        table = pj.read_json(
            BytesIO(text),
            read_options=pj.ReadOptions(use_threads=False, block_size=len(text) + 1),
            parse_options=pj.ParseOptions(
                explicit_schema=schema, newlines_in_values=True, unexpected_field_behavior="ignore"
            ),
        )
    except pa.ArrowException as error:
        raise InvalidRow(f"expected JSON with {_shown(schema)}: {error}") from error
    # Two halves could make a whole otherwise.
    if not whole or table.num_rows != len(payloads):
        raise InvalidRow(f"expected one JSON object with {_shown(schema)} in each payload")
    return table.select(schema.names).cast(schema)


def refused_payloads(payloads: Sequence[bytes], schema: pa.Schema) -> dict[int, str]:
    """Which of the payloads are not as the schema says, and why."""
    try:
        json_rows(payloads, schema)
    except Problem as problem:
        if len(payloads) == 1:
            return {0: str(problem)}
    else:
        return {}
    half = len(payloads) // 2
    first = refused_payloads(payloads[:half], schema)
    second = refused_payloads(payloads[half:], schema)
    return {**first, **{half + at: why for at, why in second.items()}}


def _shown(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in schema)
