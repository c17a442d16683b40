"""The message tree: what a message looks like to a flow, whatever its format."""

from heliograph.flow.tree.dump import dump
from heliograph.flow.tree.element import Element, Value
from heliograph.flow.tree.index import Step
from heliograph.flow.tree.part import Format, Part, Text

__all__ = ["Element", "Format", "Part", "Step", "Text", "Value", "dump"]
