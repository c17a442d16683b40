"""Metrics in the text format that Prometheus scrapes (version 0.0.4)."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Labels = Mapping[str, str]

_METRIC_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_LABEL_NAME = re.compile(r"(?!__)[a-zA-Z_][a-zA-Z0-9_]*")


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric: a single value, or one value for each set of labels.

    Counters only grow and end in `_total`; gauges go up and down and do not. ValueError for what Prometheus would
    misread.
    """

    name: str
    kind: Literal["counter", "gauge"]
    help: str
    value: float | Sequence[tuple[Labels, float]]

    def __post_init__(self) -> None:
        """Refuse names that Prometheus would not take."""
        if not _METRIC_NAME.fullmatch(self.name):
            raise ValueError(f"expected letters, digits, _ and : in the name of a metric, found {self.name!r}")
        if (self.kind == "counter") != self.name.endswith("_total"):
            raise ValueError(f"expected _total at the end of a counter's name and of no other, found {self.name!r}")
        for label in {label for labels, _ in self._samples() for label in labels}:
            if not _LABEL_NAME.fullmatch(label):
                raise ValueError(f"expected letters, digits and _ in a label of {self.name}, found {label!r}")

    def _samples(self) -> Sequence[tuple[Labels, float]]:
        return [({}, self.value)] if isinstance(self.value, int | float) else self.value

    def lines(self) -> Iterator[str]:
        """The lines of this metric."""
        yield f"# HELP {self.name} {_escaped(self.help)}"
        yield f"# TYPE {self.name} {self.kind}"
        for labels, value in self._samples():
            pairs = ",".join(f'{label}="{_quoted(text)}"' for label, text in labels.items())
            yield f"{self.name}{{{pairs}}} {_number(value)}" if pairs else f"{self.name} {_number(value)}"


def lines_for_prometheus(metrics: Iterable[Metric]) -> Iterator[str]:
    """The lines of a page for Prometheus, of each metric when it is its turn; ValueError if two share a name."""
    names: set[str] = set()
    for metric in metrics:
        if metric.name in names:
            raise ValueError(f"expected each metric once, found {metric.name} again")
        names.add(metric.name)
        for line in metric.lines():
            yield f"{line}\n"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n")


def _quoted(text: str) -> str:
    return _escaped(text).replace('"', r"\"")


def _number(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return repr(value)
