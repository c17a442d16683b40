"""Messages that nobody stores: sent at once to those who can take them, and else let wait, within limits."""

import pytest

from broker.clients import Scene
from heliograph.broker.core.span import Span
from heliograph.broker.delivery.memory_delivery import SHARERS_AT_ONCE


def run(first, count, qos=1, expires=0.0):
    """Messages whose payloads are the numbers from `first` on."""
    data = b"".join([b"%04d" % (first + n) for n in range(count)])
    return Span(b"a", data, count, head=0, qos=qos, id_at=0, version5=False, verbatim=False, expires=expires)


def numbers(client):
    return [int(payload) for payload in client.payloads()]


class Bench:
    """A broker without a log, and the one who delivers."""

    def __init__(self, **limits):
        self.scene = Scene(**limits)
        self.memory = self.scene.broker.delivery.memory

    def subscriber(self, client_id="s", qos=1, topic_filter="a", **properties):
        client = self.scene.client(client_id, clean=False, session_expiry_interval=100, **properties)
        client.subscribe(topic_filter, qos)
        client.take()
        return client, client.connection.session.subscriptions[topic_filter]

    def deliver(self, span, publisher=None):
        route = self.scene.broker.routes.find(b"a", 32)
        return self.memory.deliver(span, route, publisher)


def test_what_the_window_has_room_for_is_sent_and_the_rest_waits():
    bench = Bench()
    client, subscription = bench.subscriber(receive_maximum=3)
    assert bench.memory.offer(subscription, run(0, 5), {}) == 5
    messages = client.messages()
    assert [int(m.payload) for m in messages] == [0, 1, 2]
    assert subscription.buffer.count == 2
    client.acknowledge(*messages)
    assert numbers(client) == [3, 4]
    assert bench.scene.broker.waiting == 0


def test_what_waits_comes_before_what_is_new():
    bench = Bench()
    client, subscription = bench.subscriber(receive_maximum=1)
    for first in range(3):
        bench.memory.offer(subscription, run(first, 1), {})
    for expected in range(3):
        (one,) = client.messages()
        assert int(one.payload) == expected
        client.acknowledge(one)


@pytest.mark.parametrize("qos", [0, 1])
def test_a_client_that_does_not_read_gets_it_later(qos):
    bench = Bench(max_messages=3)
    client, subscription = bench.subscriber(qos=qos)
    client.connection.pause()
    assert bench.memory.offer(subscription, run(0, 5, qos), {}) == 3
    assert bench.scene.broker.stats.rejected == 2
    client.connection.resume()
    assert numbers(client) == [0, 1, 2]


def test_qos_0_is_not_kept_for_who_is_away_and_qos_1_is():
    bench = Bench()
    client, subscription = bench.subscriber(qos=1)
    client.lose()
    assert bench.memory.offer(subscription, run(0, 1, 0), {}) == 1
    assert bench.scene.broker.waiting == 0
    assert bench.memory.offer(subscription, run(1, 1, 1), {}) == 1
    assert bench.scene.broker.waiting == 1


def test_a_full_buffer_first_drops_what_has_expired():
    bench = Bench(max_messages=2)
    client, subscription = bench.subscriber()
    client.lose()
    bench.memory.offer(subscription, run(0, 2, expires=bench.scene.now + 5), {})
    bench.scene.now += 6
    assert bench.memory.offer(subscription, run(2, 2), {}) == 2
    stats = bench.scene.broker.stats
    assert (stats.expired, stats.rejected) == (2, 0)


def test_what_expires_while_it_waits_is_not_sent():
    bench = Bench()
    client, subscription = bench.subscriber(receive_maximum=1)
    bench.memory.offer(subscription, run(0, 1), {})
    bench.memory.offer(subscription, run(1, 1, expires=bench.scene.now + 5), {})
    bench.memory.offer(subscription, run(2, 1), {})
    (first,) = client.messages()
    bench.scene.now += 6
    client.acknowledge(first)
    assert numbers(client) == [2]
    assert bench.scene.broker.stats.expired == 1


def test_a_buffer_is_emptied_some_messages_at_a_time():
    bench = Bench()
    client, subscription = bench.subscriber(qos=0)
    client.connection.pause()
    for first in range(0, 8, 2):
        bench.memory.offer(subscription, run(first, 2, 0), {})
    client.outlet.open = True
    bench.memory.pump(subscription, subscription.buffer, bench.scene.now, 3)
    assert numbers(client) == [0, 1, 2, 3]
    assert subscription.buffer.count == 4


def test_a_client_with_limits_of_its_own_gets_each_message_that_it_takes():
    bench = Bench()
    small, subscription = bench.subscriber(maximum_packet_size=100)
    large = Span(b"a", b"x" * 200, 1, head=0, qos=1, id_at=0, version5=False, verbatim=False)
    assert bench.memory.offer(subscription, large, {}) == 1
    assert small.take() == []
    assert bench.scene.broker.stats.too_large == 1
    bench.memory.offer(subscription, run(0, 2), {})
    assert numbers(small) == [0, 1]


def test_no_local_counts_as_taken():
    bench = Bench()
    client = bench.scene.client("c")
    client.subscribe("a", 1, no_local=True)
    assert bench.deliver(run(0, 3), client.connection.session) == 3
    assert client.take() == []


def test_how_many_somebody_took_is_the_most_of_all():
    bench = Bench(max_messages=2)
    for name in ("one", "two"):
        client, _ = bench.subscriber(name, receive_maximum=3 if name == "one" else 1)
        del client
    assert bench.deliver(run(0, 9)) == 5  # three on their way, and two that wait


def test_sharers_get_equal_parts_in_turn():
    bench = Bench()
    clients = [bench.subscriber(f"c{n}", topic_filter="$share/g/a")[0] for n in range(3)]
    assert bench.deliver(run(0, 7)) == 7
    assert sorted(len(numbers(client)) for client in clients) == [1, 3, 3]
    got = []
    for first in range(7, 10):
        bench.deliver(run(first, 1))
        got.append([len(numbers(client)) for client in clients])
    assert sorted(got) == [[0, 0, 1], [0, 1, 0], [1, 0, 0]]


def test_what_no_sharer_can_take_waits_for_the_first_who_can():
    bench = Bench()
    one, _ = bench.subscriber("one", topic_filter="$share/g/a", receive_maximum=1)
    two, _ = bench.subscriber("two", topic_filter="$share/g/a", receive_maximum=1)
    assert bench.deliver(run(0, 4)) == 4
    (group,) = bench.scene.broker.subscriptions.groups.values()
    assert group.buffer.count == 2
    (first,) = one.messages()
    one.acknowledge(first)
    assert numbers(one) == [2]
    assert len(two.messages()) == 1
    assert group.buffer.count == 1


def test_for_sharers_that_are_away_and_want_qos_0_nothing_is_kept():
    bench = Bench()
    client, _ = bench.subscriber("one", 0, "$share/g/a")
    client.lose()
    assert bench.deliver(run(0, 2)) == 2
    assert bench.scene.broker.waiting == 0


def test_of_very_many_sharers_some_get_theirs_in_the_next_turn():
    bench = Bench(connects_per_second=10_000)
    clients = [
        bench.subscriber(f"c{n}", topic_filter="$share/g/a", receive_maximum=1)[0] for n in range(3 * SHARERS_AT_ONCE)
    ]
    assert bench.deliver(run(0, len(clients))) == len(clients)
    first = [len(client.messages()) for client in clients]
    assert sum(first) == 2 * SHARERS_AT_ONCE
    bench.scene.run_slices()
    rest = [len(client.messages()) for client in clients]
    assert [a + b for a, b in zip(first, rest, strict=True)] == [1] * len(clients)
