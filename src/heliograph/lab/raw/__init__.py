"""Raw data of runs: what was measured, as Parquet files that analysis can read without the lab."""

from typing import TYPE_CHECKING

from heliograph.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from heliograph.lab.raw.run_files import add_samples, read_table, runs
    from heliograph.lab.raw.run_tables import new_id

__getattr__ = lazy_names(
    __name__,
    {
        "run_files": "add_samples read_table runs",
        "run_tables": "new_id",
    },
)

__all__ = ["add_samples", "new_id", "read_table", "runs"]
