"""Raw data of runs: what was measured, as Parquet files that analysis can read without the lab."""

from typing import TYPE_CHECKING

from heliograph.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from heliograph.lab.raw.manifest import new_id
    from heliograph.lab.raw.reader import add_samples, read_table, runs

__getattr__ = lazy_names(
    __name__,
    {
        "manifest": "new_id",
        "reader": "add_samples read_table runs",
    },
)

__all__ = ["add_samples", "new_id", "read_table", "runs"]
