"""What others have published of systems that do the same job, to be printed beside what was measured here.

The tables are the CSV files beside this module; README.md says where they come from.
"""

from heliograph.lab.published.published_figures import PublishedFigure, every_figure, figures

__all__ = ["PublishedFigure", "every_figure", "figures"]
