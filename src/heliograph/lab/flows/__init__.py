"""Message flows measured: the tests of a published report on such systems, run on ours (`make bench-flows`)."""

from typing import TYPE_CHECKING

from heliograph.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from heliograph.lab.flows.peers import PEER
    from heliograph.lab.flows.running import compare_with_peer, list_cases, measure_flows

__getattr__ = lazy_names(
    __name__,
    {
        "peers": "PEER",
        "running": "compare_with_peer list_cases measure_flows",
    },
)

__all__ = ["PEER", "compare_with_peer", "list_cases", "measure_flows"]
