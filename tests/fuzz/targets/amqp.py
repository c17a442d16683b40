"""AMQP: the codec and engine alone, and whole conversations with a broker in memory."""

import functools
import random
from collections.abc import Sequence
from contextlib import closing, suppress
from typing import Any

from amqp.pair import Side
from amqp.strategies import ALL_COMPOSITES, composites, values
from broker.amqp.amqp_clients import AmqpScene, text, within
from fuzz.target import Target, scratch
from fuzz.targets.mqtt import drawn, take
from heliograph import amqp
from heliograph.amqp import (
    Accepted,
    Closed,
    Coordinator,
    DecodeError,
    Modified,
    Options,
    ProtocolError,
    Rejected,
    Source,
)
from heliograph.amqp.codec.composite import resolve
from heliograph.amqp.codec.decoding import decode
from heliograph.amqp.codec.encoding import encode
from heliograph.amqp.codec.frames import AMQP_HEADER, amqp_frame
from heliograph.amqp.codec.values import Described, Symbol, UInt, ULong
from heliograph.amqp.messages.message import decode_message, encode_message, transaction_request
from heliograph.amqp.messages.message_peek import address_at, peek, peek_run, with_durable_and_priority, with_header
from heliograph.amqp.messages.section_reading import UNREADABLE, read_application_properties, read_message_annotations
from heliograph.broker.queues.message_view import MessageView

ODD: Sequence[Any] = (
    *(None, True, False, 0, -1, 2**63 - 1, -(2**63), UInt(2**32 - 1), UInt(0), ULong(2**64 - 1), ULong(0)),
    *(
        "",
        "q",
        "topic://a",
        "\0",
        "x" * 300,
        "$management",
        Symbol(""),
        Symbol("copy"),
        Symbol("never"),
        b"",
        b"\0" * 33,
    ),
    *(
        [],
        {},
        [None] * 40,
        {Symbol("a"): 1},
        Described(ULong(0x24), []),
        Described(ULong(0x34), [b"x"]),
        1.5,
        float("nan"),
    ),
)
"""Values that fields of performatives and messages are set to."""


def frames_in(data: bytes) -> list[bytes]:
    """Protocol headers and frames, one after the other; the last one may be a part of one, or nonsense."""
    found, at = [], 0
    while at < len(data):
        size = 8 if data.startswith(b"AMQP", at) else max(8, int.from_bytes(data[at : at + 4], "big"))
        found.append(data[at : at + size])
        at += size
    return found


def with_odd_field(body: bytes, chance: random.Random) -> bytes:
    """A frame's body, or a message, in which a field of one of its composites has another value."""
    sections, at = [], 0
    while at < len(body):
        try:
            value, at_next = decode(body, at)
        except DecodeError:
            break
        sections.append(value)
        at = at_next
    if not sections:
        return body
    which = chance.randrange(len(sections))
    try:
        return (
            b"".join(encode(_odd(value, chance) if index == which else value) for index, value in enumerate(sections))
            + body[at:]
        )
    except (ValueError, TypeError, OverflowError):  # what our encoder does not write
        return body


def _odd(value: Any, chance: random.Random) -> Any:
    if isinstance(value, Described) and chance.random() < 0.95:
        return Described(value.descriptor, _odd(value.value, chance))
    if isinstance(value, list) and value and chance.random() < 0.95:
        at = chance.randrange(len(value))
        return [*value[:at], _odd(value[at], chance), *value[at + 1 :]]
    if isinstance(value, dict) and value and chance.random() < 0.9:
        key = chance.choice(list(value))
        return {**value, key: _odd(value[key], chance)}
    return chance.choice(ODD)


class _Frames(Target):
    words = (
        *(b"\x00\x53\x10\xc0", b"\x00\x53\x14\xc0", b"\x00\x53\x24\x45", b"\x40", b"\x41", b"\x43", b"\x44", b"\x45"),
        *(b"\xa1\x01q", b"\xa3\x04copy", b"\xd0\x00\x00\x00\x04\x00\x00\x00\x00", b"\xc1\x01\x00", b"\xe0\x02\x01\x41"),
        *(b"\xf0\x00\x00\x00\x05\xff\xff\xff\xff\x40", b"\x80" + b"\xff" * 8, b"\x83\x80" + b"\0" * 7, b"AMQP\0\1\0\0"),
    )

    def split(self, data: bytes) -> list[bytes]:
        return frames_in(data[1:])

    def join(self, units: Sequence[bytes]) -> bytes:
        return bytes([sum(map(len, units)) * 7 & 0xFF]) + b"".join(units)

    def change_unit(self, unit: bytes, chance: random.Random) -> bytes:
        if unit.startswith(b"AMQP") or len(unit) < 9 or chance.random() < 0.1:
            return super().change_unit(unit, chance)
        body = unit[8:]
        body = with_odd_field(body, chance) if chance.random() < 0.6 else super().change_unit(body, chance)
        return (8 + len(body)).to_bytes(4, "big") + unit[4:8] + body


class AmqpCodec(_Frames):
    """Values, messages and frames: what can be decoded is the same after it was encoded and decoded again."""

    name = "amqp_codec"
    allowed = (DecodeError, ProtocolError)

    def seeds(self) -> list[bytes]:
        made = [bytes([0]) + encode(value) for value in drawn(values, 100)]
        for kind in ALL_COMPOSITES:
            made += [bytes([1]) + amqp_frame(0, one.encoded()) for one in drawn(composites(kind), 5)]
        messages = [text("a"), text("b", durable=True, priority=9, to="q", application_properties={"a": 1, "b": "x"})]
        made += [bytes([2]) + message for message in messages]
        made += [bytes([3]) + data[1:] for data in conversations()]
        return made

    def run(self, data: bytes) -> None:
        how, data = (data[0] & 3 if data else 0), data[1:]
        if how == 0:
            value, _ = decode(data)
            resolve(value)
            assert _same(decode(encode(value))[0], value), f"not the same again: {value!r}"
        elif how == 2:
            _look_at_message(data)
        else:
            side = Side(Options("server", mechanisms=("ANONYMOUS",) if how == 3 else ()), server=True)
            side.handle(side.connection.receive(data if how == 3 else AMQP_HEADER + data, 0.0))
            assert side.connection.gone == bool(side.of(Closed)), "a connection is gone without a word"


def _look_at_message(data: bytes) -> None:
    """All ways to look at a message fail as they say, if they do, and a view does not fail at all."""
    view = MessageView(data)
    _ = view.application, view.delivery_count, view.expiration, view.user
    for look in (read_application_properties, read_message_annotations):
        with suppress(*UNREADABLE):
            look(data)
    for look in (peek, address_at, transaction_request):
        with suppress(DecodeError, ProtocolError):
            look(data)
    message = decode_message(data)
    assert _same(decode_message(encode_message(message)), message), f"not the same again: {message}"
    list(peek_run([data, data]))
    with_header(data, delivery_count=2, ttl=7)
    with_durable_and_priority(data, True, 9)


def _same(one: Any, other: Any) -> bool:
    return one == other or repr(one) == repr(other)  # NaN is not equal to itself


class _Recorder:
    """Stands in for a connection, and keeps what it is sent."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self.pieces: list[bytes] = []

    def receive(self, data: bytes) -> None:
        self.pieces.append(data)
        self._connection.receive(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


def conversations() -> list[bytes]:
    """What clients send that use much of the protocol."""
    return [bytes([number]) + _recorded(number) for number in range(2 * len(_USES))]


@functools.cache
def _recorded(number: int) -> bytes:
    with scratch() as folder, closing(AmqpScene(folder)) as scene:
        scene.queue("q")
        client = scene.amqp_stranger()
        recorder = client.connection = _Recorder(client.connection)
        client.engine.open()
        client.session = client.engine.begin()
        scene.run()
        _USES[number % len(_USES)](client)
        scene.run()
        if number % 2:
            client.engine.close()
            scene.run()
        return b"".join(recorder.pieces)


def _transactions(client: Any) -> None:
    control = client.sender(Coordinator())
    for fail in (False, True):
        txn = client.declare(control)
        sender = client.sender("q")
        client.send(sender, text("a"), text("b", durable=True), state=within(txn))
        link = client.receiver("q", credit=1)
        for delivery in client.messages(link):
            link.settle(delivery.number, delivery.number, within(txn, Accepted()))
        client.discharge(control, txn, fail=fail)


def _relaying(client: Any) -> None:
    relay = client.sender(amqp.Target())
    client.send(
        relay,
        text("c", to="topic://news", reply_to="q", absolute_expiry_time=2_000_000_000_000, ttl=5),
        text("x" * 20_000, to="q", priority=7, durable=True),
        text("d", to="q", message_annotations={Symbol("x-opt-delivery-delay"): 5000}),
    )


def _selecting(client: Any) -> None:
    sender = client.sender("q")
    client.send(sender, *[text(number, priority=number, application_properties={"n": number}) for number in range(10)])
    selector = {Symbol("jms-selector"): Described(ULong(0x0000468C00000004), "n < 9 AND JMSPriority > 2")}
    link = client.receiver(Source("q", filter=selector, default_outcome=Modified(delivery_failed=True)))
    outcomes = [Accepted(), Rejected(), Modified(delivery_failed=True, undeliverable_here=True)]
    for delivery, outcome in zip(client.messages(link), outcomes, strict=False):
        link.settle(delivery.number, delivery.number, outcome)
    link.flow(5, drain=True)
    link.detach()


def _subscribing(client: Any) -> None:
    link = client.receiver(Source("news", durable=2, expiry_policy="never", capabilities=("topic",)), "sub")
    client.send(client.sender("topic://news"), *[text(number) for number in range(40)])
    client.messages(link)
    link.detach(closed=False)
    client.receiver(Source("q", distribution_mode="copy"))
    client.sender(amqp.Target(dynamic=True)).detach()
    client.receiver(Source(dynamic=True, capabilities=("temporary-topic",)))


def _managing(client: Any) -> None:
    answers = client.receiver(Source(dynamic=True))
    sender = client.sender("$management")
    for operation, name in (("READ", "q"), ("QUERY", ""), ("CREATE", "new"), ("DELETE", "new"), ("UPDATE", "q")):
        properties = {"operation": operation, "type": "queue", "name": name}
        client.send(
            sender,
            text({"max_messages": 5}, reply_to=answers.source.address or "q", application_properties=properties),
        )


_USES = (_transactions, _relaying, _selecting, _subscribing, _managing)


class Amqp(_Frames):
    """A client that sends anything does no harm to another one, gives back what it had, and leaves a log that opens."""

    name = "amqp"

    def seeds(self) -> list[bytes]:
        return conversations()

    def run(self, data: bytes) -> None:
        with scratch() as folder, closing(AmqpScene(folder)) as scene:
            self._play(scene, data[1:], data[0] if data else 0)

    def _play(self, scene: AmqpScene, data: bytes, how: int) -> None:
        queue = scene.queue("q")
        scene.queue("bystander")
        bystander = scene.amqp("bystander")
        sender, receiver = bystander.sender("bystander"), bystander.receiver("bystander")
        client = scene.amqp_stranger()
        step = (1 << 30, 1 << 30, 100, 7)[how & 3]
        take(scene, client.connection.receive, lambda: client.outlet.finished, client.outlet, data, step)
        if how & 16:
            scene.pass_time(20)  # not so long that the bystander is taken for dead
        client.connection.lost()
        scene.clients.remove(client)
        scene.turn_ends()
        assert (queue.in_flight, len(queue.consumers)) == (0, 0), "messages or consumers of a client that is gone"
        assert "client" not in scene.host.containers
        bystander.send(sender, text("still there"))
        assert "still there" in bystander.bodies(receiver), "a bystander is not served any more"
        scene.restart(crash=bool(how & 32))
