"""BIT values: strings of bits, with the operations that strings have."""

from typing import Self, overload


class Bits:
    """An immutable string of bits, made from its digits: `Bits("0101")`.

    Slicing, `+`, `in`, `find`, order and hash are those of the text of digits, so that functions on strings work on
    BIT values as they do on CHARACTER.
    """

    __slots__ = ("digits",)

    digits: str

    def __init__(self, digits: str = "") -> None:
        if digits.strip("01"):
            raise ValueError(f"bits are written with 0 and 1 only, not {digits!r}")
        object.__setattr__(self, "digits", digits)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The bits of these bytes, from the highest of the first byte on."""
        return cls("".join([f"{byte:08b}" for byte in data]))

    def to_bytes(self) -> bytes:
        """The bits as bytes. ValueError unless they fill whole bytes."""
        if len(self.digits) % 8:
            raise ValueError(f"{len(self.digits)} bits do not fill whole bytes")
        return int(self.digits or "0", 2).to_bytes(len(self.digits) // 8, "big")

    def find(self, part: "Bits", start: int = 0) -> int:
        """The place of the first `part` at or behind `start`, counted from 0; -1 if there is none."""
        return self.digits.find(part.digits, start)

    def replace(self, old: "Bits", new: "Bits") -> "Bits":
        """These bits with `new` in the place of each `old`."""
        return Bits(self.digits.replace(old.digits, new.digits))

    def startswith(self, part: "Bits") -> bool:
        """Whether these bits begin with others."""
        return self.digits.startswith(part.digits)

    def endswith(self, part: "Bits") -> bool:
        """Whether these bits end with others."""
        return self.digits.endswith(part.digits)

    def __len__(self) -> int:
        return len(self.digits)

    @overload
    def __getitem__(self, index: int) -> "Bits": ...
    @overload
    def __getitem__(self, index: slice) -> "Bits": ...
    def __getitem__(self, index: int | slice) -> "Bits":
        return Bits(self.digits[index])

    def __contains__(self, part: "Bits") -> bool:
        return part.digits in self.digits

    def __add__(self, other: "Bits") -> "Bits":
        return Bits(self.digits + other.digits)

    def __mul__(self, count: int) -> "Bits":
        return Bits(self.digits * count)

    def __eq__(self, other: object) -> bool:
        return type(other) is Bits and self.digits == other.digits

    def __lt__(self, other: "Bits") -> bool:
        return self.digits < other.digits

    def __le__(self, other: "Bits") -> bool:
        return self.digits <= other.digits

    def __gt__(self, other: "Bits") -> bool:
        return self.digits > other.digits

    def __ge__(self, other: "Bits") -> bool:
        return self.digits >= other.digits

    def __hash__(self) -> int:
        return hash((Bits, self.digits))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("bits do not change")

    def __reduce__(self) -> tuple[type["Bits"], tuple[str]]:
        return Bits, (self.digits,)

    def __repr__(self) -> str:
        return f"Bits({self.digits!r})"
