"""Measures any MQTT or AMQP broker over the wire, message flows, and pipelines.

Where to begin:

- `load` is the load generator: a `Plan` of client groups, run by `run_load`, with every message accounted for.
- `targets` are the systems under test; `probes` sample what they use.
- `scenarios` are the tests of published reports; `trials` run them on targets and write raw data (`raw`), from which
  `report` makes pages. That is `helio lab`.
- `bench`, `flows` and `spark` are benchmarks with goals of our own: `helio bench`.
"""

from typing import TYPE_CHECKING

from heliograph.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from heliograph.lab.errors import BrokerGone
    from heliograph.lab.machine import raise_file_limit
    from heliograph.lab.text_table import rounded

__getattr__ = lazy_names(
    __name__,
    {
        "errors": "BrokerGone",
        "machine": "raise_file_limit",
        "text_table": "rounded",
    },
)

__all__ = ["BrokerGone", "raise_file_limit", "rounded"]
