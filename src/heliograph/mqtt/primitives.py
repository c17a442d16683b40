"""The data types that packets are made of: integers, strings, binary data."""

from struct import Struct

from heliograph.mqtt.errors import MalformedPacket
from heliograph.mqtt.framing import decode_varint
from heliograph.mqtt.strings import STRING_MAX, decode_utf8

U16 = Struct(">H")
U32 = Struct(">I")


class Reader:
    """Reads one value after another from buf[pos:end]; a value that does not fit makes the packet malformed."""

    __slots__ = ("_buf", "_end", "pos")

    def __init__(self, buf: bytes, pos: int, end: int) -> None:
        self._buf = buf
        self._end = end
        self.pos = pos

    @property
    def left(self) -> int:
        """How many bytes are still to be read."""
        return self._end - self.pos

    def byte(self) -> int:
        return self._buf[self._advance(1)]

    def u16(self) -> int:
        start = self._advance(2)
        return self._buf[start] << 8 | self._buf[start + 1]

    def u32(self) -> int:
        start = self._advance(4)
        return int.from_bytes(self._buf[start : start + 4])

    def varint(self) -> int:
        found = decode_varint(self._buf, self.pos, self._end)
        if found is None:
            raise MalformedPacket(f"variable byte integer at byte {self.pos} goes on after the packet's end")
        value, self.pos = found
        return value

    def binary(self) -> bytes:
        """Bytes with a two-byte length before them."""
        buf, start, end = self._buf, self.pos + 2, self._end
        if start <= end:
            stop = start + (buf[start - 2] << 8 | buf[start - 1])
            if stop <= end:
                self.pos = stop
                return buf[start:stop]
        self._advance(self.u16())  # raises with what is missing
        raise AssertionError

    def string(self) -> str:
        return decode_utf8(self.binary())

    def pair(self) -> tuple[str, str]:
        return self.string(), self.string()

    def part(self, length: int) -> "Reader":
        """A reader of the next `length` bytes alone."""
        start = self._advance(length)
        return Reader(self._buf, start, start + length)

    def rest(self) -> bytes:
        """Everything up to the end."""
        start, self.pos = self.pos, self._end
        return self._buf[start : self._end]

    def finish(self) -> None:
        """Check that nothing is left over."""
        if self.pos != self._end:
            raise MalformedPacket(f"{self.left} bytes too many at the packet's end")

    def _advance(self, count: int) -> int:
        start = self.pos
        if count > self._end - start:
            raise MalformedPacket(f"{count} bytes expected at byte {start} of the packet, {self._end - start} left")
        self.pos = start + count
        return start


def pack_binary(data: bytes) -> bytes:
    """These bytes with a two-byte length before them."""
    if len(data) > STRING_MAX:
        raise ValueError(f"a string or binary field holds at most {STRING_MAX} bytes, not {len(data)}")
    return U16.pack(len(data)) + data


def pack_string(text: str) -> bytes:
    return pack_binary(text.encode())


def pack_pair(pair: tuple[str, str]) -> bytes:
    name, value = pair
    return pack_string(name) + pack_string(value)


def pack_byte(n: int) -> bytes:
    return n.to_bytes(1)
