"""`helio bench`: the same load on several brokers, and what it costs them.

`case_catalogue` has all cases; `bench_rounds` runs them on targets; `bench_report` compares results with the goals.
"""

from typing import TYPE_CHECKING

from heliograph.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from heliograph.lab.bench.amqp_engine import measure_engine
    from heliograph.lab.bench.bench_case import FULL, QUICK
    from heliograph.lab.bench.bench_rounds import choose_targets, missing_targets
    from heliograph.lab.bench.bench_run import list_choices, run_bench
    from heliograph.lab.bench.case_catalogue import choose_cases
    from heliograph.lab.bench.connections import most_connections, run_connections
    from heliograph.lab.bench.copying import measure_copying
    from heliograph.lab.bench.generator import measure_generator
    from heliograph.lab.bench.growth_chart import write_chart
    from heliograph.lab.bench.queue_restart import run_restart
    from heliograph.lab.bench.soak import SoakPlan, run_soak

__getattr__ = lazy_names(
    __name__,
    {
        "amqp_engine": "measure_engine",
        "bench_case": "FULL QUICK",
        "bench_rounds": "choose_targets missing_targets",
        "bench_run": "list_choices run_bench",
        "case_catalogue": "choose_cases",
        "connections": "most_connections run_connections",
        "copying": "measure_copying",
        "generator": "measure_generator",
        "growth_chart": "write_chart",
        "queue_restart": "run_restart",
        "soak": "SoakPlan run_soak",
    },
)

__all__ = [
    "FULL",
    "QUICK",
    "SoakPlan",
    "choose_cases",
    "choose_targets",
    "list_choices",
    "measure_copying",
    "measure_engine",
    "measure_generator",
    "missing_targets",
    "most_connections",
    "run_bench",
    "run_connections",
    "run_restart",
    "run_soak",
    "write_chart",
]
