"""Benchmarks of message flows: the tests of a published report on such systems, run on ours (`make bench-flows`).

Begin with `flow_bench`. Each case is measured in memory and end to end, and printed beside the published figure.
"""

from typing import TYPE_CHECKING

from heliograph.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from heliograph.lab.flows.flow_bench import compare_with_peer, list_cases, measure_flows
    from heliograph.lab.flows.node_red import PEER

__getattr__ = lazy_names(
    __name__,
    {
        "flow_bench": "compare_with_peer list_cases measure_flows",
        "node_red": "PEER",
    },
)

__all__ = ["PEER", "compare_with_peer", "list_cases", "measure_flows"]
