"""Escapes control characters in output to a terminal, because untrusted text must not control it.

`helio` prints topics, payloads, names and errors that any client can choose. On a terminal some characters move the
cursor, change the title or hide text. `guard` has them escaped in all that is printed from then on (`\\x1b` for ESC);
what is meant to steer it, as a colour is, goes through `steer`. Pipes and files get every byte as it is.
"""

import io
import re
import sys
from typing import Any, BinaryIO, TextIO, cast

# C0, DEL and C1 but for tabs and ends of lines, characters that turn the direction of what follows, and lone
# surrogates, which stand for bytes that are no text.
_STEERING = re.compile(r"[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]|\r(?!\n)")
_BROKEN_BYTE = 0xDC00


def visible(text: str) -> str:
    """The text with its control characters escaped, but for tabs and ends of lines."""
    return _STEERING.sub(_escaped, text)


def visible_bytes(data: bytes, encoding: str = "utf-8") -> bytes:
    """Like `visible`, for a text in bytes; bytes that are no text in this encoding are escaped, too."""
    return visible(data.decode(encoding, "surrogateescape")).encode(encoding, "surrogateescape")


def on_one_line(text: str) -> str:
    """The text with ends of lines escaped as well, for where each line says something of its own."""
    return visible(text).replace("\r", r"\r").replace("\n", r"\n")


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    if 0xDC80 <= code <= 0xDCFF:
        code -= _BROKEN_BYTE
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


class _Guarded(io.BufferedIOBase):
    """The bytes of a terminal, through which nothing passes that steers it."""

    def __init__(self, behind: BinaryIO, encoding: str) -> None:
        self.behind = behind
        self._encoding = encoding

    def write(self, data: Any) -> int:
        self.behind.write(visible_bytes(bytes(data), self._encoding))
        return len(data)

    def flush(self) -> None:
        self.behind.flush()

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return self.behind.fileno()


def guard() -> None:
    """Escape from now on what is printed on standard output and standard error, where they are terminals."""
    sys.stdout, sys.stderr = _guarded(sys.stdout), _guarded(sys.stderr)


def _guarded(stream: TextIO) -> TextIO:
    # A stream that is closed, or one that a test has put here, is none of ours.
    if type(stream) is not io.TextIOWrapper or stream.closed or not stream.isatty():
        return stream
    if isinstance(stream.buffer, _Guarded):
        return stream
    stream.flush()
    guarded = cast("BinaryIO", _Guarded(stream.buffer, stream.encoding))
    return io.TextIOWrapper(guarded, stream.encoding, stream.errors, line_buffering=True)


def steer(stream: TextIO, text: str) -> None:
    """Write something that is meant to steer the terminal; what others wrote in it has to be `visible` already."""
    buffer = getattr(stream, "buffer", None)
    if isinstance(buffer, _Guarded):
        stream.flush()
        buffer.behind.write(text.encode(stream.encoding or "utf-8", "surrogateescape"))
    else:
        stream.write(text)
    stream.flush()
