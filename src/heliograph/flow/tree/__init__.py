"""The message tree: what a message looks like to a flow, whatever its format.

A message is a root `Element` whose children are a `Part` each: properties, headers, body. A part is parsed only as far
as its elements are used. `building` is for formats, which put elements into parts. Begin with `element.py`, then
`part.py`.
"""

from heliograph.flow.tree.element import Element, Value
from heliograph.flow.tree.element_types import NAME_VALUE
from heliograph.flow.tree.index import Step
from heliograph.flow.tree.part import Format, Part, Text

__all__ = ["NAME_VALUE", "Element", "Format", "Part", "Step", "Text", "Value"]
