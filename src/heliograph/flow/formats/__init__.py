"""Formats: how the parts of a message are read from bytes and written as bytes, one module per domain."""

from heliograph.flow.formats.catalogue import Catalogue, Models
from heliograph.flow.formats.format_problem import FormatProblem

__all__ = ["Catalogue", "FormatProblem", "Models"]
