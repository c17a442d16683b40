"""Values of AMQP types for which Python has no type.

None, bool, bytes, str, float (a double), int (a long), uuid.UUID, list and dict stand for themselves. The classes here
are subclasses of the nearest Python type, so `UInt(5) == 5` and `Symbol("queue") == "queue"`; the class only selects
the encoding.
"""

from dataclasses import dataclass
from typing import Any


class Symbol(str):
    """A name in ASCII from a small set, such as a capability."""

    __slots__ = ()


class Char(str):
    """One Unicode character."""

    __slots__ = ()


class UByte(int):
    """0 to 255."""

    __slots__ = ()


class UShort(int):
    """0 to 2**16 - 1."""

    __slots__ = ()


class UInt(int):
    """0 to 2**32 - 1."""

    __slots__ = ()


class ULong(int):
    """0 to 2**64 - 1."""

    __slots__ = ()


class Byte(int):
    """-128 to 127."""

    __slots__ = ()


class Short(int):
    """-2**15 to 2**15 - 1."""

    __slots__ = ()


class Int(int):
    """-2**31 to 2**31 - 1."""

    __slots__ = ()


class Long(int):
    """-2**63 to 2**63 - 1; a plain int is written in the same way."""

    __slots__ = ()


class Timestamp(int):
    """Milliseconds since the beginning of 1970, UTC."""

    __slots__ = ()


class Float(float):
    """A floating point number of 32 bits."""

    __slots__ = ()


class Decimal32(bytes):
    """The four bytes of an IEEE 754 decimal32, not interpreted."""

    __slots__ = ()


class Decimal64(bytes):
    """The eight bytes of an IEEE 754 decimal64, not interpreted."""

    __slots__ = ()


class Decimal128(bytes):
    """The sixteen bytes of an IEEE 754 decimal128, not interpreted."""

    __slots__ = ()


@dataclass(slots=True)
class Array:
    """Many values of one type: `kind` is the class of the items (`Symbol`, `UInt`, `str`, ...; `type(None)` for nulls).

    With a `descriptor`, each item is a value with that description.
    """

    kind: type
    items: list[Any]
    descriptor: Any = None


@dataclass(slots=True)
class Described:
    """A value with a description (`ULong` or `Symbol`) that says what it is meant to be."""

    descriptor: Any
    value: Any


class Composite:
    """Base of the types that the standard describes as lists of fields (see `composite`)."""

    __slots__ = ()

    def encoded(self) -> bytes:
        """The bytes of this value, its descriptor included."""
        raise TypeError(f"{type(self).__name__} is not declared with @composite")
