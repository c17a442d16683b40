"""The load generator: puts a planned load on any broker, and accounts for every message."""

from heliograph.lab.load.histogram import Histogram
from heliograph.lab.load.load_run import Control, run_load
from heliograph.lab.load.meter import Interval, LoadOutcome, Totals
from heliograph.lab.load.plan import Address, Group, Member, Payload, Plan, Step, Will, group_from

__all__ = [
    "Address",
    "Control",
    "Group",
    "Histogram",
    "Interval",
    "LoadOutcome",
    "Member",
    "Payload",
    "Plan",
    "Step",
    "Totals",
    "Will",
    "group_from",
    "run_load",
]
