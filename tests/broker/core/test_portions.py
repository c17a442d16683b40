"""Bytes of a client in portions: all of them in order, larger ones while they go fast, others served meanwhile."""

import pytest

from heliograph.broker.core.defects import Defects
from heliograph.broker.core.outlet import Outlet
from heliograph.broker.core.slices import SLICE, Portions, Slices
from heliograph.broker.core.statistics import Statistics

SMALL = 100


class Client(Outlet):
    """Takes bytes, each of which takes its time, and can be told to stop sending."""

    def __init__(self, failures):
        super().__init__()
        self.time = 0.0
        self.seconds_per_byte = 0.0
        self.slices = Slices(self.now, Defects(Statistics(), failures))
        self.portions = Portions(self, SMALL)
        self.taken = []
        self.turns = 0
        self.wants = 1 << 30
        self.reads = True

    def now(self):
        return self.time

    @property
    def outlet(self):
        return self

    def stop_reading(self):
        self.reads = False

    def go_on_reading(self):
        self.reads = True

    def take_portion(self, data):
        self.taken.append(data)
        self.time += len(data) * self.seconds_per_byte
        return sum(map(len, self.taken)) < self.wants

    def have_taken(self):
        self.turns += 1

    def send(self, data):
        self.portions.take(data, self)

    def run(self):
        while self.slices.busy:
            self.slices.run()


@pytest.fixture
def client(failures):
    return Client(failures)


DATA = bytes(range(256)) * 100


def test_portions_grow_while_they_go_fast(client):
    client.send(DATA)
    assert b"".join(client.taken) == DATA
    assert [len(one) for one in client.taken[:5]] == [100, 200, 400, 800, 1600]
    client.taken.clear()
    client.send(DATA)
    assert len(client.taken) < 3
    assert client.turns == 2


def test_what_there_is_no_time_for_waits_and_the_client_is_not_read_from(client):
    client.seconds_per_byte = SLICE / 150
    client.send(DATA)
    assert b"".join(client.taken) == DATA[: 2 * SMALL]
    assert not client.reads
    client.send(b"behind it")
    assert not client.reads
    client.run()
    assert b"".join(client.taken) == DATA + b"behind it"
    assert client.reads
    assert client.portions.waiting is None


def test_portions_shrink_where_they_are_slow_but_not_below_the_smallest(client):
    client.send(DATA)
    client.taken.clear()
    client.seconds_per_byte = SLICE / SMALL * 3
    client.send(4 * DATA)
    client.run()
    assert b"".join(client.taken) == 4 * DATA
    assert len(client.taken[0]) > len(client.taken[1]) > SMALL
    assert min(len(one) for one in client.taken[:-1]) == SMALL


def test_nothing_more_is_taken_from_a_client_that_has_ended(client):
    client.wants = 250
    client.send(DATA)
    assert sum(map(len, client.taken)) == 300
    assert client.portions.waiting is None


def test_what_waits_is_dropped_with_its_client(client):
    client.seconds_per_byte = SLICE
    client.send(DATA)
    client.portions.drop()
    client.run()
    assert b"".join(client.taken) == DATA[:SMALL]
    assert client.portions.waiting is None


def test_a_client_that_is_paused_in_the_middle_goes_on_where_it_was(client):
    plain = client.take_portion

    def pauses(data):
        client.portions.pause(client)
        return plain(data)

    client.take_portion = pauses
    client.send(DATA)
    client.send(b"behind it")
    assert b"".join(client.taken) == DATA[:SMALL]
    assert not client.reads
    client.run()
    assert not client.reads
    client.take_portion = plain
    client.portions.resume(client)
    client.run()
    assert b"".join(client.taken) == DATA + b"behind it"
    assert client.reads
