"""Raw data of runs, as Parquet files that analysis can read without the lab: one folder for each run."""

from typing import TYPE_CHECKING

from heliograph.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from heliograph.lab.raw.run_files import add_samples, read_table, run_names
    from heliograph.lab.raw.run_tables import new_run_id

__getattr__ = lazy_names(
    __name__,
    {
        "run_files": "add_samples read_table run_names",
        "run_tables": "new_run_id",
    },
)

__all__ = ["add_samples", "new_run_id", "read_table", "run_names"]
