"""Probes: what the system under test, the generator and the machine use while a load runs, sampled every second.

`probe.watching` runs probes in a thread of its own. `BrokerMeter` reads the counters of a broker at one moment.
"""

from typing import TYPE_CHECKING

from heliograph.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from heliograph.lab.probes.power_log import power_samples, read_power_log

__getattr__ = lazy_names(
    __name__,
    {
        "power_log": "power_samples read_power_log",
    },
)

__all__ = ["power_samples", "read_power_log"]
