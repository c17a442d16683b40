"""PUBLISH packets of one group: each is a prefix, the 32 bytes of the header, and a tail.

When all packets have one length, a batch is a matrix: constant bytes are filled in once, variable fields are written as
columns, and the whole batch is sent with one system call. Otherwise packets are assembled one by one.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heliograph.lab.load import payloads
from heliograph.lab.load.mqtt.acknowledgements import Ids
from heliograph.lab.load.naming import expand, topics_of
from heliograph.lab.load.payloads import tails_of
from heliograph.lab.load.plan import Group
from heliograph.lab.load.schedule import Times
from heliograph.mqtt import Properties, encode_properties, encode_varint

Bytes = NDArray[np.uint8]

BATCH_BYTES = 192 * 1024  # of a batch: within a core's cache, and within what a socket takes
_ROWS_FROM = 6  # messages; fewer are made faster one by one
_pack = payloads.HEADER.pack
_ASCENDING = np.arange(BATCH_BYTES // payloads.HEADER_SIZE + 1, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class PacketForm:
    """The constant bytes of the packets of one stream with one payload."""

    prefix: bytes  # up to the header of the payload
    tail: bytes

    @property
    def stride(self) -> int:
        """Length of the packet."""
        return len(self.prefix) + payloads.HEADER_SIZE + len(self.tail)


@dataclass(frozen=True, slots=True)
class PacketForms:
    """The forms of a client's packets, in sending order."""

    parts: tuple[PacketForm, ...]
    alike: bool  # all have the length and the form of the group's other clients


class MqttTemplate:
    """Makes the packets of a group's clients in this process."""

    def __init__(self, group: Group, index: int, version: int, seed: int) -> None:
        self._group = group
        self._index = index
        self._version = version
        self._tails = tails_of(group.payload, seed)
        # Message j of a client looks like message j modulo `cycle`, but for numbers and times.
        self.cycle = math.lcm(group.topics, len(self._tails))
        first = self._parts(0)
        self._stride, self._at = first[0].stride, len(first[0].prefix)
        self.batch = max(1, BATCH_BYTES // max(image.stride for image in first))
        self._id_at = self._id_offset(first[0])
        self._prepared_for: PacketForms | None = None  # what the rows look like
        if self._alike(first):
            self._buffer: Bytes = np.zeros((self.batch, self._stride), np.uint8)
            self._view = memoryview(self._buffer.reshape(-1))  # type: ignore[arg-type]
            columns = self._buffer.reshape(-1).view(payloads.rows_dtype(self._at, self._stride))
            self._sender, self._sequence = columns["sender"], columns["sequence"]
            self._due, self._sent = columns["due"], columns["sent"]
            self._ids = self._buffer[:, self._id_at : self._id_at + 2]

    def forms(self, client: int) -> PacketForms:
        """The forms of this client's packets, in sending order."""
        parts = self._parts(client)
        return PacketForms(parts, self._alike(parts))

    def _alike(self, parts: tuple[PacketForm, ...]) -> bool:
        return all(one.stride == self._stride and len(one.prefix) == self._at for one in parts)

    def _parts(self, client: int) -> tuple[PacketForm, ...]:
        group = self._group
        topics = [topic.encode() for topic in topics_of(group, client)]
        return tuple(
            self._image(topics[turn % group.topics], self._tails[turn % len(self._tails)], client)
            for turn in range(self.cycle)
        )

    def _image(self, topic: bytes, tail: bytes, client: int) -> PacketForm:
        group = self._group
        head = len(topic).to_bytes(2) + topic + (b"\0\0" if group.qos else b"")
        if self._version == 5:
            head += encode_properties(self._properties(client))
        first = bytes((0x30 | group.qos << 1 | group.retain,))
        return PacketForm(first + encode_varint(len(head) + payloads.HEADER_SIZE + len(tail)) + head, tail)

    def _properties(self, client: int) -> Properties:
        made = Properties()
        if self._group.role == "request":
            made["response_topic"] = expand(self._group.reply, self._group, client)
        if self._group.properties:
            made["user_property"] = [(f"name-{n:02}", f"value-{n:02}") for n in range(self._group.properties)]
        return made

    @staticmethod
    def _id_offset(image: PacketForm) -> int:
        """Where the packet identifier stands, if there is one."""
        body = 2
        while image.prefix[body - 1] & 0x80:
            body += 1
        return body + 2 + int.from_bytes(image.prefix[body : body + 2])

    def make(
        self, images: PacketForms, client: int, count: int, due: Times, now: int, ids: Ids | None
    ) -> bytes | memoryview:
        """The packets of messages `count`, `count` + 1, ... of a client, as many as there are due times (<= `batch`).

        What is returned is valid until the next call.
        """
        if images.alike and len(due) >= _ROWS_FROM:
            return self._rows(images, client, count, due, now, ids)
        if len(due) == 1 and ids is None and self.cycle == 1:
            # What a device with a message now and then sends: no loop around one message.
            image = images.parts[0]
            return image.prefix + _pack(payloads.MAGIC, self._index, client, count, int(due[0]), now) + image.tail
        return self._one_by_one(images, client, count, due, now, ids)

    def _one_by_one(self, images: PacketForms, client: int, count: int, due: Times, now: int, ids: Ids | None) -> bytes:
        parts: list[bytes] = []
        topics = self._group.topics
        for place, due_ns in enumerate(due.tolist()):
            number = count + place
            image = images.parts[number % self.cycle]
            prefix = image.prefix
            if ids is not None:
                at = self._id_at if images.alike else self._id_offset(image)
                prefix = prefix[:at] + int(ids[place]).to_bytes(2) + prefix[at + 2 :]
            sender = client * topics + number % topics
            parts += prefix, _pack(payloads.MAGIC, self._index, sender, number // topics, due_ns, now), image.tail
        return b"".join(parts)

    def _rows(self, images: PacketForms, client: int, count: int, due: Times, now: int, ids: Ids | None) -> memoryview:
        size = len(due)
        topics = self._group.topics
        if self.cycle == 1:
            if self._prepared_for is not images:
                self._prepare(images.parts[0], client)
                self._prepared_for = images
            np.add(_ASCENDING[:size], count, out=self._sequence[:size])
        else:
            self._prepared_for = None
            patterns = np.stack([self._pattern(image) for image in images.parts])
            numbers = _ASCENDING[:size] + count
            self._buffer[:size] = patterns[numbers % self.cycle]
            self._sender[:size] = client * topics + numbers % topics
            self._sequence[:size] = numbers // topics
        self._due[:size] = due
        self._sent[:size] = now
        if ids is not None:
            self._ids[:size] = ids.astype(">u2").view(np.uint8).reshape(-1, 2)
        return self._view[: size * self._stride]

    def _pattern(self, image: PacketForm) -> Bytes:
        mark = payloads.HEADER.pack(payloads.MAGIC, self._index, 0, 0, 0, 0)
        return np.frombuffer(image.prefix + mark + image.tail, np.uint8)

    def _prepare(self, image: PacketForm, client: int) -> None:
        self._buffer[:] = self._pattern(image)
        self._sender[:] = client
