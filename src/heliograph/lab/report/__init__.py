"""Reports of what the lab measured: one page for people, and the same tables as CSV, Markdown and JSON."""

from heliograph.lab.report.report_writing import FORMATS, write_report

__all__ = ["FORMATS", "write_report"]
