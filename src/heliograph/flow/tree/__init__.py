"""The message tree: what a message looks like to a flow, whatever its format."""

from heliograph.flow.tree.assembly import Assembly
from heliograph.flow.tree.dump import dump
from heliograph.flow.tree.element import Element, Step, Value
from heliograph.flow.tree.part import Format, Part, Text

__all__ = ["Assembly", "Element", "Format", "Part", "Step", "Text", "Value", "dump"]
