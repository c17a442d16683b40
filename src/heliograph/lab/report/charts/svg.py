"""Elements of SVG as text."""

from html import escape


def element(name: str, *inside: str, **attributes: object) -> str:
    """One element; an attribute's `_` is written `-`, and one at its end left out (`class_`)."""
    named = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_text(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{named}>{''.join(inside)}</{name}>" if inside else f"<{name}{named}/>"


def words(content: str, x: float, y: float, **attributes: object) -> str:
    """Text at a place."""
    return element("text", escape(content), x=x, y=y, **attributes)


def _text(value: object) -> str:
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)
