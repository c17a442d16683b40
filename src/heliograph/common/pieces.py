"""Bytes that arrive in pieces."""

from typing import Final

_MOST_PIECES: Final = 1024

Piece = bytes | memoryview
"""Bytes of a stream that come or leave: those of a large payload are not copied."""


class Pieces:
    """Collects bytes until the rest of them has arrived.

    Small pieces are joined from time to time, so that they do not cost much more than they carry.
    """

    __slots__ = ("_chunks", "_pieces", "size")

    def __init__(self) -> None:
        self.size = 0
        self._chunks: list[bytes] | None = None
        self._pieces: list[Piece] = []

    def add(self, piece: Piece) -> None:
        """Add a piece."""
        self.size += len(piece)
        self._pieces.append(piece)
        if len(self._pieces) >= _MOST_PIECES:
            self._chunks = self._chunks or []
            self._chunks.append(b"".join(self._pieces))
            self._pieces.clear()

    def join(self) -> bytes:
        """All pieces, joined."""
        return b"".join([*self._chunks, *self._pieces] if self._chunks else self._pieces)
