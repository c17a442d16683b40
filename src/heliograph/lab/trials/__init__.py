"""Trials: runs of scenarios on systems under test, repeated, interleaved, and searched for the highest rate.

An `Experiment` is what one command measures. A `TrialRunner` runs its trials; `find_peak` searches.
"""

from typing import TYPE_CHECKING

from heliograph.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from heliograph.lab.trials.peak_search import PeakFound, find_peak, unit_of
    from heliograph.lab.trials.trial import Experiment, RecordedControl, Trial, TrialResult
    from heliograph.lab.trials.trial_runner import TrialRunner, interleaved, reason_to_skip

__getattr__ = lazy_names(
    __name__,
    {
        "peak_search": "PeakFound find_peak unit_of",
        "trial": "Experiment RecordedControl Trial TrialResult",
        "trial_runner": "TrialRunner interleaved reason_to_skip",
    },
)

__all__ = [
    "Experiment",
    "PeakFound",
    "RecordedControl",
    "Trial",
    "TrialResult",
    "TrialRunner",
    "find_peak",
    "interleaved",
    "reason_to_skip",
    "unit_of",
]
