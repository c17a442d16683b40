"""Figures for people."""


def figure(value: float) -> str:
    """Three digits that matter, and none after the point for large numbers."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
