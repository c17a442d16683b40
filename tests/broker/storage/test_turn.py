"""What many clients publish in one turn travels together, and nobody can tell but by the time it takes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.clients import DurableScene
from broker.durable_clients import durable, subscriber
from heliograph.amqp.messages.message import Message, Value, encode_message
from heliograph.broker.core.outlet import Outlet
from heliograph.broker.core.queue_definition import QueueDefinition
from heliograph.broker.storage.streams import StreamOptions
from heliograph.log import log_kinds
from heliograph.log.messages import MIXED_PACKETS, form_of
from heliograph.log.record import Record
from heliograph.mqtt import (
    PingReq,
    PingResp,
    PubAck,
    PubComp,
    Publish,
    PubRec,
    PubRel,
    Subscribe,
    Subscription,
    Unsubscribe,
)
from heliograph.mqtt.packets import Will
from heliograph.mqtt.reasons import Reason


@pytest.fixture
def scene(tmp_path):
    scene = DurableScene(tmp_path, max_messages=100_000, connects_per_second=100_000)
    yield scene
    scene.close()


def records_of_messages(scene) -> list[Record]:
    ledger = scene.store.ledger
    return [record for record in ledger.reader.records(0, ledger.safe) if record.kind == log_kinds.MESSAGES]


def devices(scene, number=5, version=4) -> list:
    return [scene.client(f"device{n}", version) for n in range(number)]


def test_messages_of_many_clients_are_one_record_and_one_range_of_identifiers(scene) -> None:
    consumer = subscriber(scene, topic_filter="d/#")
    clients = devices(scene)
    with scene.one_turn():
        for number, client in enumerate(clients):
            client.send(Publish(f"d/{number}", bytes(number), 1, packet_id=100 + number))
    (record,) = records_of_messages(scene)
    assert (form_of(record.body), record.count) == (MIXED_PACKETS, 5)
    messages = consumer.messages()
    assert [message.topic for message in messages] == [f"d/{number}" for number in range(5)]
    assert [len(message.payload) for message in messages] == list(range(5))
    assert [message.packet_id for message in messages] == list(range(1, 6))
    assert [client.take() for client in clients] == [[PubAck(100 + number)] for number in range(5)]


def test_nobody_is_answered_before_it_is_safe(scene) -> None:
    consumer = subscriber(scene, topic_filter="d/#")
    clients = devices(scene)
    with scene.held():
        with scene.one_turn():
            for client in clients:
                client.send(Publish("d/1", b"x", 1, packet_id=1))
        assert [client.take() for client in clients] == [[]] * 5
        assert consumer.take() == []
    assert [client.take() for client in clients] == [[PubAck(1)]] * 5
    assert len(consumer.messages()) == 5


def test_what_waits_for_a_client_that_is_away_comes_when_it_is_back(scene) -> None:
    consumer = subscriber(scene, topic_filter="d/#")
    consumer.lose()
    with scene.one_turn():
        for number, client in enumerate(devices(scene)):
            client.send(Publish(f"d/{number}", bytes(number), 1, packet_id=1))
    scene.restart()
    for most in (2, 10):
        consumer = durable(scene, "s", receive_maximum=most)
        messages = consumer.messages()
        assert [message.topic for message in messages] == [f"d/{number}" for number in range(min(most, 5))]
        consumer.lose()


@pytest.mark.parametrize("version", [3, 4, 5])
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_receivers_of_all_kinds_get_what_they_would_have_got(scene, version, qos) -> None:
    wanted = {
        "old": scene.client("old", 4),
        "identifier": scene.client("identifier"),
        "downgraded": scene.client("downgraded"),
        "durable": durable(scene, "durable"),
        "aliases": durable(scene, "aliases", topic_alias_maximum=3),
        "small": durable(scene, "small", maximum_packet_size=100),
    }
    for name, client in wanted.items():
        client.subscribe("#", 0 if name == "downgraded" else 2, identifier=9 if name == "identifier" else None)
    sizes = [1, 150, 3, 4, 5]
    with scene.one_turn():
        for number, client in enumerate(devices(scene, version=version)):
            client.send(Publish(f"d/{number}", bytes(sizes[number]), qos, packet_id=1 if qos else 0))
    for name, client in wanted.items():
        messages = client.messages()
        assert [len(message.payload) for message in messages] == [
            size for size in sizes if size < 100 or name != "small"
        ]
        assert {message.qos for message in messages} == {0 if name == "downgraded" else qos}
        if name == "identifier":
            assert all(message.properties == {"subscription_identifier": [9]} for message in messages)


def test_properties_go_along(scene) -> None:
    consumer = subscriber(scene, topic_filter="#")
    old = scene.client("old", 4)
    old.subscribe("#", 1)
    clients = devices(scene, version=5)
    with scene.one_turn():
        for number, client in enumerate(clients):
            properties = {"content_type": f"text/{number}"} if number % 2 else {}
            client.send(Publish("d", b"x", 1, packet_id=1, properties=properties))
    assert [message.properties.get("content_type") for message in consumer.messages()] == [
        None, "text/1", None, "text/3", None,
    ]  # fmt: skip
    assert old.payloads() == [b"x"] * 5


def test_what_a_client_sends_behind_a_message_comes_behind_it(scene) -> None:
    consumer = subscriber(scene, topic_filter="#", qos=2)
    other = subscriber(scene, "other", "b", qos=2)
    client, second = devices(scene, 2)
    with scene.one_turn():
        second.send(Publish("a", b"second", 1, packet_id=1))
        client.send(Publish("a", b"1", 1, packet_id=1))
        client.send(Publish("b", b"2", 1, packet_id=2))
        client.send(Publish("a", b"3", 1, packet_id=3))
        client.send(Publish("a", b"4"))
        client.send(Publish("a", b"5", 2, packet_id=5))
        client.send(Publish("a", b"6", 1, retain=True, packet_id=6))
        client.send(PingReq())
    mine = [payload for payload in consumer.payloads() if payload != b"second"]
    assert sorted(mine) == [b"1", b"2", b"3", b"4", b"5", b"6"]
    assert [payload for payload in mine if payload != b"4"] == [b"1", b"2", b"3", b"5", b"6"]
    assert other.payloads() == [b"2"]
    answers = client.take()
    assert [packet.packet_id for packet in answers if isinstance(packet, PubAck | PubRec)] == [1, 2, 3, 5, 6]
    assert PingResp() in answers


def test_a_will_comes_behind_the_last_message(scene) -> None:
    consumer = subscriber(scene, topic_filter="#")
    client = scene.client("device", 4, will=Will("a", b"gone", 1, False))
    with scene.one_turn():
        client.send(Publish("a", b"last", 1, packet_id=1))
        client.connection.lost()
    assert consumer.payloads() == [b"last", b"gone"]


def test_an_end_of_a_subscription_in_the_same_turn_counts(scene) -> None:
    consumer, leaving = subscriber(scene, topic_filter="#"), subscriber(scene, "leaving", "#")
    clients = devices(scene)
    with scene.one_turn():
        for client in clients:
            client.send(Publish("d", b"x", 1, packet_id=1))
        leaving.send(Unsubscribe(9, ("#",)))
    assert len(consumer.messages()) == 5
    assert [type(packet).__name__ for packet in leaving.take()] == ["UnsubAck"]
    assert [client.take() for client in clients] == [[PubAck(1)]] * 5


def test_a_device_that_subscribes_to_its_own_topic_meanwhile_does_not_tear_the_others_apart(scene) -> None:
    consumer, newcomer = subscriber(scene, topic_filter="d/#"), scene.client("newcomer")
    clients = devices(scene)
    with scene.one_turn():
        for number, client in enumerate(clients):
            client.send(Publish(f"d/{number}", b"x", 1, packet_id=1))
        newcomer.send(Subscribe(1, (Subscription("d/3", 1),)))
    assert [record.count for record in records_of_messages(scene)] == [4, 1]
    assert sorted(message.topic for message in consumer.messages()) == [f"d/{number}" for number in range(5)]
    assert [packet.topic for packet in newcomer.take() if isinstance(packet, Publish)] == ["d/3"]
    assert [client.take() for client in clients] == [[PubAck(1)]] * 5


def test_a_stream_that_is_made_meanwhile_has_each_message_in_its_partition(scene) -> None:
    clients = devices(scene, 12)
    with scene.one_turn():
        for number, client in enumerate(clients):
            client.send(Publish(f"d/{number}", b"x", 1, packet_id=1))
        stream, _ = scene.store.make_stream(StreamOptions("s", "d/#", 3))
        scene.broker.feed(stream)
    parts = [stream.partition_for(b"d/%d" % number) for number in range(12)]
    assert [cursor.next for cursor in stream.cursors] == [parts.count(number) for number in range(3)]
    assert [client.take() for client in clients] == [[PubAck(1)]] * 12


def test_many_receivers_make_shorter_runs(scene) -> None:
    for number in range(100):
        scene.client(f"c{number}").subscribe("d/#", 1)
    assert scene.broker.routes.find(b"d/1", 9).most_batched == 500


class TestQos2:
    @pytest.mark.parametrize("crash", [True, False])
    def test_a_queue_that_is_bound_meanwhile_has_the_message_once(self, scene, crash) -> None:
        client = durable(scene, "p", 4)
        queue = scene.broker.queues.define(QueueDefinition("q", default_persistence=True))
        with scene.one_turn():
            client.send(Publish("a", b"x", 2, packet_id=7))
            scene.broker.bindings.bind("a", queue)
        assert queue.depth == 1
        if crash:
            scene.restart()
            client = durable(scene, "p", 4)
        client.send(Publish("a", b"x", 2, dup=True, packet_id=7))
        assert scene.broker.queues.find("q").depth == 1

    def test_a_message_that_comes_twice_in_a_turn_is_taken_once(self, scene) -> None:
        consumer = subscriber(scene, topic_filter="#", qos=2)
        first, second = durable(scene, "first", 4), durable(scene, "second", 4)
        with scene.one_turn():
            second.send(Publish("a", b"x", 2, packet_id=7))
            first.send(Publish("a", b"yy", 2, packet_id=7))
            first.send(Publish("a", b"yy", 2, dup=True, packet_id=7))
        assert consumer.payloads() == [b"x", b"yy"]
        assert first.take() == [PubRec(7), PubRec(7)]
        first.send(PubRel(7))
        assert first.take() == [PubComp(7)]

    def test_it_is_known_after_a_crash_from_whom_each_message_came(self, scene) -> None:
        subscriber(scene, topic_filter="#", qos=2)
        senders = [durable(scene, f"sender{n}", 4) for n in range(3)]
        with scene.one_turn():
            for number, client in enumerate(senders):
                client.send(Publish(f"a/{number}", bytes(number), 2, packet_id=10 + number))
        scene.restart()
        consumer = durable(scene, "s")
        for number in range(3):
            client = durable(scene, f"sender{number}", 4)
            client.send(Publish(f"a/{number}", bytes(number), 2, dup=True, packet_id=10 + number))
            assert client.take() == [PubRec(10 + number)]
        assert [len(message.payload) for message in consumer.messages()] == [0, 1, 2]

    def test_more_than_the_receive_maximum_is_refused(self, scene) -> None:
        consumer = subscriber(scene, topic_filter="#", qos=2)
        client = scene.client("p")
        scene.broker.connections["p"].receive_maximum = 2
        with scene.one_turn():
            for packet_id in (1, 2, 3):
                client.send(Publish("a", bytes(packet_id), 2, packet_id=packet_id))
        assert client.ended
        assert len(consumer.messages()) == 2


def test_more_than_a_receiver_has_room_for_waits(scene) -> None:
    consumer = durable(scene, "s", receive_maximum=3)
    consumer.subscribe("#", 1)
    with scene.one_turn():
        for number, client in enumerate(devices(scene)):
            client.send(Publish(f"d/{number}", b"x", 1, packet_id=1))
    got = consumer.messages()
    assert len(got) == 3
    consumer.acknowledge(*got)
    assert [message.topic for message in consumer.messages()] == ["d/3", "d/4"]


def test_what_finds_no_room_is_told_to_those_whose_it_is(tmp_path) -> None:
    scene = DurableScene(tmp_path, max_messages=3)
    consumer = subscriber(scene, topic_filter="#")
    consumer.lose()
    clients = devices(scene, version=5)
    with scene.one_turn():
        for number, client in enumerate(clients):
            client.send(Publish(f"d/{number}", b"x", 1, packet_id=1))
    reasons = [client.take()[0].reason for client in clients]
    assert reasons == [Reason.SUCCESS] * 3 + [Reason.QUOTA_EXCEEDED] * 2
    assert len(durable(scene, "s").messages()) == 3
    scene.close()


def test_without_a_subscriber_mqtt_5_clients_are_told(scene) -> None:
    clients = devices(scene, version=5)
    with scene.one_turn():
        for client in clients:
            client.send(Publish("d", b"x", 1, packet_id=1))
    assert [client.take()[0].reason for client in clients] == [Reason.NO_MATCHING_SUBSCRIBERS] * 5


def test_sharers_get_equal_parts(scene) -> None:
    sharers = [subscriber(scene, f"s{n}", "$share/g/d/#") for n in range(2)]
    with scene.one_turn():
        for number, client in enumerate(devices(scene, 6)):
            client.send(Publish(f"d/{number}", bytes(number), 1, packet_id=1))
    got = [sharer.messages() for sharer in sharers]
    assert [len(some) for some in got] == [3, 3]
    assert sorted(message.topic for some in got for message in some) == [f"d/{number}" for number in range(6)]


def test_one_bad_message_ends_its_client_and_no_other(scene, monkeypatch) -> None:
    consumer = subscriber(scene, topic_filter="#")
    clients = devices(scene)
    publish = scene.broker.publish_to_mqtt

    def failing(span, *others):
        if b"bad" in span.data:
            raise RuntimeError("bad")
        return publish(span, *others)

    monkeypatch.setattr(scene.broker, "publish_to_mqtt", failing)
    monkeypatch.setattr(scene.broker.journal, "failed", lambda *_: None)  # which in tests raises what went wrong
    with scene.one_turn():
        for number, client in enumerate(clients):
            client.send(Publish(f"d/{number}", b"bad" if number == 2 else b"good", 1, packet_id=1))
    assert scene.broker.defects.culprits == [clients[2].outlet]
    assert [client.take() for client in clients] == [[PubAck(1)] if number != 2 else [] for number in range(5)]
    assert consumer.payloads() == [b"good"] * 4


def test_nothing_is_kept_of_a_turn_that_is_over(scene) -> None:
    subscriber(scene, topic_filter="#")
    clients = devices(scene)
    with scene.one_turn():
        for client in clients:
            client.send(Publish("d", b"x", 1, packet_id=1))
        assert all(client.connection.batch is not None for client in clients)
    assert all(client.connection.batch is None for client in clients)
    assert not any(route.batches for route in scene.broker.routes.cache.values())


def test_a_very_long_turn_is_published_in_between(tmp_path) -> None:
    scene = DurableScene(tmp_path, inflight=10_000)
    consumer = subscriber(scene, topic_filter="#")
    (client,) = devices(scene, 1)
    with scene.one_turn():
        for number in range(2500):
            client.send(Publish("d", bytes(number % 3), 1, packet_id=number + 1))
    assert [record.count for record in records_of_messages(scene)] == [1000, 1000, 500]
    assert [len(message.payload) for message in consumer.messages()] == [number % 3 for number in range(2500)]
    scene.close()


@pytest.mark.parametrize("partitions", [1, 3])
def test_streams_get_a_record_for_each_partition(tmp_path, partitions) -> None:
    scene = DurableScene(tmp_path)
    stream, _ = scene.store.make_stream(StreamOptions("s", "d/#", partitions))
    scene.broker.feed(stream)
    (client,) = devices(scene, 1)
    with scene.one_turn():
        for number in range(60):
            client.send(Publish(f"d/{number % 6}", b"%d" % number, 0))
    assert len(records_of_messages(scene)) == len({stream.partition_for(b"d/%d" % n) for n in range(6)})
    assert sum(cursor.next for cursor in stream.cursors) == 60
    scene.close()


@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize("qos", [1, 2])
def test_messages_for_several_partitions_are_acknowledged_in_the_order_in_which_they_came(
    tmp_path, version, qos
) -> None:
    scene = DurableScene(tmp_path)
    stream, _ = scene.store.make_stream(StreamOptions("s", "d/#", 3))
    scene.broker.feed(stream)
    subscriber(scene, topic_filter="d/1")
    clients = devices(scene, 2, version)
    with scene.one_turn():
        for number in range(1, 31):
            for client in clients:
                client.send(Publish(f"d/{number % 7}", b"x", qos, packet_id=number))
    for client in clients:
        assert [packet.packet_id for packet in client.take()] == list(range(1, 31))
    assert len({stream.partition_for(b"d/%d" % n) for n in range(7)}) > 1
    scene.close()


def test_what_could_not_be_kept_of_some_partitions_is_told_in_order_too(tmp_path) -> None:
    scene = DurableScene(tmp_path, max_messages=3)
    stream, _ = scene.store.make_stream(StreamOptions("s", "d/#", 3))
    scene.broker.feed(stream)
    offline = subscriber(scene, topic_filter="d/1", qos=1)
    offline.disconnect()
    (client,) = devices(scene, 1)
    with scene.one_turn():
        for number in range(1, 31):
            client.send(Publish(f"d/{number % 7}", b"x", 1, packet_id=number))
    assert [packet.packet_id for packet in client.take()] == list(range(1, 31))
    scene.close()


TURNS = st.lists(
    st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from(["a/1", "a/2", "b", "b/c"]), st.integers(0, 2), st.booleans()),
        max_size=12,
    ),
    max_size=4,
)


@settings(max_examples=60, deadline=None)
@given(turns=TURNS, versions=st.lists(st.sampled_from([3, 4, 5]), min_size=4, max_size=4))
def test_each_receiver_has_the_messages_of_each_publisher_in_order(tmp_path_factory, turns, versions) -> None:
    scene = DurableScene(tmp_path_factory.mktemp("turns"), connects_per_second=100_000)
    publishers = [scene.client(f"p{n}", version) for n, version in enumerate(versions)]
    receivers = {
        topic_filter + kind: (durable(scene, topic_filter + kind) if kind == "durable" else scene.client(version=4))
        for topic_filter in ("#", "a/#", "b/#")
        for kind in ("durable", "volatile")
    }
    for name, receiver in receivers.items():
        receiver.subscribe(name.removesuffix("durable").removesuffix("volatile"), 2)
    sent: list[tuple[int, str, int, bytes]] = []
    for turn in turns:
        with scene.one_turn():
            for publisher, topic, qos, is_retained in turn:
                number = len(sent) + 1
                payload = b"%d/%d" % (publisher, number)
                sent.append((publisher, topic, qos, payload))
                packet = Publish(topic, payload, qos, is_retained, packet_id=number if qos else 0)
                publishers[publisher].send(packet)
    for name, receiver in receivers.items():
        topic_filter = name.removesuffix("durable").removesuffix("volatile")
        got = [(message.topic, message.qos, message.payload) for message in receiver.messages()]
        for publisher in range(4):
            for qos in range(3):
                assert [one for one in got if one[1] == qos and one[2].startswith(b"%d/" % publisher)] == [
                    (topic, qos, payload)
                    for sender, topic, its_qos, payload in sent
                    if (sender, its_qos) == (publisher, qos) and (topic_filter == "#" or topic[0] == topic_filter[0])
                ]
    for publisher, client in enumerate(publishers):
        answered = [packet.packet_id for packet in client.take() if isinstance(packet, PubAck | PubRec)]
        assert answered == [at for at, one in enumerate(sent, 1) if one[0] == publisher and one[2]]
    scene.close()


# What goes wrong


class Queues:
    """Notes what turns ask of queues; may fail at it."""

    def __init__(self, scene):
        self.scene = scene
        self.fails = False

    def __getattr__(self, name):
        return getattr(self.scene.broker.queues, name)

    def end_turn(self):
        if self.fails:
            raise RuntimeError("the end of a turn")


@pytest.fixture
def failing(scene, failures):
    """A scene in which the next turn cannot be written down."""
    scene.broker.defects._journal = failures
    queues = Queues(scene)
    scene.broker.turn.join(scene.broker.batches, queues, scene.broker.delivery.log)
    return queues


def test_a_turn_that_cannot_be_written_down_is_the_last_that_anybody_hears_of(scene, failing, failures) -> None:
    subscriber(scene, "s", "a")
    publisher = scene.client("p")
    scene.stop_the_clock_of_the_log()  # the test ends turns itself
    failing.fails = True
    publisher.send(Publish("a", b"x", 1, packet_id=7))
    scene.broker.turn.end()
    assert [what for what, _ in failures.seen] == ["a turn could not be written down"]
    assert scene.store.ledger.halted
    assert scene.broker.turn.held.is_empty
    failing.fails = False
    publisher.send(Publish("a", b"y", 1, packet_id=8))
    scene.broker.turn.end()
    assert publisher.take() == []


def test_who_fails_at_the_end_of_a_turn_keeps_no_other_from_its_word(scene, failures) -> None:
    scene.broker.defects._journal = failures
    said = []
    scene.broker.turn.at_end += [lambda: 1 / 0, lambda: said.append(1)]
    scene.broker.turn.end()
    assert said == [1]
    assert failures.seen == [("the end of a turn", None)]


def test_what_fails_together_is_not_stored_and_nobody_hears_of_it(scene) -> None:
    queue = scene.broker.queues.define(QueueDefinition("Q"))
    scene.turn_ends()
    turn, heard = scene.broker.turn, []
    turn.held.when_safe(lambda: heard.append("before"))
    with pytest.raises(RuntimeError), turn.together():
        queue.put([encode_message(Message(Value("x"), durable=True))])
        turn.held.when_safe(lambda: heard.append("within"))
        raise RuntimeError
    assert not scene.store.ledger.halted
    scene.turn_ends()
    assert heard == ["before"]
    assert queue.depth == 0
    scene.restart()
    assert scene.broker.queues.find("Q").depth == 0


def test_if_a_client_was_sent_something_of_it_the_log_halts(scene) -> None:
    client = subscriber(scene, "s", "a")
    turn = scene.broker.turn
    with pytest.raises(RuntimeError), turn.together():
        scene.broker.publish_message("a", b"x", qos=1)
        raise RuntimeError
    assert scene.store.ledger.halted
    scene.turn_ends()
    assert client.take() == []


def test_an_outlet_is_looked_at_once_however_often_it_is_asked_for(scene) -> None:
    turn, outlet = scene.broker.turn, Outlet()
    turn.look_at(outlet)
    assert turn.take_dirty() == [outlet]
    assert turn.take_dirty() == []
    turn.write(outlet, b"a")
    turn.write(outlet, b"b")
    turn.write_patiently(outlet, b"c")
    turn.look_at(outlet)
    assert turn.take_dirty() == [outlet]
    assert outlet.chunks == [b"a", b"b", b"c"]
