"""Raw data of runs: what was measured, as Parquet files that analysis can read without the lab."""
