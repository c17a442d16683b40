"""Nodes: what a flow can do with a message, one module for each kind or family."""
