"""Pictures of flows: the graph, where its boxes and arrows go, and SVG, Mermaid and text made of it."""

from heliograph.flow.drawing.graph import graph_of
from heliograph.flow.drawing.rendering import draw_mermaid, draw_svg, draw_text

__all__ = [
    "draw_mermaid",
    "draw_svg",
    "draw_text",
    "graph_of",
]
