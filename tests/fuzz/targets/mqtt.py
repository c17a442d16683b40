"""MQTT: the codec alone, and whole conversations with a broker in memory."""

import random
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any

import hypothesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from broker.clients import DurableScene, Scene
from fuzz.target import Target, scratch
from heliograph.mqtt import ProtocolError, decode, encode, encode_varint, packet_bounds, packets
from mqtt.strategies import any_packet, connects

VERSIONS = (3, 4, 5)
_KEPT = {"session_expiry_interval": 1000}
_ANY_SIZE = 1 << 28


def drawn(strategy: st.SearchStrategy[Any], number: int) -> list[Any]:
    """The same examples of a strategy each time."""
    found: list[Any] = []

    @hypothesis.seed(0)
    @settings(
        max_examples=number,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def collect(one: Any) -> None:
        found.append(one)

    collect()
    return found


def _bounds(data: bytes, pos: int) -> tuple[int, int] | None:
    try:
        return packet_bounds(data, pos, _ANY_SIZE, 4)
    except ProtocolError:
        return None


def packets_in(data: bytes) -> list[bytes]:
    """Packets, one after the other; the last one may be a part of one, or nonsense."""
    found, pos = [], 0
    while pos < len(data):
        bounds = _bounds(data, pos)
        end = min(bounds[1], len(data)) if bounds else len(data)
        found.append(data[pos:end])
        pos = end
    return found


class _Packets(Target):
    """Inputs are a byte that says how to take them, and packets."""

    words = (
        *(b"a", b"a/b", b"+", b"#", b"a/+", b"$share/g/a", b"$SYS/#", b"$SharedSubscription/g/a", b"MQTT", b"MQIsdp"),
        *(b"\xed\xa0\x80", b"\xc0\x80", b"\0", b"\x7f", b"\xff\xff\xff\x7f", b"\x80\x80\x80\x01", b"/" * 200),
    )

    def split(self, data: bytes) -> list[bytes]:
        return packets_in(data[1:])

    def join(self, units: Sequence[bytes]) -> bytes:
        # How it is taken goes with what it is made of, so that any combination comes up.
        return bytes([sum(map(len, units)) * 7 & 0xFF]) + b"".join(units)

    def change_unit(self, unit: bytes, chance: random.Random) -> bytes:
        bounds = _bounds(unit, 0) if chance.random() < 0.9 else None
        if bounds is None:
            return super().change_unit(unit, chance)
        body = super().change_unit(unit[bounds[0] :], chance)
        first = unit[0] if chance.random() < 0.8 else chance.randrange(256)
        return bytes([first]) + encode_varint(len(body)) + body


class MqttCodec(_Packets):
    """Packets that can be decoded are the same after they were encoded and decoded again."""

    name = "mqtt_codec"
    allowed = (ProtocolError,)

    def seeds(self) -> list[bytes]:
        return [
            bytes([version]) + encode(packet, version)
            for version in VERSIONS
            for packet in drawn(any_packet(version), 60)
        ]

    def run(self, data: bytes) -> None:
        version = VERSIONS[data[0] % 3] if data else 5
        pos = 1
        while pos < len(data):
            bounds = packet_bounds(data, pos, 1 << 20, version)
            if bounds is None or bounds[1] > len(data):
                return
            packet = decode(data[pos], data[bounds[0] : bounds[1]], version)
            pos = bounds[1]
            again = encode(packet, version)
            start, end = packet_bounds(again, 0, _ANY_SIZE, version) or (0, 0)
            assert decode(again[0], again[start:end], version) == packet, f"not the same again: {packet}"


def _conversation(version: int, chance: random.Random) -> bytes:
    """What a client sends that uses much of the protocol."""
    properties: dict[str, Any] = _KEPT | {"receive_maximum": 3, "topic_alias_maximum": 5} if version == 5 else {}
    will = packets.Will("a/will", b"gone", chance.randrange(3), chance.random() < 0.5, {})
    topics, filters = ("a", "a/b", "a/b/c", "$SYS/x"), ("a", "a/#", "+/b", "#", "$share/g/a/#")
    aliased = {"topic_alias": 1} if version == 5 else {}
    said: list[Any] = [
        packets.Connect(
            "one", version, chance.random() < 0.5, 60, will=chance.choice((None, will)), properties=properties
        )
    ]
    for number in range(1, 12):
        topic = chance.choice(topics)
        options = {"no_local": True} if version == 5 and chance.random() < 0.2 else {}
        said += chance.choice(
            [
                [
                    packets.Subscribe(
                        number, tuple(packets.Subscription(one, number % 3, **options) for one in filters[:4]), {}
                    )
                ],
                [packets.Subscribe(number, (packets.Subscription(chance.choice(filters), chance.randrange(3)),), {})],
                [packets.Unsubscribe(number, (chance.choice(filters),), {})],
                [packets.Publish(topic, b"x" * number, 0, chance.random() < 0.3)] * chance.choice((1, 40)),
                [
                    packets.Publish(topic, b"x", 1, packet_id=one)
                    for one in range(number, number + chance.choice((1, 20)))
                ],
                [packets.Publish(topic, b"y", 2, packet_id=number), packets.PubRel(number)],
                [packets.Publish("a", b"z", 0, properties=aliased)]
                + [packets.Publish("" if aliased else "a", b"z", 0, properties=aliased)] * 3,
                [packets.PubAck(one) for one in range(1, number)],
                [packets.PubRec(number), packets.PubComp(number)],
                [packets.PingReq()],
                [packets.Publish("a/kept", b"", 1, True, packet_id=number)],
            ]
        )
    if chance.random() < 0.3:
        said.append(packets.Disconnect())
    return b"".join(encode(packet, version) for packet in said)


class Mqtt(_Packets):
    """A client that sends anything does no harm to another one, and what it leaves can be opened again."""

    name = "mqtt"

    def seeds(self) -> list[bytes]:
        chance = random.Random(0)
        made = [_conversation(chance.choice(VERSIONS), chance) for _ in range(60)]
        for version in VERSIONS:
            several = st.tuples(connects(version), st.lists(any_packet(version), max_size=8))
            made += [b"".join(encode(one, version) for one in (first, *more)) for first, more in drawn(several, 10)]
        return [bytes([at & 0xFF]) + data for at, data in enumerate(made)]

    def run(self, data: bytes) -> None:
        how = data[0] if data else 0
        if how & 3:
            self._play(Scene(), data[1:], how)
        else:
            with scratch() as folder, closing(DurableScene(folder)) as scene:
                self._play(scene, data[1:], how)
                scene.restart(crash=bool(how & 32))
                _serves(scene)

    def _play(self, scene: Scene, data: bytes, how: int) -> None:
        bystander = scene.client("the bystander of the fuzzer")
        bystander.subscribe("bystander/of/the/fuzzer")
        client = scene.stranger()
        step = (1 << 30, 1 << 30, 7, 100)[how >> 2 & 3]
        take(scene, client.connection.receive, lambda: client.ended, client.outlet, data, step)
        if how & 16:
            scene.pass_time(100)
        if not client.ended:
            client.lose()
        scene.pass_time(10_000)
        bystander.take()
        bystander.publish("bystander/of/the/fuzzer", b"still there")
        assert b"still there" in bystander.payloads(), "a bystander is not served any more"


def take(
    scene: Scene, receive: Callable[[bytes], None], ended: Callable[[], bool], outlet: Any, data: bytes, step: int
) -> None:
    """Give bytes to a connection in pieces, and do what the server does in between."""
    if len(data) // step > 2000:
        step = len(data) // 2000
    for at in range(0, len(data), step):
        if ended():
            return
        receive(data[at : at + step])
        scene.run_slices()
        scene.turn_ends()
        outlet.chunks = []
        if outlet in scene.broker.turn.dirty:
            scene.broker.turn.dirty.remove(outlet)


def _serves(scene: Scene) -> None:
    client = scene.client("the bystander of the fuzzer")
    client.subscribe("bystander/of/the/fuzzer")
    client.take()
    client.publish("bystander/of/the/fuzzer", b"again")
    assert b"again" in client.payloads(), "after a restart nobody is served"
