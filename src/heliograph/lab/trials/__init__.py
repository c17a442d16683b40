"""Trials: runs of scenarios on systems under test, repeated, interleaved, and searched for the highest rate."""

from typing import TYPE_CHECKING

from heliograph.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from heliograph.lab.trials.peak_search import Found, find_peak, unit_of
    from heliograph.lab.trials.trial import Experiment, Result, Steering, Trial
    from heliograph.lab.trials.trial_runner import Runner, interleaved

__getattr__ = lazy_names(
    __name__,
    {
        "peak_search": "Found find_peak unit_of",
        "trial": "Experiment Result Steering Trial",
        "trial_runner": "Runner interleaved",
    },
)

__all__ = ["Experiment", "Found", "Result", "Runner", "Steering", "Trial", "find_peak", "interleaved", "unit_of"]
