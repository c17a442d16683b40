"""What a client gets is what was put into its outlet, however little its socket takes at a time."""

import asyncio
import os
import random
import select
import socket
from types import SimpleNamespace

import pytest

from heliograph.server.network.accepting import Acceptor, tcp_sockets
from heliograph.server.network.sockets import (
    LARGEST_READ,
    MOST_PIECES,
    SINGLE_READ,
    SMALLEST_READ,
    Reactor,
    SocketOutlet,
)


class Reader:
    """An outlet on one end of a pair of sockets with small buffers, and the client at the other end."""

    def __init__(self):
        ours, self.socket = socket.socketpair()
        ours.setblocking(False)
        self.socket.settimeout(5)  # what is lost does not come later
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16 << 10)
        self.calls = []
        self.watched = select.EPOLLIN
        self.reactor = SimpleNamespace(epoll=SimpleNamespace(modify=self._watch))
        self.outlet = SocketOutlet(self.reactor, ours.detach(), self.socket.getsockname())
        self.outlet.connection = SimpleNamespace(
            pause=lambda: self.calls.append("pause"), resume=lambda: self.calls.append("resume")
        )

    def _watch(self, _fd, events):
        self.watched = events

    def read(self, size):
        got = bytearray()
        while len(got) < size:
            got += self.socket.recv(50_000)
            if self.watched & select.EPOLLOUT:
                self.outlet.writable(select.EPOLLOUT)
        return bytes(got)

    def close(self):
        os.close(self.outlet.fd)
        self.socket.close()


@pytest.fixture
def reader():
    made = Reader()
    yield made
    made.close()


@pytest.mark.parametrize(
    "sizes",
    [
        [300_000],
        [40, 65_000, 40, 65_000, 0, 40, 70_000],
        [10, 20, 30],
        [9_000] * (2 * MOST_PIECES + 1),
    ],
    ids=["one", "large", "small", "more than one call takes"],
)
def test_pieces_arrive_in_order_and_whole_through_a_socket_that_takes_little(reader, sizes):
    pieces = [random.Random(size).randbytes(size) for size in sizes]
    reader.outlet.chunks = [memoryview(p) if at % 2 else p for at, p in enumerate(pieces)]
    whole = b"".join(pieces)
    assert reader.outlet.flush() == len(whole)
    assert reader.read(len(whole)) == whole


def test_what_is_written_while_something_waits_comes_behind_it(reader):
    first, second = b"a" * 200_000, b"b" * 50_000
    reader.outlet.chunks = [first[:100_000], first[100_000:]]
    reader.outlet.flush()
    reader.outlet.chunks = [second]
    reader.outlet.flush()
    assert reader.read(250_000) == first + second
    assert reader.calls == ["resume"]


def test_a_client_is_asked_for_more_as_soon_as_it_has_sent_much(reader):
    outlet = reader.outlet
    assert outlet.read_size == SINGLE_READ
    outlet.adapt(SINGLE_READ)
    assert outlet.read_size == SMALLEST_READ
    for _ in range(20):
        outlet.adapt(outlet.read_size)
    assert outlet.read_size == LARGEST_READ
    for _ in range(20):
        outlet.adapt(1)
    assert outlet.read_size == SMALLEST_READ


def test_a_client_that_does_not_read_pauses_its_messages_until_it_does(reader):
    reader.outlet.chunks = [b"x" * 800_000, b"y" * 800_000]
    reader.outlet.flush()
    assert reader.calls == ["pause"]
    reader.read(1_600_000)
    assert reader.calls == ["pause", "resume"]


class Taken:
    """A client that a listening socket has brought, and what it has sent."""

    def __init__(self):
        self.received = []
        self.heard = 0.0

    def receive(self, data):
        self.received.append(data)


class Door:
    """A reactor with one listening socket, whose clients are `Taken`."""

    def __init__(self):
        (self.listening,) = asyncio.run(tcp_sockets("127.0.0.1", 0))
        self.epoll = select.epoll()
        self.noted, self.taken, self.outlets = [], [], set()
        defects = SimpleNamespace(serving=None, note=lambda what, *_: self.noted.append(what))
        turn = SimpleNamespace(pause=lambda _now: 0.0)
        broker = SimpleNamespace(defects=defects, stats=SimpleNamespace(bytes_received=0), turn=turn)
        self.writer = SimpleNamespace(
            broker=broker, watchdog=SimpleNamespace(), outlets=self.outlets, flush=lambda _now: None
        )
        files = SimpleNamespace(epoll=self.epoll, closing=lambda _fd: None, on_events=self._note_turn)
        self.reactor = Reactor(files, self.writer)
        self.acceptor = Acceptor(self.listening, "test", self.take, self.reactor)

    def _note_turn(self, turn):
        self.turn = turn

    def take(self, fd, address):
        outlet = SocketOutlet(self.reactor, fd, address)
        outlet.connection = outlet.above = Taken()
        self.outlets.add(outlet)
        self.reactor.register(outlet)
        self.taken.append(outlet)

    def connect(self, data):
        client = socket.create_connection(self.listening.getsockname())
        client.sendall(data)
        return client

    def close(self):
        for outlet in self.outlets:
            os.close(outlet.fd)
        self.acceptor.close()
        self.epoll.close()


@pytest.fixture
def door():
    made = Door()
    yield made
    made.close()


def test_clients_that_come_are_read_from_in_the_same_turn(door):
    with door.connect(b"one") as first, door.connect(b"two") as second:
        door.turn(door.epoll.poll(5))
        assert [outlet.above.received for outlet in door.taken] == [[b"one"], [b"two"]]
        assert [outlet.peer() for outlet in door.taken] == [
            f"127.0.0.1:{client.getsockname()[1]}" for client in (first, second)
        ]


def test_a_client_that_says_nothing_yet_holds_nobody_up(door):
    with door.connect(b"") as silent:
        door.turn(door.epoll.poll(5))
        assert door.taken[0].above.received == []
        silent.sendall(b"at last")
        door.turn(door.epoll.poll(5))
        assert door.taken[0].above.received == [b"at last"]


def test_a_client_that_cannot_be_taken_in_is_closed_and_the_next_one_served(door):
    def fail(fd, address):
        door.acceptor._take = door.take
        door.take(fd, address)
        door.reactor.drop(fd)
        raise ValueError("a defect")

    door.acceptor._take = fail
    with door.connect(b"") as unlucky:
        door.turn(door.epoll.poll(5))
        assert unlucky.recv(1) == b""
        assert door.noted == ["accepting clients"]
        assert not door.outlets
    with door.connect(b"two"):
        door.turn(door.epoll.poll(5))
        assert door.taken[1].above.received == [b"two"]
