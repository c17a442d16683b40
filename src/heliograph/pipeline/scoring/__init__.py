"""From raw data of the lab's runs to tables of scores, and from those to an answer: is B really slower than A?

`score_runs` reads new runs in `DIR/runs` and adds to the tables in `DIR/scores`. Their columns are in
docs/reference/lab-analysis.md.
`compare` sets the runs of two experiments, targets or folders beside each other, with confidence intervals.
"""

from typing import TYPE_CHECKING

from heliograph.common.lazy_names import lazy_names
from heliograph.pipeline.scoring.comparing import Comparison, compare
from heliograph.pipeline.scoring.scoring import Scored, score_runs

if TYPE_CHECKING:
    from heliograph.pipeline.scoring.bench import SAMPLES, bench_scores

__getattr__ = lazy_names(
    __name__,
    {
        "bench": "SAMPLES bench_scores",
    },
)

__all__ = ["SAMPLES", "Comparison", "Scored", "bench_scores", "compare", "score_runs"]
