"""Reports of what the lab measured: one HTML page for people, and the same tables as CSV, Markdown and JSON.

`write_report` reads the runs and scores of a folder (`results`), chooses what is shown (`report_cases`), makes sections
from it (`parts`), and writes them (`page`, `exports`).
"""

from heliograph.lab.report.report_writing import FORMATS, write_report

__all__ = ["FORMATS", "write_report"]
