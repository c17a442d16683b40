"""The engine: a compiled flow, and what comes of a message that goes through it.

`compile_flow` makes a `CompiledFlow` of a definition. Its `process` takes envelopes and `Resources`, and gives an
`Outcome` for each: effects, and how its unit of work ends. This is what other rooms use of it; modules of flows import
from the modules themselves.
"""

from typing import TYPE_CHECKING

from heliograph.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from heliograph.flow.engine.aggregation_store import AggregationStore, SqliteAggregationStore
    from heliograph.flow.engine.compilation import Compilation
    from heliograph.flow.engine.compiled_flow import (
        CompiledFlow,
        Observer,
        Refusals,
        compile_flow,
        tune_garbage_collection,
    )
    from heliograph.flow.engine.database.databases import Databases, DataSources
    from heliograph.flow.engine.esql_programs import MODULE_KINDS, select_module, syntax_nodes
    from heliograph.flow.engine.exceptions import ExceptionRecord, FlowException
    from heliograph.flow.engine.input_node import Backout
    from heliograph.flow.engine.message import copy_root
    from heliograph.flow.engine.node import Timer
    from heliograph.flow.engine.node_statistics import Statistics, measured_target
    from heliograph.flow.engine.outcome import DeadLetter, Effect, Outcome, Publish, Put, Respond, Result, WriteFile
    from heliograph.flow.engine.run import Assembly, Resources, Run, Target
    from heliograph.flow.engine.subscriptions import Subscription, SubscriptionRegistry

__getattr__ = lazy_names(
    __name__,
    {
        "aggregation_store": "AggregationStore SqliteAggregationStore",
        "compilation": "Compilation",
        "compiled_flow": "CompiledFlow Observer Refusals tune_garbage_collection compile_flow",
        "database.databases": "Databases DataSources",
        "esql_programs": "MODULE_KINDS syntax_nodes select_module",
        "exceptions": "ExceptionRecord FlowException",
        "input_node": "Backout",
        "message": "copy_root",
        "node": "Timer",
        "node_statistics": "Statistics measured_target",
        "outcome": "DeadLetter Effect Outcome Publish Put Respond Result WriteFile",
        "run": "Assembly Resources Run Target",
        "subscriptions": "Subscription SubscriptionRegistry",
    },
)
