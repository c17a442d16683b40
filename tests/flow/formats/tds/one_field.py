"""A model of one field between two others."""

from flow.formats.modelled import Modelled


def one_field(field: str, form: str = 'separator: ";"') -> Modelled:
    """A field V between two others."""
    return Modelled(f"""
formats: {{T: {{kind: TDS, {form}}}}}
messages:
  M:
    sequence:
      - {{name: A, type: string}}
      - {{name: V, {field}}}
      - {{name: Z, type: string}}
""")
