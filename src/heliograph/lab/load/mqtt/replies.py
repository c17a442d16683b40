"""What a responder answers: the payload of the request, to where the requester wants it."""

from collections import deque

from heliograph.errors import Problem
from heliograph.lab.load.mqtt.received_runs import Form
from heliograph.lab.load.naming import expand
from heliograph.lab.load.plan import Group
from heliograph.mqtt import PacketType, Publish, decode, encode_varint


class Replies:
    """Makes answers; `waiting` are those that no window had room for yet, split where the packet identifier goes."""

    def __init__(self, group: Group, version: int) -> None:
        self._group = group
        self._version = version
        self._topics: dict[bytes | tuple[str, int], bytes] = {}  # by properties of the request, or by requester
        self.waiting: deque[tuple[bytes, bytes]] = deque()

    def make(self, request: memoryview, form: Form, asker: Group, sender: int) -> tuple[bytes, bytes]:
        """The answer to a request, in two parts: a packet identifier goes between them if QoS is not 0."""
        topic = self._topic(request, form, asker, sender)
        payload = request[form.payload_at :]
        rest = (b"\0" if self._version == 5 else b"") + payload
        size = 2 + len(topic) + (2 if self._group.qos else 0) + len(rest)
        first = bytes((PacketType.PUBLISH << 4 | self._group.qos << 1,))
        return first + encode_varint(size) + len(topic).to_bytes(2) + topic, rest

    def _topic(self, request: memoryview, form: Form, asker: Group, sender: int) -> bytes:
        if form.payload_at - form.properties_at > 1 and form.properties_at:
            key: bytes | tuple[str, int] = bytes(request[form.properties_at : form.payload_at])
        else:
            key = (asker.name, sender)
        topic = self._topics.get(key)
        if topic is None:
            topic = self._topics[key] = self._find(request, form, asker, sender)
        return topic

    def _find(self, request: memoryview, form: Form, asker: Group, sender: int) -> bytes:
        """The response topic of MQTT 5, or the one that the plan has for this requester."""
        if form.properties_at:
            body = bytes(request[form.topic_at - 2 :])
            packet = decode(request[0], body, self._version)
            if isinstance(packet, Publish) and "response_topic" in packet.properties:
                return packet.properties["response_topic"].encode()
        pattern = self._group.reply or asker.reply
        if not pattern:
            raise Problem(f"group {self._group.name!r} answers, but neither it nor {asker.name!r} says to which topic")
        return expand(pattern, asker, sender // asker.topics).encode()
