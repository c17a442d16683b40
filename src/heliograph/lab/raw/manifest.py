"""What a run was: enough to repeat it, and to know what its figures are worth."""

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass(frozen=True)
class Manifest:
    """One row; texts that hold structures are JSON."""

    run: str
    experiment: str
    scenario: str
    document: str
    variant: str
    type: str
    target: str
    target_version: str
    started: datetime
    seconds: float
    scale: float
    round: int
    purpose: str  # measure, step, bisect or confirm
    parameters: str
    plan: str
    setup: str
    machine: str
    versions: str
    connections: int
    rack_units: float | None
    passed: bool
    verdict: str
    generator_bound: bool
    note: str = ""


def new_id(*words: str, now: datetime | None = None) -> str:
    """`20261116T132049-FANOUT-mosquitto-1f3a`: sorts by time, says what it is, and is the only one of its kind."""
    moment = (now or datetime.now(UTC)).strftime("%Y%m%dT%H%M%S")
    return "-".join([moment, *words, secrets.token_hex(2)])
