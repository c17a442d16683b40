"""Whatever comes, nothing is raised, nothing hangs, and who is wrong is closed."""

import random

from hypothesis import given
from hypothesis import strategies as st

from amqp.pair import Linked
from amqp.raw import begun
from amqp.strategies import ALL_COMPOSITES, composites, often, values
from heliograph.amqp import Accepted, Closed, Connection, Options
from heliograph.amqp.codec.encoding import encode
from heliograph.amqp.codec.frames import AMQP_HEADER, SASL_HEADER, amqp_frame
from heliograph.amqp.codec.performatives import Attach, Begin, Close, Detach, Disposition, End, Flow, Open, Transfer

PERFORMATIVES = [Open, Begin, Attach, Flow, Transfer, Disposition, Detach, End, Close]


def _check(connection: Connection) -> None:
    """What was sent is whole frames, and there is an end to it."""
    connection.flush()
    data = b"".join(connection.output)
    at = 0
    while at < len(data):
        at += 8 if data.startswith(b"AMQP", at) else int.from_bytes(data[at : at + 4], "big")
    assert at == len(data)


@often
@given(st.binary(max_size=200), st.sampled_from([b"", AMQP_HEADER, SASL_HEADER]), st.booleans())
def test_random_bytes(data, start, server):
    connection = Connection(Options("x", mechanisms=("PLAIN",) if start == SASL_HEADER else ()), server=server)
    if not server:
        connection.open()
    events = connection.receive(start + data, 0.0)
    assert connection.gone == any(isinstance(event, Closed) for event in events)
    _check(connection)


@often
@given(
    st.lists(st.tuples(st.sampled_from(PERFORMATIVES).flatmap(composites), st.integers(0, 2), st.binary(max_size=5)))
)
def test_legal_frames_in_any_order(frames):
    raw = begun()
    for frame, channel, payload in frames:
        raw.send(frame, channel=channel, payload=payload)
    assert raw.side.connection.gone == bool(raw.side.of(Closed))


@often
@given(st.lists(st.one_of(values, st.sampled_from(ALL_COMPOSITES).flatmap(composites)), max_size=4))
def test_frames_with_any_value_in_them(bodies):
    raw = begun()
    raw.feed(b"".join(amqp_frame(0, encode(body)) for body in bodies))
    assert raw.side.connection.gone == bool(raw.side.of(Closed))


@often
@given(st.randoms(use_true_random=False))
def test_a_conversation_with_damaged_bytes(chance: random.Random):
    pair = Linked()
    pair.give_credit(50)

    def damage(data: bytes) -> list[bytes]:
        damaged = bytearray(data)
        for _ in range(chance.randint(0, 3)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        cut = chance.randrange(len(damaged) + 1)
        return [bytes(damaged[:cut]), bytes(damaged[cut:])]

    pair.cut = damage
    for _ in range(5):
        if pair.sender.credit > 3:
            pair.sender.send([b"x" * chance.randrange(100) for _ in range(3)], settled=chance.random() < 0.5)
        if pair.producer.credit > 3:
            pair.producer.send([b"y"] * 3)
        pair.consumer.settle(0, 3, Accepted())
        pair.receiver.settle(0, 3, Accepted())
        for _ in range(10):
            if not pair._carry(pair.client, pair.server) | pair._carry(pair.server, pair.client):
                break
    for side in (pair.client, pair.server):
        assert side.connection.gone or not side.of(Closed)
        _check(side.connection)
