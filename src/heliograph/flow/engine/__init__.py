"""The engine: a compiled flow, and the outcome of a message that goes through it.

`compile_flow` makes a `CompiledFlow` of a checked definition. Its `process` takes envelopes and `Resources`, and gives
an `Outcome` for each: the effects, and how the unit of work of the message ends. Begin with `compiled_flow`, then read
`run`, `node` and `input_node`.

Theory of operation
-------------------

**Who owns what.** A compiled flow and its nodes have no state that changes: threads share them, and a flow is pickled
as its definition. What belongs to one message is in its `Run` (what came in, effects so far, log, environment). What
travels along a connection is an `Assembly` (message, local environment, exception list). What an instance of a flow
keeps between messages, such as databases and aggregations, is in `Resources`, which the host hands in.

**Compiling.** `Compilation` holds what nodes share while they are built: formats, compiled ESQL, labels. Each node is
built from its `NodeDefinition` by its `NodeKind`, then linked: a node gets, for each of its terminals, one callable
(`Target`) that stands for everything connected to it. Nothing is looked up by name while messages flow.

**A message's way.** `InputNode.take` makes the first assembly and calls the target of its `out` terminal. Every node
calls its own targets before it returns, so the way through a flow is a nest of calls, depth first: several connections
of one terminal are followed one after the other, and an exception travels back through the nodes that it came by.

**Trees.** Nobody changes a tree that came to him, because branches share it. A node that may change its input works on
a copy; `esql_programs` finds out which programs may, and `nodes.tree_ownership` where a copy can be left out because
nobody else has the tree. A message is parsed when somebody looks into it, and written when somebody wants its bytes.

**Effects.** A flow does no input and output but for databases and aggregations. Output nodes only add effects to the
run. The host carries them out when the message is through, in their order, and commits. So a message can be processed
again, and identifiers of messages that it makes come out the same (`Run.new_identifier`).

**Errors.** An exception in a node becomes an `ExceptionRecord`. It goes to the node's `failure` terminal if that is
connected, and otherwise back as a `FlowException` to the nearest node that catches: a TryCatch, the handler around a
PROPAGATE, or the input. What is left at the input ends in its outcome, by the table in `input_node`.
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
