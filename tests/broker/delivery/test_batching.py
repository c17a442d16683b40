"""What clients publish in a turn gathers, goes out together, and is answered to each in the order that it came."""

from types import SimpleNamespace

import pytest

from broker.clients import Scene
from broker.durable_clients import durable, subscriber
from heliograph.broker.core.outlet import Outlet
from heliograph.broker.core.queue_definition import QueueDefinition
from heliograph.broker.core.span import Published, message
from heliograph.broker.delivery.batching import as_a_whole, not_at_present, note_taken
from heliograph.broker.storage import record_kinds
from heliograph.broker.storage.store import Store
from heliograph.mqtt import ProtocolError, PubAck, Publish, PubRec, Reason, Subscription, encode


class Bench:
    """A broker whose batches are given messages by hand."""

    def __init__(self):
        self.scene = Scene()
        self.broker = self.scene.broker
        self.batches = self.broker.batches
        self.published = []
        self.broken = set()
        self.reason, self.taken = Reason.SUCCESS, 1 << 32
        self.batches._publish_span = self._publish

    def _publish(self, span, session, route):
        payloads = span.payloads(0, span.count)
        if self.broken & set(payloads):
            raise RuntimeError(payloads)
        self.published.append(payloads)
        return Published(self.reason, min(self.taken, span.count))

    def publisher(self, version=5):
        """A client as batches know it."""
        one = SimpleNamespace(
            outlet=Outlet(), session=None, version=version, version5=version == 5, explain=True, batch=None, ended=None
        )
        one.find_route = lambda topic: self.broker.routes.find(topic, 32)
        one.end = lambda reason, text, publish_will: setattr(one, "ended", reason)
        return one

    def gather(self, publisher, payload, topic="a", qos=1, packet_id=1):
        packet = encode(Publish(topic, payload, qos, packet_id=packet_id), publisher.version)
        name_end = 4 + len(topic)
        head = len(packet) - len(payload)
        route = publisher.find_route(topic.encode())
        key = route.batch_key(topic.encode(), qos, publisher.version5)
        self.batches.gather(publisher, route, key, packet, name_end, head, qos)

    def acks(self, publisher):
        self.batches.publish()
        return b"".join(publisher.outlet.chunks)


@pytest.fixture
def bench():
    return Bench()


def test_messages_of_several_clients_are_published_together(bench):
    clients = [bench.publisher() for _ in range(3)]
    for number, client in enumerate(clients):
        bench.gather(client, b"%d" % number, packet_id=10 + number)
    assert bench.published == []
    assert [bench.acks(client) for client in clients] == [encode(PubAck(10 + n), 5) for n in range(3)]
    assert bench.published == [[b"0", b"1", b"2"]]
    assert [client.batch for client in clients] == [None] * 3
    bench.batches.publish()
    assert len(bench.published) == 1


def test_qos_and_version_are_kept_apart(bench):
    new, old = bench.publisher(5), bench.publisher(4)
    bench.gather(new, b"a")
    bench.gather(old, b"b")
    bench.batches.publish()
    assert sorted(bench.published) == [[b"a"], [b"b"]]


def test_what_a_client_has_published_before_goes_first(bench):
    client = bench.publisher()
    bench.scene.client("s").subscribe("b")
    bench.gather(client, b"1", "a")
    bench.gather(client, b"2", "b")
    assert bench.published == [[b"1"]]
    bench.batches.publish()
    assert bench.published == [[b"1"], [b"2"]]


def test_a_batch_is_bounded(bench):
    clients = [bench.publisher() for _ in range(5)]
    route = clients[0].find_route(b"a")
    route.most_batched = 2
    for number, client in enumerate(clients):
        bench.gather(client, b"%d" % number)
    bench.batches.publish()
    assert bench.published == [[b"0", b"1"], [b"2", b"3"], [b"4"]]


def test_if_routes_change_meanwhile_messages_are_gathered_anew(bench):
    session = bench.scene.client("s").connection.session
    clients = [bench.publisher() for _ in range(3)]
    for client, topic in zip(clients, ("a", "b", "a"), strict=True):
        bench.gather(client, topic.encode(), topic)
    bench.broker.subscriptions.subscribe(session, Subscription("b", 0))
    bench.batches.publish()
    assert sorted(bench.published) == [[b"a", b"a"], [b"b"]]


def test_whose_topic_is_none_any_more_is_ended_and_others_are_served(bench):
    fine, other = bench.publisher(), bench.publisher()
    bench.gather(fine, b"1")
    bench.gather(other, b"2")

    def refuse(topic):
        raise ProtocolError(Reason.TOPIC_NAME_INVALID, "too many levels")

    other.find_route = refuse
    bench.broker.routes.forget("#")
    bench.batches.publish()
    assert (fine.ended, other.ended) == (None, Reason.TOPIC_NAME_INVALID)
    assert bench.published == [[b"1"]]


def test_a_message_that_cannot_be_published_is_found_and_its_sender_blamed(bench, failures):
    bench.broker.defects._journal = failures
    clients = [bench.publisher() for _ in range(3)]
    for number, client in enumerate(clients):
        bench.gather(client, b"%d" % number)
    bench.broken = {b"1"}
    bench.batches.publish()
    assert bench.published == [[b"0"], [b"2"]]
    assert bench.broker.defects.culprits == [clients[1].outlet]
    assert [bool(client.outlet.chunks) for client in clients] == [True, False, True]


def test_if_nobody_knows_whose_fault_it_is_all_are_cut_off(bench, failures, monkeypatch):
    bench.broker.defects._journal = failures
    clients = [bench.publisher() for _ in range(2)]
    for client in clients:
        bench.gather(client, b"x")
    monkeypatch.setattr(bench.batches, "_answer", lambda *_: 1 / 0)
    bench.batches.publish()
    assert bench.broker.defects.culprits == [client.outlet for client in clients]


def test_those_who_found_no_room_are_told(bench):
    clients = [bench.publisher() for _ in range(3)]
    for client in clients:
        bench.gather(client, b"x", packet_id=7)
    bench.taken = 2
    full = encode(PubAck(7, Reason.QUOTA_EXCEEDED), 5)
    assert [bench.acks(client) for client in clients] == [encode(PubAck(7), 5)] * 2 + [full]


def test_what_was_received_together_is_counted(bench):
    for _ in range(4):
        bench.gather(bench.publisher(), b"x")
    bench.batches.publish()
    assert bench.broker.stats.messages_received == 4


# While nothing can be stored, and identifiers of QoS 2


@pytest.mark.parametrize(
    ("qos", "version5", "trouble", "told"), [(1, True, "x", True), (0, True, "x", False), (1, False, "x", False),
                                             (1, True, "", False)],
)  # fmt: skip
def test_mqtt_5_clients_are_told_that_nothing_can_be_stored(scene, monkeypatch, qos, version5, trouble, told):
    subscriber(scene)
    monkeypatch.setattr(Store, "trouble", trouble)
    monkeypatch.setattr(Store, "refusal", Reason.QUOTA_EXCEEDED)
    span = message(b"a", b"x", qos=qos)
    span.version5 = version5
    route = scene.broker.routes.find(b"a", 32)
    expected = Published(Reason.QUOTA_EXCEEDED, 1) if told else None
    assert not_at_present(scene.store, span, route) == expected
    assert not_at_present(None, span, route) is None
    assert not_at_present(scene.store, span, scene.broker.routes.find(b"nobody's", 32)) is None


def test_identifiers_of_messages_that_nobody_stores_are_noted(scene, monkeypatch):
    session = durable(scene, "c").connection.session
    moves = []
    monkeypatch.setattr(Store, "note_move", lambda _, move: moves.append(move))
    note_taken(scene.store, session, [3, 4, 5, 6], Published(Reason.SUCCESS, 3, stored=1))
    assert [(move.what, move.first, move.number, move.session) for move in moves] == [
        (record_kinds.TAKEN, packet_id, 1, session.number) for packet_id in (4, 5)
    ]
    note_taken(scene.store, scene.client("fleeting").connection.session, [3], Published(Reason.SUCCESS, 1))
    note_taken(None, session, [3], Published(Reason.SUCCESS, 1))
    assert len(moves) == 2


def test_queues_and_identifiers_are_stored_together_or_not_at_all(scene):
    session = durable(scene, "c").connection.session
    queue = scene.broker.queues.define(QueueDefinition("Q"))
    scene.broker.bindings.bind("q", queue)
    plain, bound = (scene.broker.routes.find(topic, 32) for topic in (b"a", b"q"))
    groups = []

    class Watched:
        def together(self):
            groups.append(1)
            return "group"

    assert as_a_whole(Watched(), session, bound) == "group"
    for session_and_route in ((session, plain), (None, bound), (scene.client("fleeting").connection.session, bound)):
        with as_a_whole(Watched(), *session_and_route):
            pass
    assert groups == [1]


def test_a_qos_2_message_for_a_queue_is_published_by_itself(scene):
    queue = scene.broker.queues.define(QueueDefinition("Q"))
    scene.broker.bindings.bind("q", queue)
    clients = [durable(scene, f"c{n}") for n in range(3)]
    with scene.one_turn():
        for client in clients:
            client.send(Publish("q", b"x", 2, packet_id=5))
    assert queue.depth == 3
    assert [client.take() for client in clients] == [[PubRec(5)]] * 3
    scene.restart()
    assert scene.broker.queues.find("Q").depth == 3
    assert [scene.broker.sessions[f"c{n}"].received.numbers() for n in range(3)] == [[5]] * 3
