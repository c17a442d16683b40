"""Pictures of flows: the graph, where its boxes and arrows go, and SVG, Mermaid and text made of it."""

from heliograph.flow.drawing.graph import graph_of
from heliograph.flow.drawing.svg_drawing import draw_svg
from heliograph.flow.drawing.text_drawing import draw_mermaid, draw_text

__all__ = [
    "draw_mermaid",
    "draw_svg",
    "draw_text",
    "graph_of",
]
