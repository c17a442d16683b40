"""Texts that differ in a number: what every message is called by its place, and so made for all of them at once."""

from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_GROUP, _DIGITS = 10_000, 4
_places = 10 ** np.arange(_DIGITS - 1, -1, -1)
_GROUPS = (np.arange(_GROUP)[:, None] // _places % 10 + ord("0")).astype(np.uint8).view(np.uint32)[:, 0]
"""The numbers from 0000 to 9999 as text, four bytes each: four digits for the price of one."""
_WIDTHS = 10 ** np.arange(1, 19)


def numbered(prefix: str, numbers: npt.NDArray[np.int64]) -> pa.StringArray:
    """A prefix with each of these numbers behind it; they are not negative, and go up."""
    head = np.frombuffer(prefix.encode(), np.uint8)
    if len(numbers) and len(str(numbers[0])) == (width := len(str(numbers[-1]))):  # nearly always
        size = len(head) + width
        offsets = np.arange(0, (len(numbers) + 1) * size, size, dtype=np.int32)
        return _array(offsets, _of_width(head, numbers, width))
    edges = [0, *np.searchsorted(numbers, _WIDTHS).tolist(), len(numbers)]
    offsets = np.zeros(len(numbers) + 1, np.int32)
    pieces = []
    for width, (lo, hi) in enumerate(pairwise(edges), 1):
        if lo < hi:
            pieces.append(_of_width(head, numbers[lo:hi], width))
            offsets[lo + 1 : hi + 1] = len(head) + width
    buffer = pieces[0] if len(pieces) == 1 else np.concatenate([piece.reshape(-1) for piece in pieces] or [head[:0]])
    np.cumsum(offsets, out=offsets)
    return _array(offsets, buffer)


def _array(offsets: npt.NDArray[np.int32], buffer: npt.NDArray[np.uint8]) -> pa.StringArray:
    return pa.Array.from_buffers(pa.string(), len(offsets) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(buffer)])


def _of_width(head: npt.NDArray[np.uint8], numbers: npt.NDArray[np.int64], width: int) -> npt.NDArray[np.uint8]:
    """Texts of one length, as rows of bytes."""
    groups = -(-width // _DIGITS)
    digits = np.empty((len(numbers), groups), np.uint32)
    for group in range(groups - 1, -1, -1):
        numbers, low = np.divmod(numbers, _GROUP)
        digits[:, group] = _GROUPS[low]
    texts = np.empty((len(digits), len(head) + width), np.uint8)
    texts[:, : len(head)] = head
    texts[:, len(head) :] = digits.view(np.uint8)[:, groups * _DIGITS - width :]
    return texts
