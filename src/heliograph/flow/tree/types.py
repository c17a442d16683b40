"""The type word of an element: its top byte says what it is in any format, the rest belongs to the format."""

NAME = 0x01000000
"""A name without a value of its own: a folder."""
VALUE = 0x02000000
"""A value without a name."""
NAME_VALUE = 0x03000000
"""A name with a value."""

KIND_MASK = 0x03000000
