"""`helio bench`: the same load on several brokers, and what it costs them."""

from typing import TYPE_CHECKING

from heliograph.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from heliograph.lab.bench.amqp_engine import measure_engine
    from heliograph.lab.bench.bench_case import FULL, QUICK
    from heliograph.lab.bench.bench_rounds import choose_targets, missing
    from heliograph.lab.bench.bench_run import list_choices, run_bench
    from heliograph.lab.bench.case_catalogue import choose
    from heliograph.lab.bench.connections import most, run_connections
    from heliograph.lab.bench.copying import measure_copying
    from heliograph.lab.bench.generator import measure_generator
    from heliograph.lab.bench.growth_chart import write_chart
    from heliograph.lab.bench.queue_restart import run_restart
    from heliograph.lab.bench.soak import Plan

__getattr__ = lazy_names(
    __name__,
    {
        "amqp_engine": "measure_engine",
        "bench_case": "FULL QUICK",
        "bench_rounds": "choose_targets missing",
        "bench_run": "list_choices run_bench",
        "case_catalogue": "choose",
        "connections": "most run_connections",
        "copying": "measure_copying",
        "generator": "measure_generator",
        "growth_chart": "write_chart",
        "queue_restart": "run_restart",
        "soak": "Plan",
    },
)

__all__ = [
    "FULL",
    "QUICK",
    "Plan",
    "choose",
    "choose_targets",
    "list_choices",
    "measure_copying",
    "measure_engine",
    "measure_generator",
    "missing",
    "most",
    "run_bench",
    "run_connections",
    "run_restart",
    "write_chart",
]
