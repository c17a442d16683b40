"""Runs of transfers in what a client has received, as columns.

Whole messages in frames of one length and one form are rows of a matrix: the numbers and times in their payloads are
columns of it. A run ends where a length, a flag or the sending group changes, or a delivery number is left out. What
stands in the sections before the data may differ, if the data begin at the same place.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from heliograph.amqp import decode
from heliograph.lab.errors import ClientFailed
from heliograph.lab.load import payloads

_FEW = 64  # frames that are looked at where it is not likely that all that came are alike
_ROWS_FROM = 6  # frames; fewer are read faster one by one
_LONGEST_HEAD = 300  # of a frame: where the payload of a transfer has begun
_FIELDS = 14  # where the first field is, behind frame header, descriptor, size and count of a short list
_WIDTHS = {0x43: 0, 0x52: 1, 0x70: 4}
_DATA, _VALUE = 0x75, 0x77
_ASCENDING = np.arange(1 << 14, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Form:
    """The offsets of fields in a transfer frame, counted from its first byte."""

    stride: int  # length of the frame
    handle: int
    settled: bool
    more: bool
    id_at: int
    id_width: int
    tag_at: int
    tag_end: int
    message_at: int
    data_at: int  # the section with the payload
    payload_at: int
    head: bytes  # up to the delivery number
    middle: bytes  # between number and tag
    tail: bytes  # between tag and message
    opening: bytes  # of the section with the payload

    def fits(self, data: memoryview, at: int) -> bool:
        """Whether the frame at `at` is like this one."""
        middle_at = at + self.id_at + self.id_width
        return (
            data[at : at + self.id_at] == self.head
            and data[middle_at : at + self.tag_at] == self.middle
            and data[at + self.tag_end : at + self.message_at] == self.tail
            and data[at + self.data_at : at + self.payload_at] == self.opening
        )

    def number(self, data: memoryview, at: int) -> int:
        """The delivery number of the frame at `at`."""
        return int.from_bytes(data[at + self.id_at : at + self.id_at + self.id_width])


def form_of(data: memoryview, at: int, stop: int) -> Form:
    """The form of a transfer that begins a delivery."""
    frame = bytes(data[at : min(stop, at + _LONGEST_HEAD)])
    fields = decode(frame, 8)[0].value
    message_at = 8 + 5 + frame[12] if frame[11] == 0xC0 else 8 + 8 + int.from_bytes(frame[12:16])
    id_code = _FIELDS + 1 + _WIDTHS.get(frame[_FIELDS], 0)
    id_width = _WIDTHS.get(frame[id_code], -1)
    tag_at = id_code + 1 + id_width + 2
    if frame[11] != 0xC0 or id_width < 0 or frame[tag_at - 2] != 0xA0:
        raise ClientFailed(f"the broker sent a transfer of an unusual form: {frame[:32].hex()}")
    tag_end = tag_at + frame[tag_at - 1]
    data_at, payload_at = _payload_at(data, at + message_at, stop)
    return Form(
        stop - at,
        int(fields[0]),
        len(fields) > 4 and bool(fields[4]),
        len(fields) > 5 and bool(fields[5]),
        id_code + 1,
        id_width,
        tag_at,
        tag_end,
        message_at,
        data_at - at,
        payload_at - at,
        frame[: id_code + 1],
        frame[tag_at - 2 : tag_at],
        frame[tag_end:message_at],
        bytes(data[data_at:payload_at]),
    )


def _payload_at(data: memoryview, at: int, stop: int) -> tuple[int, int]:
    """The offsets of the section with the payload, and of the payload's bytes."""
    while at + 4 < stop and data[at] == 0 and data[at + 1] == 0x53:
        section, code = data[at + 2], data[at + 3]
        if section in (_DATA, _VALUE):
            if code in (0xA0, 0xB0):
                return at, at + (5 if code == 0xA0 else 8)
            break
        if code in (0xC0, 0xC1):
            at += 5 + data[at + 4]
        elif code in (0xD0, 0xD1):
            at += 8 + int.from_bytes(data[at + 4 : at + 8])
        elif code == 0x45:
            at += 4
        else:
            break
    # Not a payload of ours: its header will not have the magic number.
    return at, at


@lru_cache(maxsize=256)
def _columns(form: Form) -> tuple[np.dtype[np.void], tuple[str, ...]]:
    """The columns of frames with this form, and the names of those that must be equal throughout a run."""
    fields = payloads.rows_dtype(form.payload_at, form.stride).fields
    assert fields is not None
    columns: dict[str, tuple[np.dtype, int]] = {name: (part[0], part[1]) for name, part in fields.items()}
    columns["id"] = np.dtype(">u4" if form.id_width == 4 else "u1"), form.id_at
    spans = (
        (0, form.id_at),
        (form.id_at + form.id_width, form.tag_at),
        (form.tag_end, form.message_at),
        (form.data_at, form.payload_at + 4),  # magic and group included
    )
    same = []
    for start, end in spans:
        for place, width in _words(start, end):
            name = f"same{place}"
            columns[name] = np.dtype(f"<u{width}"), place
            same.append(name)
    kind = np.dtype(
        {
            "names": list(columns),
            "formats": [part[0] for part in columns.values()],
            "offsets": [part[1] for part in columns.values()],
            "itemsize": form.stride,
        }
    )
    return kind, tuple(same)


def _words(start: int, end: int) -> list[tuple[int, int]]:
    """Integer columns that cover these bytes, as offsets and widths; the last two may overlap."""
    size = end - start
    width = next((width for width in (8, 4, 2) if width <= size), 1)
    places = [*range(start, end - width + 1, width)]
    if places and places[-1] + width < end:
        places.append(end - width)
    return [(place, width) for place in places]


def run_of(data: memoryview, at: int, form: Form) -> NDArray[np.void] | None:
    """The complete messages from `at` on that have the form of the first and belong to this load; None if too few.

    May return only the beginning of a run: the next call finds the rest.
    """
    stride = form.stride
    count = (len(data) - at) // stride
    if count < _ROWS_FROM or form.more or not form.id_width or form.payload_at + payloads.HEADER_SIZE > stride:
        return None
    far = at + (count - 1) * stride
    if data[far : far + form.id_at] != form.head:
        near = at + stride * (_ROWS_FROM - 1)
        if data[near : near + form.id_at] != form.head:
            return None
        count = min(count, _FEW)
    kind, names = _columns(form)
    rows = np.frombuffer(data, kind, min(count, len(_ASCENDING)), at)
    numbers = rows["id"]
    same = numbers == _ASCENDING[: len(rows)] + int(numbers[0])
    for name in names:
        column = rows[name]
        same &= column == column[0]
    if not same.all():
        rows = rows[: int(np.argmin(same))]
    return rows if len(rows) >= _ROWS_FROM and rows["magic"][0] == payloads.MAGIC else None
