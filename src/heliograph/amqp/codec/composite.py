"""Declares composite types (AMQP part 1, section 1.4): a class with fields, each with its type on the wire.

`@composite` makes a dataclass of a class whose attributes are `part`s, and registers it under the number and the name
of its descriptor, where `resolve` finds it. On the wire it is a described list of its fields in order. Trailing fields
with their defaults are left out; a null in between stands for the default, too. For example, `Disposition(role=True,
first=5, settled=True, state=Accepted())` is

    00 53 15                   a described value; the descriptor, a ulong in one byte: 0x15
    c0 .. 05                   a short list: size, and 5 fields
    41  52 05  40  41          role true, first 5 (a small uint), last null, settled true
    00 53 24 45                state: described by 0x24 (accepted), an empty list; the default `batchable` is left out
"""

from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, ClassVar, NamedTuple, Self, TypeVar, dataclass_transform

from heliograph.amqp.codec.encoding import NULL, encode, encode_list
from heliograph.amqp.codec.values import Array, Composite, Described, Symbol, Timestamp, UByte, UInt, ULong, UShort
from heliograph.amqp.errors import InvalidField

_C = TypeVar("_C")
_REQUIRED = object()


class Kind(NamedTuple):
    """The type of one field: how it is encoded, and how a decoded value is checked and converted."""

    python: type | None  # the class of decoded values, if there is only one
    write: Callable[[Any], bytes]
    read: Callable[[Any], Any]


class _Wire(NamedTuple):
    name: str
    kind: Kind
    default: Any
    required: bool


_BY_DESCRIPTOR: dict[Any, type[Composite]] = {}


def part(kind: Kind, *, default: Any = MISSING, null: bool = False) -> Any:
    """Declare a field. Without a default it is mandatory, unless `null` says that it may be None."""
    if default is MISSING:
        return field(metadata={"kind": kind, "required": not null})
    return field(default=default, metadata={"kind": kind, "required": False})


@dataclass_transform(field_specifiers=(part,))
def composite(code: int, name: str) -> Callable[[type[_C]], type[_C]]:
    """Make a class of `part` fields a composite type with that descriptor (number and name)."""

    def declare(plain: type[_C]) -> type[_C]:
        made: Any = dataclass(slots=True)(plain)
        made.CODE = code
        made.WIRE = tuple(
            _Wire(f.name, f.metadata["kind"], None if f.default is MISSING else f.default, f.metadata["required"])
            for f in fields(made)
        )
        made.DESCRIPTION = b"\x00" + encode(ULong(code))
        _BY_DESCRIPTOR[code] = _BY_DESCRIPTOR[name] = made
        return made  # type: ignore[no-any-return]

    return declare


class Fields(Composite):
    """Base of the classes that are declared with `composite`."""

    __slots__ = ()
    CODE: ClassVar[int]
    DESCRIPTION: ClassVar[bytes]
    WIRE: ClassVar[tuple[_Wire, ...]]

    def encoded(self) -> bytes:
        parts = []
        length = 0
        for name, kind, default, required in self.WIRE:
            value = getattr(self, name)
            if value is None or (value == default and not required):
                parts.append(NULL)
            else:
                parts.append(kind.write(value))
                length = len(parts)
        return self.DESCRIPTION + encode_list(parts[:length])

    @classmethod
    def from_list(cls, values: list[Any]) -> Self:
        """Build an instance from decoded fields; those left out have their defaults."""
        wire = cls.WIRE
        if len(values) > len(wire):
            raise InvalidField(f"{cls.__name__} has at most {len(wire)} fields, not {len(values)}")
        taken = []
        for place, (name, kind, default, required) in enumerate(wire):
            value = values[place] if place < len(values) else None
            if value is not None:
                try:
                    value = kind.read(value)
                except InvalidField as error:
                    raise InvalidField(f"{cls.__name__}.{name}: {error}") from None
            elif required:
                raise InvalidField(f"{cls.__name__}.{name} must be given")
            else:
                value = default
            taken.append(value)
        return cls(*taken)


def resolve(value: Any) -> Any:
    """The composite type that a described list encodes; any other value is returned unchanged."""
    if type(value) is Described and type(value.value) is list:
        try:
            known = _BY_DESCRIPTOR.get(value.descriptor)
        except TypeError:
            return value
        if known is not None and issubclass(known, Fields):
            return known.from_list(value.value)
    return value


def _exactly(kind: type, name: str) -> Callable[[Any], Any]:
    base = kind.__mro__[1] if kind in {UByte, UShort, UInt, ULong, Timestamp} else kind

    def read(value: Any) -> Any:
        if type(value) is not kind:
            raise InvalidField(f"expected {name}, got {type(value).__name__}")
        return base(value)

    return read


def _number(kind: type, name: str) -> Kind:
    return Kind(kind, lambda value: encode(kind(value)), _exactly(kind, name))


def _one_of(names: type, wire: type) -> Kind:
    """An enumeration, as a number on the wire."""
    check = _exactly(wire, names.__name__)

    def read(value: Any) -> Any:
        try:
            return names(check(value))
        except ValueError:
            raise InvalidField(f"{int(value)} is no {names.__name__}") from None

    return Kind(wire, lambda value: encode(wire(value)), read)


def choice(names: type) -> Kind:
    """An enumeration on the wire as ubyte."""
    return _one_of(names, UByte)


def choice_of_uint(names: type) -> Kind:
    """An enumeration on the wire as uint."""
    return _one_of(names, UInt)


def _read_symbols(value: Any) -> tuple[str, ...]:
    if type(value) is Symbol:
        return (value,)
    if isinstance(value, Array) and (value.kind is Symbol or not value.items):
        return tuple(value.items)
    raise InvalidField(f"expected one or more symbols, got {type(value).__name__}")


def _write_symbols(value: Any) -> bytes:
    names = [Symbol(name) for name in value]
    if not names:
        return NULL
    return encode(names[0]) if len(names) == 1 else encode(Array(Symbol, names))


def _read_map(value: Any) -> Any:
    if type(value) is not dict:
        raise InvalidField(f"expected a map, got {type(value).__name__}")
    return value


def _write_fields(value: Any) -> bytes:
    return encode({Symbol(key) if type(key) is str else key: item for key, item in value.items()})


def composites(*known: type[Composite]) -> Kind:
    """One of these composite types."""
    names = " or ".join(one.__name__ for one in known)

    def read(value: Any) -> Any:
        found = resolve(value)
        if not isinstance(found, known):
            raise InvalidField(f"expected {names}, got {value!r:.60}")
        return found

    return Kind(None, encode, read)


BOOLEAN = Kind(bool, encode, _exactly(bool, "a boolean"))
UBYTE = _number(UByte, "ubyte")
USHORT = _number(UShort, "ushort")
UINT = _number(UInt, "uint")
ULONG = _number(ULong, "ulong")
TIMESTAMP = _number(Timestamp, "timestamp")
STRING = Kind(str, lambda value: encode(str(value)), _exactly(str, "a string"))
SYMBOL = Kind(Symbol, lambda value: encode(Symbol(value)), _exactly(Symbol, "a symbol"))
SYMBOLS = Kind(None, _write_symbols, _read_symbols)
BINARY = Kind(bytes, encode, _exactly(bytes, "binary"))
MAP = Kind(dict, encode, _read_map)
FIELDS = Kind(dict, _write_fields, _read_map)  # a map with symbols as keys; plain strings may be given for them
ANYTHING = Kind(None, encode, resolve)
