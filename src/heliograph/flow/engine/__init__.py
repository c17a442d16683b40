"""The engine: a compiled flow, and what comes of a message that goes through it.

`compile_flow` makes a `CompiledFlow` of a definition. Its `process` takes envelopes and `Resources`, and gives an
`Outcome` for each: effects, and how its unit of work ends. This is what other rooms use of it; modules of flows import
from the modules themselves.
"""

from typing import TYPE_CHECKING

from heliograph.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from heliograph.flow.engine.aggregation.sqlite_store import SqliteAggregationStore
    from heliograph.flow.engine.aggregation.store import AggregationStore
    from heliograph.flow.engine.backout import Backout
    from heliograph.flow.engine.building import Building
    from heliograph.flow.engine.compiled_flow import CompiledFlow, Observer, Refusals, compile_flow
    from heliograph.flow.engine.database.databases import Databases
    from heliograph.flow.engine.database.sources import DataSources
    from heliograph.flow.engine.exceptions import ExceptionRecord, FlowException
    from heliograph.flow.engine.garbage import collect_seldom
    from heliograph.flow.engine.message import copy_root
    from heliograph.flow.engine.node import Timer
    from heliograph.flow.engine.node_statistics import Statistics, measured
    from heliograph.flow.engine.nodes.node_programs import MODULE_KINDS, everything, select_module
    from heliograph.flow.engine.nodes.subscriptions import Subscription, SubscriptionRegistry
    from heliograph.flow.engine.outcome import DeadLetter, Effect, Outcome, Publish, Put, Respond, Result, WriteFile
    from heliograph.flow.engine.resources import Resources
    from heliograph.flow.engine.run import Assembly, Run, Target

__getattr__ = lazy_names(
    __name__,
    {
        "aggregation.sqlite_store": "SqliteAggregationStore",
        "aggregation.store": "AggregationStore",
        "backout": "Backout",
        "building": "Building",
        "compiled_flow": "CompiledFlow Observer Refusals compile_flow",
        "database.databases": "Databases",
        "database.sources": "DataSources",
        "exceptions": "ExceptionRecord FlowException",
        "garbage": "collect_seldom",
        "message": "copy_root",
        "node": "Timer",
        "node_statistics": "Statistics measured",
        "nodes.node_programs": "MODULE_KINDS everything select_module",
        "nodes.subscriptions": "Subscription SubscriptionRegistry",
        "outcome": "DeadLetter Effect Outcome Publish Put Respond Result WriteFile",
        "resources": "Resources",
        "run": "Assembly Run Target",
    },
)


__all__ = [
    "MODULE_KINDS",
    "AggregationStore",
    "Assembly",
    "Backout",
    "Building",
    "CompiledFlow",
    "DataSources",
    "Databases",
    "DeadLetter",
    "Effect",
    "ExceptionRecord",
    "FlowException",
    "Observer",
    "Outcome",
    "Publish",
    "Put",
    "Refusals",
    "Resources",
    "Respond",
    "Result",
    "Run",
    "SqliteAggregationStore",
    "Statistics",
    "Subscription",
    "SubscriptionRegistry",
    "Target",
    "Timer",
    "WriteFile",
    "collect_seldom",
    "compile_flow",
    "copy_root",
    "everything",
    "measured",
    "select_module",
]
