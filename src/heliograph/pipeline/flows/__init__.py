"""Flows on Spark: a compiled flow in `mapInArrow`, and its outputs written exactly once.

    start_flow(spark, definition, source_options={"stream": "orders"}, routes=Routes(), checkpoint="/data/orders")
    flow_outputs(spark.read.format("heliograph").option("stream", "orders").load(), "flows/orders")
    print(compare("flows/orders-1", "flows/orders-2", spark.read...load()).text())

Names are found when somebody asks for them: Spark's workers import parts of this package, and need few of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heliograph.pipeline.flows.comparing import Comparison, compare, compare_outputs
    from heliograph.pipeline.flows.outputs import flow_outputs
    from heliograph.pipeline.flows.routes import Route, Routes
    from heliograph.pipeline.flows.starting import start_flow

_PLACES = {
    "Comparison": "comparing",
    "Route": "routes",
    "Routes": "routes",
    "compare": "comparing",
    "compare_outputs": "comparing",
    "flow_outputs": "outputs",
    "start_flow": "starting",
}

__all__ = ["Comparison", "Route", "Routes", "compare", "compare_outputs", "flow_outputs", "start_flow"]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
