"""Runs of transfers and dispositions that are taken by their shape are what the decoder would see."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp.raw import Raw, attach_receiver, attach_sender
from amqp.strategies import outcomes, quick
from heliograph.amqp import Attached, Link, Options, Receiver, Session, TransactionalState
from heliograph.amqp.codec.composite import Fields
from heliograph.amqp.codec.frames import amqp_frame
from heliograph.amqp.codec.performatives import Begin, Disposition, Flow, Open, Transfer
from heliograph.amqp.engine.incoming_runs import Shapes, TransferShape


class Blind(Shapes):
    """Has never seen anything before."""

    def remember(self, frame, shape):
        pass


def prepared(*, blind: bool) -> Raw:
    """With two links on which the peer sends and one on which it has received 20 messages."""
    raw = Raw(Options("server", mechanisms=(), max_frame_size=2000))
    if blind:
        raw.side.connection._shapes = Blind()
    raw.side.answers[Attached] = lambda event: event.link.accept(max_message_size=500)
    raw.send(Open("raw"), Begin(None, 0, 1000, 1000))
    raw.send(attach_sender("a", 0), attach_sender("b", 1), attach_receiver("c", 300))
    raw.send(Flow(0, 1000, 0, 1000, handle=300, delivery_count=0, link_credit=100))
    a, b, c = (event.link for event in raw.side.of(Attached))
    assert isinstance(a, Receiver)
    assert isinstance(b, Receiver)
    a.flow(150)
    b.flow(10)
    for _ in range(20):
        c.send([b"x"])
    raw.look()
    raw.got.clear()
    raw.side.events.clear()
    return raw


def plain(value):
    """Events without the objects of their engine."""
    if isinstance(value, Link):
        return value.name
    if isinstance(value, Session):
        return value.channel
    if isinstance(value, tuple):
        return (type(value).__name__, *map(plain, value))
    return list(map(plain, value)) if isinstance(value, list) else value


def assert_alike(data: bytes, cuts: list[int]) -> None:
    seen = []
    for blind in (True, False):
        raw = prepared(blind=blind)
        at = 0
        for cut in [*cuts, len(data)]:
            raw.feed(data[at : at + cut])
            at += cut
        links = [
            (link.name, link.credit, link.delivery_count, link.gone)
            for session in raw.side.connection.sessions
            for link in session.links
        ]
        seen.append((_joined(raw.side.events), raw.got, links))
    assert seen[0] == seen[1]


def _joined(events):
    """Neighbouring runs of one link as one, since how they are cut is not part of their meaning."""
    joined = []
    for name, *rest in map(plain, events):
        if joined and name == "Transfers" and joined[-1][0] == "Transfers" and joined[-1][1] == rest[0]:
            joined[-1][2].extend(rest[1])
        else:
            joined.append([name, *rest])
    return joined


transfers = st.builds(
    Transfer,
    handle=st.sampled_from([0, 0, 0, 1]),
    delivery_id=st.just(0),
    delivery_tag=st.sampled_from([b"t", b"tag", bytes(32), bytes(33)]),
    message_format=st.sampled_from([None, 0, 5]),
    settled=st.sampled_from([None, True, False]),
    more=st.sampled_from([False] * 9 + [True]),
    state=st.none() | st.builds(TransactionalState, st.sampled_from([b"1", b"2"])),
    resume=st.sampled_from([False] * 19 + [True]),
    aborted=st.sampled_from([False] * 19 + [True]),
)


dispositions = st.builds(
    Disposition,
    role=st.sampled_from([True, True, False]),
    first=st.integers(0, 25),
    last=st.none() | st.integers(0, 25) | st.just(300),
    settled=st.booleans(),
    state=st.none() | outcomes,
)


scripts = st.lists(
    st.one_of(
        st.tuples(transfers, st.integers(1, 8) | st.integers(16, 60), st.sampled_from([0, 1, 100, 499, 500, 501])),
        st.tuples(dispositions, st.integers(1, 5), st.just(0)),
    ),
    max_size=8,
)


def frames_of(script: list[tuple[Fields, int, int]], first: int) -> bytes:
    """Runs of transfers with ids that go on, and of dispositions that do too."""
    data = []
    number = first
    for frame, count, size in script:
        for n in range(count):
            payload = b""
            if isinstance(frame, Transfer):
                frame.delivery_id = number & 0xFFFFFFFF
                payload = b"%04d" % n + bytes(size)
                payload = payload[:size]
                number += not frame.more
            elif isinstance(frame, Disposition) and n:
                frame.first += 1
                frame.last = None if frame.last is None else frame.last + 1
            data.append(amqp_frame(0, frame.encoded() + payload))
    return b"".join(data)


def transfer(number, *, channel=0, handle=0, tag=b"tag", settled=False, size=50, **fields):
    body = Transfer(handle, number, tag, 0, settled, **fields).encoded()
    return amqp_frame(channel, body + b"%04d" % number + bytes(size))


ODD_ONES = {
    "nothing": {},
    "another link": {"handle": 1},
    "another channel": {"channel": 1},
    "another id": {"number": 900},
    "an id that goes back": {"number": 3},
    "another tag": {"tag": b"toe"},
    "a longer tag": {"tag": b"thumb"},
    "settled": {"settled": True},
    "more to come": {"more": True},
    "aborted": {"aborted": True},
    "another size": {"size": 51},
    "a size with the same lowest byte": {"size": 50 + 256},
    "a message that is too large": {"size": 600},
}


@quick
@given(scripts, st.sampled_from([0, 250, 70_000, (1 << 32) - 3]), st.lists(st.integers(0, 300), max_size=5))
def test_runs_are_read_as_single_frames_are(script, first, cuts):
    assert_alike(frames_of(script, first), cuts)


@quick
@given(scripts, st.randoms(use_true_random=False), st.lists(st.integers(0, 300), max_size=5))
def test_damaged_runs_are_read_as_single_frames_are(script, chance: random.Random, cuts):
    data = bytearray(frames_of(script, 250))
    for _ in range(chance.randint(1, 5)):
        if data:
            data[chance.randrange(len(data))] = chance.choice(
                [0, 0x40, 0x41, 0x43, 0x52, 0x70, 0xA0, chance.randrange(256)]
            )
    assert_alike(bytes(data), cuts)


@pytest.mark.parametrize("count", [1, 2, 500])
def test_runs_really_are_taken_by_their_shape(count, monkeypatch):
    raw = prepared(blind=False)
    link = raw.side.connection.names["a", True]
    link.flow(1000)
    frames = [amqp_frame(0, Transfer(0, 300 + n, b"t", 0, True).encoded() + b"payload") for n in range(count + 1)]
    raw.feed(frames[0])
    monkeypatch.setattr(raw.side.connection, "_read_frame", None)  # nothing can be decoded any more
    raw.feed(b"".join(frames[1:]))
    assert sum(len(event.deliveries) for event in raw.side.events if hasattr(event, "deliveries")) == count + 1


@pytest.mark.parametrize("odd", ODD_ONES.values(), ids=ODD_ONES)
@pytest.mark.parametrize("place", [0, 1, 15, 16, 17, 39])
def test_the_odd_one_in_a_long_run_is_seen(odd, place):
    """The first run is one for the loop, and lets the second be taken as a table."""
    frames = [transfer(300 + n) for n in range(80)]
    start = len(b"".join(frames[:40]))
    frames[40 + place] = transfer(**{"number": 340 + place, **odd})
    assert_alike(b"".join(frames), [start])


def test_a_long_run_ends_with_the_credit():
    frames = [transfer(300 + n) for n in range(170)]
    assert_alike(b"".join(frames), [40 * len(frames[0])])


def test_a_long_run_ends_with_the_last_whole_frame():
    data = b"".join(transfer(300 + n) for n in range(80))
    for cut in (1, 4, 20, 60):
        assert_alike(data, [40 * (len(data) // 80), 30 * (len(data) // 80) + cut])


def test_long_runs_really_are_taken_as_tables(monkeypatch):
    raw = prepared(blind=False)
    frames = [transfer(300 + n) for n in range(80)]
    raw.feed(b"".join(frames[:40]))
    taken = []
    take_equal = TransferShape._take_equal

    def watched(*args):
        taken.append(len(found := take_equal(*args)))
        return found

    monkeypatch.setattr(TransferShape, "_take_equal", watched)
    raw.feed(b"".join(frames[40:]))
    assert taken == [40]
