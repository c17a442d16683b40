"""The plan of a flow's outputs, which is passed to the sink as an option, and therefore as text."""

import base64
import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import pyarrow as pa

from heliograph.pipeline.flows.routes import DEAD_LETTERS, Route, Routes
from heliograph.pipeline.sink.options import SinkOptions

DEAD_LETTER = "dead-letter"


@dataclass(frozen=True, slots=True)
class OutputsPlan:
    """Where everything goes."""

    routes: Routes
    json_schemas: Mapping[str, pa.Schema]
    """By node: the columns of those that go to files or tables as JSON."""
    server: SinkOptions | None
    """Where messages go; None if there are none, because the folder of a log is read without its server."""

    def text(self) -> str:
        """As an option."""
        return base64.b64encode(pickle.dumps(self)).decode()

    @classmethod
    def of(cls, text: str) -> "OutputsPlan":
        """From an option."""
        return cast("OutputsPlan", pickle.loads(base64.b64decode(text)))  # noqa: S301 - our own

    def route(self, kind: str, node: str) -> tuple[str, Route]:
        """What a row's route is called, and the route."""
        return (DEAD_LETTERS, self.routes.dead_letters) if kind == DEAD_LETTER else (node, self.routes.of(node))

    def folders(self) -> list[str]:
        """All folders of Parquet files."""
        routes = (*self.routes.by_node.values(), self.routes.dead_letters)
        return sorted({route.target for route in routes if route.kind == "parquet"})
