"""Flows on Spark: a compiled flow in `mapInArrow`, and its outputs written exactly once.

    start_flow(spark, definition, source_options={"stream": "orders"}, routes=Routes(), checkpoint="/data/orders")
    flow_outputs(spark.read.format("heliograph").option("stream", "orders").load(), "flows/orders")
    print(compare("flows/orders-1", "flows/orders-2", spark.read...load()).text())

Names are found when somebody asks for them: Spark's workers import parts of this package, and need few of them.
"""

from typing import TYPE_CHECKING

from heliograph.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from heliograph.pipeline.flows.comparing import Comparison, compare, compare_outputs
    from heliograph.pipeline.flows.outputs import flow_outputs, state_folder
    from heliograph.pipeline.flows.routes import Route, Routes
    from heliograph.pipeline.flows.starting import start_flow

__getattr__ = lazy_names(
    __name__,
    {
        "comparing": "Comparison compare compare_outputs",
        "outputs": "flow_outputs state_folder",
        "routes": "Route Routes",
        "starting": "start_flow",
    },
)

__all__ = ["Comparison", "Route", "Routes", "compare", "compare_outputs", "flow_outputs", "start_flow", "state_folder"]
