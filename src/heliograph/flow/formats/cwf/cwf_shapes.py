"""Shapes: the physical representation of a field, as Python that converts its bytes to a value and back.

A shape has the format of the field for `struct` (`code`, such as `i` or `10s`), an expression that converts what
`struct` unpacks to a value (`load`), and lines that convert a value to what `struct` packs (`store`). For a string of
10 bytes padded with blanks these are `10s`, `v1.decode().rstrip(' ')`, and

    v1 = v1.encode().ljust(10, b' ')
    if len(v1) != 10: raise ValueError(f'{len(v1)} bytes')"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from math import isfinite
from typing import Any

from heliograph.flow.formats.charsets import Charset
from heliograph.flow.formats.cwf.host_numbers import (
    SignOrientation,
    Zones,
    from_scaled,
    point,
    read_bcd,
    read_hexfloat,
    read_packed,
    to_scaled,
    write_bcd,
    write_hexfloat,
    write_packed,
    write_zoned,
    zoned_reader,
)
from heliograph.flow.formats.model import Source, Type
from heliograph.flow.formats.model.field_values import CLASSES, CONVERSIONS, Calendar, Moment, shown

LARGEST_SINGLE = 3.4028234663852886e38
LONG = 64
"""Bytes from which on text is trimmed in larger steps."""
STRIPS = {"left": "rstrip", "right": "lstrip", "center": "strip"}
"""What takes off the padding, by justification."""
INTEGER_CODES = {1: "b", 2: "h", 4: "i", 8: "q"}


@dataclass(frozen=True)
class Shape:
    """Base of all shapes; used itself for plain bytes."""

    kind: Type
    size: int | None
    """Bytes; None if they differ from message to message."""

    code_order: str = ""
    """Byte order in the letters of `struct`; empty if it does not matter."""

    @property
    def code(self) -> str:
        """The format of the field for `struct`."""
        return f"{self.size}s"

    @property
    def unit(self) -> int:
        """The width of the NUL character that ends the field."""
        return 1

    @property
    def expected(self) -> str:
        """The description of a valid value in errors."""
        return f"{self.size} bytes" if self.size is not None else "bytes"

    def load(self, source: Source, raw: str) -> str:
        """Return the expression of the value, from the variable that `struct` unpacked."""
        return raw

    def store(self, source: Source, name: str) -> list[str]:
        """Return lines that convert the value in this variable (of `python_class`) to what `struct` packs."""
        if self.size is None:
            return []
        return [f"if len({name}) != {self.size}: raise ValueError(f'{{len({name})}} bytes')"]

    def trimmed(self, value: Any) -> Any:
        """Return a value as reading would give it: text without padding."""
        return value

    def trimming(self, name: str) -> str:
        """Return an expression that does the same for the value in this variable."""
        return name

    def conversion(self, default: Any) -> Any:
        """Return the function that converts any value to `python_class`."""
        return partial(_converted, CONVERSIONS[self.kind], default)

    @property
    def python_class(self) -> type:
        """The class of values that need no conversion; the writer tests for it before it calls the conversion."""
        return CLASSES[self.kind]


def _converted(convert: Any, default: Any, value: Any) -> Any:
    if value is None:
        if default is None:
            raise ValueError("nothing, and the model has no default")
        value = default
    return convert(value)


@dataclass(frozen=True)
class FilledShape(Shape):
    """Bytes padded to their length. A missing value is all padding, as for FILLER in COBOL."""

    fill: bytes = b"\0"

    def store(self, source: Source, name: str) -> list[str]:
        return [f"{name} = {name}.ljust({self.size}, {self.fill!r})", *super().store(source, name)]


@dataclass(frozen=True)
class TextShape(Shape):
    """Text, padded to its length if it has one."""

    charset: Charset | None = None
    justification: str = "left"
    pad: str = " "

    @property
    def unit(self) -> int:
        return self._charset.width or 1

    @property
    def expected(self) -> str:
        length = f" in {self.size} bytes" if self.size is not None else ""
        return f"text in {self._charset.name}{length}"

    @property
    def _charset(self) -> Charset:
        assert self.charset is not None
        return self.charset

    def load(self, source: Source, raw: str) -> str:
        text = self._decoding(source, raw)
        if self.size is None:
            return text
        if self.size > LONG and self.justification == "left":
            return f"{source.constant('trim_', partial(_trimmed, _blocks(self.size, self.pad)))}({text})"
        return f"{text}.{STRIPS[self.justification]}({self.pad!r})"

    def trimmed(self, value: Any) -> Any:
        if self.kind is not Type.STRING or self.size is None:
            return value
        return getattr(value, STRIPS[self.justification])(self.pad)

    def trimming(self, name: str) -> str:
        if self.kind is not Type.STRING or self.size is None:
            return name
        return f"{name}.{STRIPS[self.justification]}({self.pad!r})"

    def fitted(self, data: bytes) -> bytes:
        """Return encoded text, padded to the length if it has one."""
        if self.size is None:
            return data
        return _fitted(self.size, self._charset.encode(self.pad), self.justification, data)

    def _decoding(self, source: Source, raw: str) -> str:
        charset = self._charset
        if charset.name == "utf-8":
            return f"{raw}.decode()"
        if charset.name in ("iso8859-1", "ascii"):
            return f'{raw}.decode("{charset.name}")'
        if charset.to_latin:
            return f'{raw}.translate({source.constant("LATIN", charset.to_latin)}).decode("latin-1")'
        return f"{source.constant('decode_', charset.decode)}({raw})"

    def _encoding(self, source: Source, name: str) -> str:
        charset = self._charset
        if charset.name == "utf-8":
            return f"{name}.encode()"
        if charset.name in ("iso8859-1", "ascii"):
            return f'{name}.encode("{charset.name}")'
        if charset.from_latin:
            return f'{name}.encode("latin-1").translate({source.constant("FROM_LATIN", charset.from_latin)})'
        return f"{source.constant('encode_', charset.encode)}({name})"

    def store(self, source: Source, name: str) -> list[str]:
        encoded = self._encoding(source, name)
        if self.size is None:
            return [f"{name} = {encoded}"]
        pad = self._charset.encode(self.pad)
        if len(pad) == 1:
            fit = {"left": "ljust", "right": "rjust", "center": "center"}[self.justification]
            lines = [f"{name} = {encoded}.{fit}({self.size}, {pad!r})"]
        else:
            fitted = source.constant("fit_", partial(_fitted, self.size, pad, self.justification))
            lines = [f"{name} = {fitted}({encoded})"]
        return [*lines, f"if len({name}) != {self.size}: raise ValueError(f'{{len({name})}} bytes')"]


def _blocks(size: int, pad: str) -> tuple[str, ...]:
    """Return padding in sizes that halve (for `_trimmed`)."""
    count, blocks = 1 << size.bit_length() - 1, []
    while count >= LONG:
        blocks.append(pad * count)
        count //= 2
    return (*blocks, pad)


def _trimmed(blocks: tuple[str, ...], text: str) -> str:
    """Remove trailing padding in halving steps, because `rstrip` looks at each character by itself."""
    for block in blocks:
        text = text.removesuffix(block)
    return text.rstrip(blocks[-1])


def _fitted(size: int, pad: bytes, justification: str, data: bytes) -> bytes:
    missing = (size - len(data)) // len(pad)
    before = {"left": 0, "right": missing, "center": missing // 2}[justification]
    return pad * before + data + pad * (missing - before)


@dataclass(frozen=True)
class TextNumberShape(TextShape):
    """A number, a boolean or a date written as text; a pair of functions parses and formats it."""

    parse: Any = None
    format: Any = None
    words: str = ""

    @property
    def expected(self) -> str:
        return f"{self.words} in {super().expected}"

    def load(self, source: Source, raw: str) -> str:
        return f"{source.constant('parse_', self.parse)}({super().load(source, raw)})"

    def store(self, source: Source, name: str) -> list[str]:
        return [f"{name} = {source.constant('format_', self.format)}({name})", *super().store(source, name)]


def _scaled(source: Source, kind: Type, number: str, scale: int) -> str:
    """Return the expression of a number with an implied decimal point."""
    if kind is not Type.DECIMAL and not scale:
        return number
    value = f"{source.constant('from_scaled', from_scaled)}({number}, {source.constant('POINT', point(scale))})"
    return value if kind is Type.DECIMAL else f"int({value})"


@dataclass(frozen=True)
class IntegerShape(Shape):
    """A binary integer; a decimal has an implied decimal point."""

    signed: bool = True
    scale: int = 0

    @property
    def code(self) -> str:
        assert self.size is not None
        letter = INTEGER_CODES[self.size]
        return letter if self.signed else letter.upper()

    @property
    def _range(self) -> tuple[int, int]:
        assert self.size is not None
        bits = 8 * self.size
        return (-(1 << bits - 1), (1 << bits - 1) - 1) if self.signed else (0, (1 << bits) - 1)

    @property
    def expected(self) -> str:
        low, high = self._range
        scaled = f" with {self.scale} digits behind the point" if self.scale else ""
        return f"a binary number from {low} to {high}{scaled}"

    def load(self, source: Source, raw: str) -> str:
        if self.kind is Type.BOOLEAN:
            return f"{raw} != 0"
        return _scaled(source, self.kind, raw, self.scale)

    def store(self, source: Source, name: str) -> list[str]:
        low, high = self._range
        lines = []
        if self.kind is not Type.INTEGER or self.scale:
            lines.append(f"{name} = {source.constant('to_scaled', to_scaled)}({name}, {self.scale})")
        return [*lines, f"if not {low} <= {name} <= {high}: raise ValueError({name})"]


@dataclass(frozen=True)
class FloatShape(Shape):
    """A floating-point number."""

    hexadecimal: bool = False

    @property
    def code(self) -> str:
        if self.hexadecimal:
            return super().code
        return "f" if self.size == 4 else "d"

    @property
    def expected(self) -> str:
        return f"a floating-point number in {self.size} bytes"

    def load(self, source: Source, raw: str) -> str:
        if not self.hexadecimal:
            return raw
        reverse = "[::-1]" if self.code_order == "<" else ""
        return f"{source.constant('read_hexfloat', read_hexfloat)}({raw}{reverse})"

    def store(self, source: Source, name: str) -> list[str]:
        if self.hexadecimal:
            reverse = "[::-1]" if self.code_order == "<" else ""
            return [f"{name} = {source.constant('write_hexfloat', write_hexfloat)}({name}, {self.size}){reverse}"]
        if self.size == 4:
            check = source.constant("check_single", _check_single)
            return [f"if not -{LARGEST_SINGLE!r} <= {name} <= {LARGEST_SINGLE!r}: {check}({name})"]
        return []


def _check_single(value: float) -> None:
    if isfinite(value):
        raise ValueError(shown(value))


@dataclass(frozen=True)
class ConvertedShape(Shape):
    """A value that one function parses from the bytes of the field and another formats."""

    read: Any = None
    write: Any = None
    words: str = ""

    @property
    def expected(self) -> str:
        return self.words

    def load(self, source: Source, raw: str) -> str:
        reverse = "[::-1]" if self.code_order == "<" else ""
        return f"{source.constant('read_', self.read)}({raw}{reverse})"


@dataclass(frozen=True)
class DigitsShape(ConvertedShape):
    """Base of packed and zoned numbers: they are parsed and formatted as scaled integers."""

    scale: int = 0

    def load(self, source: Source, raw: str) -> str:
        return _scaled(source, self.kind, super().load(source, raw), self.scale)

    def store(self, source: Source, name: str) -> list[str]:
        reverse = "[::-1]" if self.code_order == "<" else ""
        write = source.constant("write_", self.write)
        if self.kind is Type.INTEGER and not self.scale:
            return [f"{name} = {write}({name}){reverse}"]
        to = source.constant("to_scaled", to_scaled)
        return [f"{name} = {write}({to}({name}, {self.scale})){reverse}"]


def packed_shape(kind: Type, size: int, order: str, scale: int, signed: bool, digits: int) -> DigitsShape:
    """A packed decimal number with a sign in its last half byte."""
    write = partial(write_packed, digits=digits, size=size, signed=signed)
    words = f"a packed number of {digits} digits, {'signed' if signed else 'not signed'}"
    return DigitsShape(kind, size, order, read_packed, write, words, scale)


def bcd_shape(kind: Type, size: int, order: str, scale: int, digits: int) -> DigitsShape:
    """A packed decimal number without a sign."""
    write = partial(write_bcd, digits=digits, size=size)
    return DigitsShape(kind, size, order, read_bcd, write, f"{digits} packed digits", scale)


def zoned_shape(kind: Type, size: int, scale: int, zones: Zones, sign: SignOrientation) -> DigitsShape:
    """A number of one digit in each character."""
    read = zoned_reader(zones, sign)
    write = partial(write_zoned, size=size, zones=zones, orientation=sign)
    place = "no sign" if sign is SignOrientation.NONE else f"sign {sign.value}"
    return DigitsShape(kind, size, "", read, write, f"a zoned number in {size} bytes, {place}", scale)


@dataclass(frozen=True)
class CalendarShape(ConvertedShape):
    """A date or time in packed digits, or as seconds or milliseconds since 1970."""

    def store(self, source: Source, name: str) -> list[str]:
        reverse = "[::-1]" if self.code_order == "<" else ""
        return [f"{name} = {source.constant('write_', self.write)}({name}){reverse}"]


def packed_calendar(kind: Type, size: int, order: str, pattern: Calendar, signed: bool) -> CalendarShape:
    """Return the shape of a date or time as packed digits."""

    def read(data: bytes) -> Moment:
        number = read_packed(data) if signed else read_bcd(data)
        return pattern.parse(str(number).zfill(pattern.width))

    def write(value: Moment) -> bytes:
        number = int(pattern.format(value))
        if signed:
            return write_packed(number, pattern.width, size, signed=True)
        return write_bcd(number, pattern.width, size)

    return CalendarShape(kind, size, order, read, write, f"a packed {kind.value} in {size} bytes")


EPOCH = datetime(1970, 1, 1)  # ESQL timestamps have no zone


def binary_calendar(kind: Type, size: int, order: str, milliseconds: bool) -> CalendarShape:
    """Return the shape of a date or time as a signed binary count since 1970."""
    unit = timedelta(milliseconds=1) if milliseconds else timedelta(seconds=1)

    def read(data: bytes) -> datetime:
        try:
            return EPOCH + int.from_bytes(data, "big", signed=True) * unit
        except OverflowError:
            raise ValueError(data.hex()) from None

    def write(value: datetime) -> bytes:
        try:
            return ((value - EPOCH) // unit).to_bytes(size, "big", signed=True)
        except OverflowError:
            raise ValueError(shown(value)) from None

    words = f"{'milliseconds' if milliseconds else 'seconds'} since 1970 in {size} bytes"
    return CalendarShape(kind, size, order, read, write, words)
