"""Compares the runs of two experiments, targets or folders."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Comparison:
    """One figure of both sides: medians, and the ratio of A to B with its confidence interval."""

    scenario: str


def compare(a: str, b: str, *, directory: Path, master: str | None = None, conf: Mapping[str, str] = {}) -> list[Comparison]:
    """Later."""
    return []
