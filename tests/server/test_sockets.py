"""What a client gets is what was put into its outlet, however little its socket takes at a time."""

import random
import select
import socket
from types import SimpleNamespace

import pytest

from heliograph.server.sockets import MOST_PIECES, SocketOutlet


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
        self.outlet = SocketOutlet(self.reactor, ours)
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
        self.outlet.socket.close()
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


def test_a_client_that_does_not_read_pauses_its_messages_until_it_does(reader):
    reader.outlet.chunks = [b"x" * 800_000, b"y" * 800_000]
    reader.outlet.flush()
    assert reader.calls == ["pause"]
    reader.read(1_600_000)
    assert reader.calls == ["pause", "resume"]
