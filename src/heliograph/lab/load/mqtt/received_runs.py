"""Runs of PUBLISH packets in what a client has received, as columns.

Packets of one length with one form are rows of a matrix. The numbers and times in their payloads are columns of it, and
so are packet identifiers. A run ends where a length, a flag or the sending group changes.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from heliograph.lab.load import payloads
from heliograph.mqtt import MalformedPacket, decode_varint

_FEW = 64  # packets that are looked at where it is not likely that all that came are alike
_ROWS_FROM = 4  # packets; fewer are read faster one by one


@dataclass(frozen=True, slots=True)
class Form:
    """The offsets of fields in a PUBLISH packet, counted from its first byte."""

    stride: int  # length of the packet
    topic_at: int
    id_at: int  # 0: QoS 0 has none
    properties_at: int  # 0: MQTT 3 has none
    payload_at: int


def form_of(data: memoryview, at: int, version: int) -> Form | None:
    """The form of the PUBLISH that starts at `at`; None if it is not whole."""
    length = decode_varint(data, at + 1, len(data), version)
    if length is None:
        return None
    size, body = length
    end = body + size
    if end > len(data):
        return None
    place = body + 2 + (data[body] << 8 | data[body + 1])
    id_at = properties_at = 0
    if data[at] & 0x06:
        id_at = place - at
        place += 2
    if version == 5:
        properties_at = place - at
        properties = decode_varint(data, place, end)
        if properties is None:
            raise MalformedPacket("the properties of a PUBLISH go on after its end")
        place = properties[1] + properties[0]
    if place > end:
        raise MalformedPacket("a PUBLISH ends before its payload begins")
    return Form(end - at, body + 2 - at, id_at, properties_at, place - at)


@lru_cache(maxsize=256)
def _dtype(form: Form) -> np.dtype[np.void]:
    """The columns of packets with this form: the payload's header, and fields that must be equal throughout a run."""
    fields = payloads.rows_dtype(form.payload_at, form.stride).fields
    assert fields is not None
    offsets = {name: (part[0], part[1]) for name, part in fields.items()}
    offsets["mark"] = np.dtype("<u4"), form.payload_at  # magic and group
    offsets["head"] = np.dtype("<u4"), 0
    offsets["topic_length"] = np.dtype("<u2"), form.topic_at - 2
    if form.id_at:
        offsets["id"] = np.dtype(">u2"), form.id_at
    if form.properties_at:
        # Up to here a difference would move the payload; what the properties say does not matter.
        wide = "<u2" if form.payload_at - form.properties_at > 128 else "u1"
        offsets["properties"] = np.dtype(wide), form.properties_at
    return np.dtype(
        {
            "names": list(offsets),
            "formats": [part[0] for part in offsets.values()],
            "offsets": [part[1] for part in offsets.values()],
            "itemsize": form.stride,
        }
    )


def run_of(data: memoryview, at: int, form: Form) -> NDArray[np.void] | None:
    """The packets from `at` on that have the form of the first and belong to this load; None if too few.

    May return only the beginning of a run: the next call finds the rest.
    """
    stride = form.stride
    count = (len(data) - at) // stride
    if count < _ROWS_FROM or form.payload_at + payloads.HEADER_SIZE > stride:
        return None
    head = data[at : at + 4]
    far = at + (count - 1) * stride
    if data[far : far + 4] != head:
        near = at + stride * (_ROWS_FROM - 1)
        if data[near : near + 4] != head:
            return None
        count = min(count, _FEW)
    rows = np.frombuffer(data, _dtype(form), count, at)
    same = rows["mark"] == rows["mark"][0]
    same &= rows["head"] == rows["head"][0]
    same &= rows["topic_length"] == rows["topic_length"][0]
    if form.properties_at:
        same &= rows["properties"] == rows["properties"][0]
    if not same.all():
        rows = rows[: int(np.argmin(same))]
    return rows if len(rows) >= _ROWS_FROM and rows["magic"][0] == payloads.MAGIC else None
