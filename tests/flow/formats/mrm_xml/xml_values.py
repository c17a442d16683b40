"""A message with values of all types as XML, and its trees."""

from typing import Any

from hypothesis import strategies as st

from flow.formats.modelled import Modelled

VALUES = Modelled("""
formats:
  X: {kind: XML}
messages:
  M:
    X: {xmlName: message}
    sequence:
      - {name: S, type: string, X: {xmlName: text}}
      - {name: I, type: integer, occurs: 0..1}
      - {name: N, type: decimal, occurs: 0..1}
      - {name: F, type: float, occurs: 0..1}
      - {name: B, type: boolean, occurs: 0..1}
      - {name: X, type: binary, occurs: 0..1, X: {binaryEncoding: base64}}
      - {name: D, type: date, occurs: 0..1}
      - {name: T, type: time, occurs: 0..1}
      - {name: W, type: dateTime, occurs: 0..1}
      - name: G
        occurs: 0..*
        sequence:
          - {name: A, type: string, occurs: 0..1, X: {rendering: attribute}}
          - {name: L, type: string, occurs: 0..*}
""")


TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Cn"]), max_size=8) | st.sampled_from(
    ["<&>\"'", " a ", "a\nb\tc", "\r", "]]>", ""]
)


OPTIONAL: dict[str, st.SearchStrategy[Any]] = {
    "I": st.integers(-(10**12), 10**12),
    "N": st.decimals(-1000, 1000, places=3),
    "F": st.floats(allow_nan=False),
    "B": st.booleans(),
    "X": st.binary(max_size=5),
    "D": st.dates(),
    "T": st.times(),
    "W": st.datetimes(),
}


@st.composite
def messages(draw: st.DrawFn) -> list[tuple[str, Any]]:
    tree: list[tuple[str, Any]] = [("S", draw(TEXTS))]
    tree += [(name, draw(values)) for name, values in OPTIONAL.items() if draw(st.booleans())]
    for _ in range(draw(st.integers(0, 2))):
        attribute = [("A", draw(TEXTS))] if draw(st.booleans()) else []
        tree.append(("G", [*attribute, *(("L", text) for text in draw(st.lists(TEXTS, max_size=2)))]))
    return tree


def has_empty_groups(values: list[tuple[str, Any]]) -> bool:
    """Whether there are groups with nothing in them, which look like fields without a value when made plain."""
    return any(value == [] for _, value in values)
