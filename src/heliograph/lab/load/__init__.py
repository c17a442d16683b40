"""The load generator: puts a planned load on any broker, and accounts for every message."""

from heliograph.lab.load.address import Address
from heliograph.lab.load.control import Control
from heliograph.lab.load.histogram import Histogram
from heliograph.lab.load.interval import Interval, LoadOutcome, Totals
from heliograph.lab.load.plan import Group, Member, Payload, Plan, Step, Will, group_from
from heliograph.lab.load.running import run_load

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
