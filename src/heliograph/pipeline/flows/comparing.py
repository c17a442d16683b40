"""Compares the outputs of two versions of a flow for the same messages.

    print(compare("flows/orders-1", "flows/orders-2", spark.read.format("heliograph")...load()).text())

Outputs are matched by the message that came in, the output node, and their order among those of this message and node.
Identifiers of messages are not compared, because a flow makes new ones. Both versions see the same time.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from heliograph.pipeline.flows.effect_rows import DEAD_LETTER
from heliograph.pipeline.flows.outputs import Flow, flow_outputs
from heliograph.pipeline.flows.routes import DEAD_LETTERS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

EQUAL, CHANGED, ONLY_OLD, ONLY_NEW = "equal", "changed", "only old", "only new"
CATEGORIES = (EQUAL, CHANGED, ONLY_OLD, ONLY_NEW)
_COMPARED = (
    "kind",
    "destination",
    "payload",
    "text",
    "content_type",
    "correlation",
    "reply_to",
    "persistent",
    "priority",
    "expiry",
    "retain",
    "reason",
)
_PLACE = ("stream", "partition", "offset")
_KEY = (*_PLACE, "output", "number")
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class Sample:
    """An output that is not the same in both versions."""

    output: str
    """The output node, or `dead_letters`."""
    category: str
    place: str
    """`stream/partition/offset` of the message that came in."""
    old: Mapping[str, Any] | None
    new: Mapping[str, Any] | None

    def text(self) -> str:
        """For people: what differs, old above new."""
        lines = [f"{self.place} {self.output}: {self.category}"]
        old, new = self.old or {}, self.new or {}
        for name in (*_COMPARED, "properties"):
            if old.get(name) != new.get(name):
                lines += [f"  - {name}: {_shown(old[name])}"] if self.old is not None else []
                lines += [f"  + {name}: {_shown(new[name])}"] if self.new is not None else []
        return "\n".join(lines)


@dataclass(slots=True)
class Comparison:
    """How many outputs of each node are equal, changed, or only in one version, with samples."""

    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    """By output node (or `dead_letters`), then by category."""
    samples: list[Sample] = field(default_factory=list)

    @property
    def is_equal(self) -> bool:
        """Whether both versions have the same outputs."""
        return not any(self.total(category) for category in CATEGORIES if category != EQUAL)

    def total(self, category: str) -> int:
        """How many outputs of all nodes."""
        return sum(counts.get(category, 0) for counts in self.counts.values())

    def text(self) -> str:
        """A table, and samples of what is not the same."""
        width = max([len("output"), *map(len, self.counts)])
        lines = ["  ".join([f"{'output':<{width}}", *(f"{category:>10}" for category in CATEGORIES)])]
        for output, counts in sorted(self.counts.items()):
            numbers = (f"{counts.get(category, 0):>10}" for category in CATEGORIES)
            lines.append("  ".join([f"{output:<{width}}", *numbers]))
        if not self.counts:
            lines.append("there are no outputs")
        for sample in self.samples:
            lines += ["", sample.text()]
        return "\n".join(lines)


def compare(
    old: Flow,
    new: Flow,
    messages: "DataFrame",
    *,
    input_node: str | None = None,
    state: str | None = None,
    samples: int = 3,
) -> Comparison:
    """Send the messages of a DataFrame through two versions of a flow, and compare the outputs.

    Nothing is sent. Database nodes do write, so use data sources that may be changed.
    """
    now = datetime.now()
    old_rows, new_rows = (flow_outputs(messages, flow, input_node, state=state, now=now) for flow in (old, new))
    return compare_outputs(old_rows, new_rows, samples=samples)


def compare_outputs(old: "DataFrame", new: "DataFrame", *, samples: int = 3) -> Comparison:
    """Compare rows of `flow_outputs`, with a number of samples of each difference for each output node."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - its usual name

    joined = _numbered(old, "old").join(_numbered(new, "new"), list(_KEY), "full_outer")
    category = (
        F.when(F.col("new").isNull(), ONLY_OLD)
        .when(F.col("old").isNull(), ONLY_NEW)
        .when(F.col("old") == F.col("new"), EQUAL)
        .otherwise(CHANGED)
    )
    both = joined.withColumn("category", category).persist()
    try:
        comparison = Comparison()
        for row in both.groupBy("output", "category").count().collect():
            comparison.counts.setdefault(row["output"], {})[row["category"]] = row["count"]
        comparison.samples = _samples(both, samples)
    finally:
        both.unpersist()
    return comparison


def _numbered(rows: "DataFrame", side: str) -> "DataFrame":
    from pyspark.sql import Window  # noqa: PLC0415
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    output = F.when(F.col("kind") == DEAD_LETTER, DEAD_LETTERS).otherwise(F.col("node"))
    window = Window.partitionBy(*_PLACE, "output").orderBy("index")
    value = F.struct(*_COMPARED, F.array_sort(F.map_entries("properties")).alias("properties"))
    return (
        rows.withColumn("output", output)
        .withColumn("number", F.row_number().over(window))
        .select(*_KEY, value.alias(side))
    )


def _samples(both: "DataFrame", most: int) -> list[Sample]:
    from pyspark.sql import Window  # noqa: PLC0415
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    rank: Column = F.row_number().over(Window.partitionBy("output", "category").orderBy(*_PLACE, "number"))
    found = both.filter(F.col("category") != EQUAL).withColumn("rank", rank).filter(F.col("rank") <= most)
    rows = found.orderBy("output", "category", "rank").collect()
    return [
        Sample(
            row["output"],
            row["category"],
            "/".join(str(row[name]) for name in _PLACE),
            row["old"].asDict() if row["old"] is not None else None,
            row["new"].asDict() if row["new"] is not None else None,
        )
        for row in rows
    ]


def _shown(value: Any) -> str:
    if isinstance(value, bytes | bytearray):
        text = bytes(value).decode("utf-8", "backslashreplace")
    elif isinstance(value, list):
        text = ", ".join(f"{entry[0]}={entry[1]}" for entry in value)
    else:
        text = str(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}... ({len(text)} characters)"
