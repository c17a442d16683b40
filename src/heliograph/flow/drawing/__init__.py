"""Pictures of flows: the graph, where its boxes and arrows go, and SVG, Mermaid and text made of it."""
