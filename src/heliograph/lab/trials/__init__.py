"""Trials: runs of scenarios on systems under test, repeated, interleaved, and searched for the highest rate."""

from typing import TYPE_CHECKING

from heliograph.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from heliograph.lab.trials.experiment import Experiment
    from heliograph.lab.trials.figures import figure
    from heliograph.lab.trials.peak import find_peak, unit_of
    from heliograph.lab.trials.running import Runner, interleaved
    from heliograph.lab.trials.search import Found
    from heliograph.lab.trials.steering import Steering
    from heliograph.lab.trials.trial import Result, Trial

__getattr__ = lazy_names(
    __name__,
    {
        "experiment": "Experiment",
        "figures": "figure",
        "peak": "find_peak unit_of",
        "running": "Runner interleaved",
        "search": "Found",
        "steering": "Steering",
        "trial": "Result Trial",
    },
)

__all__ = [
    "Experiment",
    "Found",
    "Result",
    "Runner",
    "Steering",
    "Trial",
    "figure",
    "find_peak",
    "interleaved",
    "unit_of",
]
