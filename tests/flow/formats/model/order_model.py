"""A model for tests, with two formats of one kind."""

from heliograph.flow.formats.model import Models

ORDER = """
formats:
  CWF1: {kind: CWF}
  CWF2: {kind: CWF, byteOrder: bigEndian}
types:
  Address:
    sequence:
      - {name: Street, type: string, physical: {length: 30}, CWF2: {length: 40}}
messages:
  Order:
    sequence:
      - {name: Number, type: integer, default: 7, CWF1: {length: 4}, CWF2: {length: 8}}
      - {name: Home, type: Address}
      - name: Item
        occurs: 0..20
        sequence:
          - {name: Price, type: decimal, values: [1.50, 2], nillable: true, physical: {length: 4}}
      - choice:
          - {name: A, type: string, physical: {length: 1}}
          - {name: B, type: binary, default: 00ff, physical: {length: 2}}
"""


def loaded(text: str) -> Models:
    return Models({"m.model.yaml": text})


SEVERAL = """
formats:
  C: {kind: CWF}
  X: {kind: XML}
messages:
  M:
    sequence:
      - {name: Open, type: boolean, physical: {representation: text, length: 1, textBooleanTrueRep: Y, maxLength: 9}}
"""
