"""The load generator: puts a planned load on any broker, and accounts for every message.

`run_load` starts processes with a `worker` each. A worker has a `ClientLoop`, and a `ClientGroup` for each group of the
plan, whose clients speak MQTT or AMQP. `docs/reference/lab-load.md` describes plans.
"""

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
