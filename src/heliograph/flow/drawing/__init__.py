"""Pictures of flows: the graph, where its boxes and arrows go, and SVG, Mermaid and text made of it."""

from heliograph.flow.drawing.graph import graph_of
from heliograph.flow.drawing.svg_drawing import svg
from heliograph.flow.drawing.text_drawing import mermaid, text

__all__ = [
    "graph_of",
    "mermaid",
    "svg",
    "text",
]
