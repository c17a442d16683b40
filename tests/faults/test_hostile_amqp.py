"""AMQP peers that send nonsense, half of something, or too much of it. Whatever one does, the others are served."""

import random
import socket
from collections.abc import Iterator

import pytest

from configurations import AMQP
from faults.amqp_peer import GREETING, AmqpPeer, begin, frames, receiver_from, sender_to
from heliograph.amqp import Accepted, Coordinator, Declare, Source
from heliograph.amqp.codec.frames import AMQP_HEADER, SASL_HEADER
from heliograph.amqp.codec.performatives import (
    Attach,
    Begin,
    Detach,
    Disposition,
    End,
    Flow,
    Open,
    TransactionalState,
    Transfer,
)
from heliograph.amqp.messages.message import Data, Message, Value, encode_message
from heliograph.client import connect
from running import PATIENCE, RunningServer, servers

MEGABYTE = 1 << 20
CONFIG = f"""{AMQP}
[limits]
connects_per_second = 100000
[[queue]]
name = "q"
[[queue]]
name = "served"
[[queue]]
name = "large"
max_message_length = 100000000
"""
HASTY = f"""{AMQP}
[limits]
connect_timeout = 0.5
"""
SMALL = encode_message(Message(body=Data(b"small")))
CONVERSATION = frames(
    Open("hostile"),
    begin(),
    sender_to("q"),
    receiver_from("served", 1),
    Transfer(0, 0, b"0"),
    Transfer(0, 1, b"1", settled=True),
    Flow(0, 1000, 2, 1000, 1, 0, 10),
    Disposition(True, 0, 0, True, Accepted()),
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """One server for all of these: what a test does to it must not show in the next one."""
    with servers(tmp_path_factory.mktemp("hostile")) as start:
        yield start(CONFIG)


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """One that soon gives up a client. On a busy machine even a good one may be slower, so none of those comes here."""
    with servers(tmp_path_factory.mktemp("hasty")) as start:
        yield start(HASTY)


@pytest.fixture
def port(server: RunningServer) -> int:
    return server.port_of("amqp")


@pytest.fixture(autouse=True)
def _others_are_served(server: RunningServer) -> Iterator[None]:
    yield
    assert server.process.poll() is None
    assert is_served(server)
    assert "Traceback" not in server.log.text()


def is_served(server: RunningServer) -> bool:
    """Whether a client gets what it puts, persistent and in a unit of work."""
    with connect(server.url("amqp")) as connection, connection.session("transacted") as session:
        session.producer("served").send("yes")
        session.commit()
        got = session.consumer("served").receive(PATIENCE)
        session.commit()
        return got is not None and got.body == "yes"


def wait_until_all_have_gone(server: RunningServer) -> None:
    """Return when the server has noticed that connections were closed, and has nothing of theirs any more."""
    server.wait_until(lambda figures: not figures["amqp"]["links"])


def empty(server: RunningServer, queue: str) -> int:
    """How many messages there were in a queue; there are none now."""
    with connect(server.url("amqp")) as connection, connection.session() as session:
        consumer = session.consumer(queue)
        count = 0
        while consumer.receive(0.2) is not None:
            count += 1
        return count


# Nonsense


@pytest.mark.parametrize("after", [b"", SASL_HEADER, GREETING, GREETING + frames(Open("hostile"), begin())])
def test_random_bytes(port: int, after: bytes) -> None:
    rng = random.Random(len(after))
    for _ in range(50):
        with AmqpPeer(port) as peer:
            peer.send_bytes(after + rng.randbytes(rng.randrange(1, 400)))
            peer.socket.shutdown(socket.SHUT_WR)
            assert peer.is_closed()


def test_sound_frames_with_a_few_bytes_changed(server: RunningServer, port: int) -> None:
    rng = random.Random(3)
    for _ in range(300):
        damaged = bytearray(CONVERSATION)
        for _ in range(rng.randrange(1, 4)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        with AmqpPeer(port) as peer:
            peer.send_bytes(GREETING + damaged)
            peer.socket.shutdown(socket.SHUT_WR)
            assert peer.is_closed()
    empty(server, "q")


@pytest.mark.parametrize(
    ("sent", "condition"),
    [
        pytest.param(b"\xff\xff\xff\xff\x02\x00\x00\x00", "amqp:connection:framing-error", id="a frame of 4 GB"),
        pytest.param(b"\x00\x04\x00\x01\x02\x00\x00\x00", "amqp:connection:framing-error", id="larger than agreed"),
        pytest.param(b"\x00\x00\x00\x07\x02\x00\x00\x00", "amqp:connection:framing-error", id="smaller than its head"),
        pytest.param(b"\x00\x00\x00\x08\x01\x00\x00\x00", "amqp:connection:framing-error", id="a head too short"),
        pytest.param(b"\x00\x00\x00\x08\x03\x00\x00\x00", "amqp:connection:framing-error", id="a head too long"),
        pytest.param(b"\x00\x00\x00\x09\x02\x00\x00\x00\xff", "amqp:decode-error", id="a body that is no value"),
        pytest.param(
            frames(Begin(None, 0, 1, 1), channel=256), "amqp:connection:framing-error", id="too high a channel"
        ),
        pytest.param(frames(Transfer(0, 0, b"0"), channel=9), "amqp:illegal-state", id="a channel without a session"),
        pytest.param(frames(sender_to("q", 1024)), "amqp:connection:framing-error", id="too high a handle"),
        pytest.param(frames(Open("again")), "amqp:illegal-state", id="a second open"),
    ],
)
def test_frames_that_break_the_connection(port: int, sent: bytes, condition: str) -> None:
    with AmqpPeer(port).opened() as peer:
        peer.send_bytes(sent)
        assert peer.condition() == condition


@pytest.mark.parametrize(
    ("sent", "condition"),
    [
        pytest.param(Transfer(7, 0, b"0"), "amqp:session:unattached-handle", id="no such link"),
        pytest.param(Flow(0, 1, 0, 1, 7, 0, 1), "amqp:session:unattached-handle", id="credit for no link"),
    ],
)
def test_frames_that_break_the_session(port: int, sent: Transfer, condition: str) -> None:
    with AmqpPeer(port).opened() as peer:
        peer.send(sent)
        assert str(peer.wait_for(End).error.condition) == condition


# Half of something


@pytest.mark.parametrize(
    "sent", [b"", b"AMQ", AMQP_HEADER[:-1], SASL_HEADER, GREETING[:20], GREETING, GREETING + frames(Open("h"))[:-1]]
)
def test_an_opening_that_never_ends_is_given_up(hasty: RunningServer, sent: bytes) -> None:
    with AmqpPeer(hasty.port_of("amqp")) as peer:
        peer.send_bytes(sent)
        assert peer.is_closed()


def test_half_frames_cost_what_they_carry(server: RunningServer, port: int) -> None:
    before = server.memory()
    peers = [AmqpPeer(port).opened() for _ in range(100)]
    for peer in peers:
        peer.send_bytes(b"\x00\x00\xff\xff\x02\x00\x00\x00" + bytes(1000))
    assert is_served(server)
    assert server.memory() - before < 20 * MEGABYTE
    for peer in peers:
        peer.socket.close()


def test_what_is_put_in_a_message_that_never_ends_is_bounded(server: RunningServer, port: int) -> None:
    with AmqpPeer(port).opened(sender_to("q")) as peer:
        piece = bytes(60_000)
        with pytest.raises(OSError, match=r"reset|Broken pipe|closed"):
            for number in range(400):
                peer.send(
                    Transfer(0, 0 if not number else None, b"0" if not number else None, more=True), payload=piece
                )
                peer.socket.settimeout(PATIENCE)
            raise OSError(f"closed: {peer.wait_for(Detach).error.condition}")
    assert empty(server, "q") == 0


def test_nothing_is_kept_of_a_message_whose_sender_is_gone(server: RunningServer, port: int) -> None:
    before = server.memory()
    for _ in range(30):
        with AmqpPeer(port).opened(*[sender_to("q", handle) for handle in range(5)]) as peer:
            for handle in range(5):
                peer.wait_for(Flow)
                peer.send(Transfer(handle, handle, b"%d" % handle, more=True), payload=bytes(60_000))
                peer.send(*[Transfer(handle, more=True)] * 30, payload=bytes(60_000))
        wait_until_all_have_gone(server)
    assert is_served(server)
    # Each of them had nine megabytes there.
    assert server.memory() - before < 50 * MEGABYTE


# Too much


def test_all_sessions_and_very_many_links_are_bounded(server: RunningServer, port: int) -> None:
    before = server.memory()
    with AmqpPeer(port).opened() as peer:
        for channel in range(1, 256):
            peer.send_bytes(frames(begin(), channel=channel))
        for handle in range(1024):
            peer.send(receiver_from("q", handle))
        for channel in range(1, 10):
            peer.send_bytes(b"".join(frames(sender_to("q", handle), channel=channel) for handle in range(1000)))
        for _ in range(10_000):
            peer.wait_for(Attach)
        assert is_served(server)
        assert server.memory() - before < 100 * MEGABYTE
    wait_until_all_have_gone(server)


def test_very_many_transactions_are_bounded(server: RunningServer, port: int) -> None:
    before = server.memory()
    control = Attach("control", 0, False, source=Source(), target=Coordinator(), initial_delivery_count=0)
    declare = encode_message(Message(body=Value(Declare())))
    with AmqpPeer(port).opened(control) as peer:
        peer.wait_for(Flow)
        for first in range(0, 20_000, 50):
            numbers = range(first, first + 50)
            peer.send(*[Transfer(0, number, b"%d" % number) for number in numbers], payload=declare)
            for _ in numbers:
                peer.wait_for(Disposition)
        assert is_served(server)
        assert server.memory() - before < 100 * MEGABYTE
    server.wait_until(lambda figures: not figures["units_of_work"]["open"])


def test_more_than_the_credit_is_refused(server: RunningServer, port: int) -> None:
    with AmqpPeer(port).opened() as peer:
        # All of it comes before the server could give any credit.
        peer.send_bytes(
            frames(sender_to("q")) + frames(*[Transfer(0, n, b"%d" % n) for n in range(100)], payload=SMALL)
        )
        assert str(peer.wait_for(Detach).error.condition) == "amqp:link:transfer-limit-exceeded"
    assert empty(server, "q") == 0


def test_a_disposition_of_everything_takes_no_time(server: RunningServer, port: int) -> None:
    with AmqpPeer(port).opened(receiver_from("q"), Flow(0, 1000, 0, 1000, 0, 0, 10)) as peer:
        for _ in range(50):
            peer.send(Disposition(True, 0, (1 << 31) - 1, True, Accepted()))
        assert is_served(server)


def test_a_transaction_of_nobody_is_refused(port: int) -> None:
    with AmqpPeer(port).opened(sender_to("q")) as peer:
        peer.wait_for(Flow)
        peer.send(Transfer(0, 0, b"0", state=TransactionalState(b"nobody")), payload=SMALL)
        state = peer.wait_for(Disposition).state
        assert str(state.error.condition) == "amqp:transaction:unknown-id"


# Too little


def fill(server: RunningServer, queue: str, count: int, size: int = 10, *, persistent: bool = False) -> None:
    with connect(server.url("amqp")) as connection, connection.session() as session:
        producer = session.producer(queue, persistent=persistent)
        receipts = [producer.send_async(bytes(size)) for _ in range(count)]
        for receipt in receipts:
            receipt.result(PATIENCE)


def test_who_never_gives_credit_keeps_nothing_from_others(server: RunningServer, port: int) -> None:
    with AmqpPeer(port).opened(receiver_from("q")) as peer:
        peer.wait_for(Attach)
        fill(server, "q", 100)
        assert empty(server, "q") == 100


def test_who_never_settles_has_it_taken_away_when_it_goes(server: RunningServer, port: int) -> None:
    fill(server, "q", 4000)
    with AmqpPeer(port).opened(receiver_from("q"), Flow(0, 1 << 30, 0, 1 << 30, 0, 0, 1 << 30)) as peer:
        for _ in range(4000):
            peer.wait_for(Transfer)
        assert empty(server, "q") == 0
    wait_until_all_have_gone(server)
    assert empty(server, "q") == 4000


def test_who_never_reads_gets_no_more_than_there_is_room_for(server: RunningServer, port: int) -> None:
    fill(server, "large", 100, MEGABYTE, persistent=True)
    before = server.memory()
    deaf = [
        AmqpPeer(port, receive_buffer=8192).opened(receiver_from("large"), Flow(0, 1 << 30, 0, 1 << 30, 0, 0, 1 << 30))
        for _ in range(10)
    ]
    assert is_served(server)
    # Each may have what fits into its buffers, and a message or two.
    assert server.memory() - before < 80 * MEGABYTE
    for peer in deaf:
        peer.socket.close()
    wait_until_all_have_gone(server)
    assert empty(server, "large") == 100


def test_who_never_reads_answers_is_not_read_from(server: RunningServer, port: int) -> None:
    before = server.memory()
    with AmqpPeer(port, receive_buffer=8192).opened(sender_to("q")) as peer:
        question = frames(Flow(0, 1000, 0, 1000, echo=True)) * 10_000
        peer.socket.settimeout(1.0)
        with pytest.raises(TimeoutError):
            for _ in range(1000):
                peer.send_bytes(question)
        assert is_served(server)
        assert server.memory() - before < 50 * MEGABYTE
