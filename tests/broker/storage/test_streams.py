"""Streams: what is kept, in which partition, under which offset, and for how long."""

import json
import time
from zlib import crc32

import pytest

from broker.clients import START, Scene
from heliograph.broker.broker import Broker
from heliograph.broker.core.limits import Limits
from heliograph.broker.core.timers import Clock
from heliograph.broker.errors import StreamConflict, StreamKept, TooManyStreams
from heliograph.broker.storage import record_kinds, streams
from heliograph.broker.storage.set_aside import reason
from heliograph.broker.storage.store import Store
from heliograph.broker.storage.streams import StreamOptions
from heliograph.errors import Problem
from heliograph.log.errors import OffsetAhead, OffsetGone
from heliograph.log.log import LogOptions
from heliograph.log.record import Record
from heliograph.log.segment import segment_files
from heliograph.log.streams.stream_reader import StreamReader
from heliograph.mqtt import Publish, Reason, Subscription

DAY = 86400


class DurableScene(Scene):
    """A broker with a log, which can be started again."""

    def __init__(self, directory, *streams, segment_size=1 << 20, **limits):
        super().__init__(**limits)
        self.directory = directory
        self.segment_size = segment_size
        self.wall = time.time()
        self.start(*streams)

    def start(self, *streams):
        options = LogOptions(segment_size=self.segment_size, force=False)
        clock = Clock(lambda: self.now, lambda: self.wall + self.now - START)
        self.store = Store(self.directory, clock, lambda: None, options)
        try:
            self.broker = Broker(Limits(), lambda: self.now, self._new_name, None, self.store, streams)
        except BaseException:
            self.store.close()
            raise

    def turn_ends(self):
        """What was sent is published. Nothing is safe before `settle`."""
        self.broker.batches.publish()

    def settle(self):
        """All that was sent is safe, and readers can see it."""
        self.broker.turn.end()
        self.store.ledger.wait()
        self.broker.turn.more_is_safe()
        for _ in range(2):
            self.store.streams.update_index()

    def restart(self, *streams):
        self.settle()
        self.store.close()
        self.start(*streams)

    def retain(self, seconds):
        self.now += seconds
        for _ in self.store.retain_streams():
            pass
        self.settle()

    def read(self, name, partition=0, offset=None):
        """Offsets, topics and payloads of what a stream has."""
        with StreamReader(self.directory, name) as reader:
            offset = reader.earliest(partition) if offset is None else offset
            return [(m.offset, m.topic, m.payload) for m in reader.messages(partition, offset)]

    def read_all(self, name):
        """Payloads of all partitions."""
        with StreamReader(self.directory, name) as reader:
            return [m.payload for one in range(reader.partitions) for m in reader.messages(one, reader.earliest(one))]


@pytest.fixture
def start(tmp_path):
    scenes = []

    def make(*streams, **options):
        scenes.append(DurableScene(tmp_path / "log", *streams, **options))
        return scenes[-1]

    yield make
    for scene in scenes:
        scene.store.close()


ALL = StreamOptions("all", "a/#")


def test_messages_of_any_qos_are_kept_without_a_subscriber(start):
    scene = start(ALL)
    client = scene.client("p")
    client.publish("a/0", b"zero")
    client.send(Publish("a/1", b"one", 1, packet_id=1), Publish("a/2", b"two", 2, packet_id=2), Publish("b", b"other"))
    scene.settle()
    assert scene.read("all") == [(0, "a/0", b"zero"), (1, "a/1", b"one"), (2, "a/2", b"two")]
    acks = client.take()
    assert [ack.reason for ack in acks] == [Reason.SUCCESS] * 2, "somebody has them: the stream"


def test_what_is_told_of_a_message(start):
    scene = start(ALL)
    scene.client("p").publish("a/0", b"x", retain=True, content_type="text/plain", message_expiry_interval=5)
    scene.settle()
    with StreamReader(scene.directory, "all") as reader:
        ((message,),) = reader.read(0, 0)
    assert (message.qos, message.retain, message.properties) == (0, True, b"\x03\x00\x0atext/plain")
    assert abs(message.time - time.time() * 1000) < 60_000


def test_subscribers_get_their_messages_as_without_the_stream(start):
    scene = start(ALL)
    near, durable = scene.client("n", 4), scene.client("d", session_expiry_interval=DAY)
    scene.settle()
    durable.take()
    near.subscribe("a/#", 1)
    scene.broker.subscriptions.subscribe(scene.broker.sessions["d"], Subscription("a/#", 1))
    scene.client("p", 4).send(Publish("a/b", b"0"), Publish("a/b", b"1", 1, packet_id=1))
    scene.settle()
    assert near.payloads() == durable.payloads() == [b"0", b"1"]
    assert len(scene.read("all")) == 2


def test_a_message_for_subscriptions_and_several_streams_is_stored_once(start):
    scene = start(ALL, StreamOptions("b", "a/b"))
    client = scene.client("p", 4)
    scene.settle()
    before = scene.store.ledger.end
    client.publish("a/b", bytes(5000))
    scene.settle()
    assert scene.store.ledger.end - before < 6000
    assert scene.read("all") == scene.read("b") == [(0, "a/b", bytes(5000))]


def test_sys_topics_are_kept_only_by_those_who_name_them(start):
    scene = start(StreamOptions("every", "#"), StreamOptions("sys", "$SYS/#"))
    scene.broker.publish_message("$SYS/broker/uptime", b"1", retain=True)
    scene.broker.publish_message("t", b"2")
    scene.settle()
    assert scene.read("every") == [(0, "t", b"2")]
    assert scene.read("sys") == [(0, "$SYS/broker/uptime", b"1")]
    scene.restart(StreamOptions("every", "#"), StreamOptions("sys", "$SYS/#"))
    assert scene.broker.retained.count == 0, "statistics of the server before are not retained"


def test_the_partition_is_that_of_the_topic_and_keeps_its_order(start):
    scene = start(StreamOptions("all", "a/#", partitions=4))
    client = scene.client("p", 4)
    topics = [f"a/{n}" for n in range(20)]
    client.send(*[Publish(topic, b"%d" % n) for n in range(10) for topic in topics])
    scene.settle()
    for partition in range(4):
        read = scene.read("all", partition)
        assert read
        assert [offset for offset, _, _ in read] == list(range(len(read)))
        assert {topic for _, topic, _ in read} == {t for t in topics if crc32(t.encode()) % 4 == partition}
        for topic in {topic for _, topic, _ in read}:
            assert [payload for _, t, payload in read if t == topic] == [b"%d" % n for n in range(10)]


def test_offsets_and_times_stay_over_restarts_and_compaction(start):
    scene = start(ALL, segment_size=10_000)
    client = scene.client("p", 4)
    for n in range(100):
        client.publish(f"a/{n % 3}", b"%d" % n)
        client.publish("elsewhere", bytes(300), retain=True)
        if n % 10 == 0:
            scene.settle()
    scene.settle()
    with StreamReader(scene.directory, "all") as reader:
        before = list(reader.messages(0, 0))
        assert len(before) == 100
        files = segment_files(scene.directory)
        scene.store.upkeep.compact()
        scene.settle()
        assert list(reader.messages(0, 0)) == before, "a reader that was there before finds the messages again"
        assert segment_files(scene.directory)[0] not in files, "it was really compacted"
    scene.restart(ALL)
    scene.client("p", 4).publish("a/0", b"more")
    scene.settle()
    with StreamReader(scene.directory, "all") as reader:
        after = list(reader.messages(0, 0))
    assert after[:-1] == before
    assert (after[-1].offset, after[-1].payload) == (100, b"more")


def test_a_reader_goes_on_from_any_offset_within_limits(start):
    scene = start(ALL)
    client = scene.client("p", 4)
    client.send(*[Publish("a/x", b"%04d" % n) for n in range(1000)])
    scene.settle()
    with StreamReader(scene.directory, "all") as reader:
        assert (reader.earliest(0), reader.latest(0)) == (0, 1000)
        (span,) = reader.read(0, 500, limit_messages=3)
        assert (span.offset, span.count, span.next, span.topic) == (500, 3, 503, "a/x")
        assert span.payloads == [b"0500", b"0501", b"0502"]
        assert reader.read(0, 1000) == []
        with pytest.raises(OffsetAhead, match="the next message gets 1000"):
            reader.read(0, 1001)
        client.publish("a/x", b"new")
        scene.settle()
        assert [m.payload for span in reader.read(0, 1000) for m in span] == [b"new"]


def test_what_is_not_safe_cannot_be_read(start):
    scene = start(ALL)
    client = scene.client("p", 4)
    client.publish("a/x", b"1")
    scene.store.streams.update_index()
    with StreamReader(scene.directory, "all") as reader:
        assert reader.latest(0) == 0
        scene.settle()
        assert reader.latest(0) == 1


def test_offsets_are_found_by_time(start):
    scene = start(ALL)
    client = scene.client("p", 4)
    for n in range(5):
        client.publish("a/x", b"%d" % n)
        scene.settle()
        scene.now += 0.005
    with StreamReader(scene.directory, "all") as reader:
        times = [m.time for m in reader.messages(0, 0)]
        assert [reader.offset_at(0, at) for at in times] == [0, 1, 2, 3, 4]
        assert reader.offset_at(0, 0) == 0
        assert reader.offset_at(0, times[2] + 1) == 3
        assert reader.offset_at(0, times[-1] + 1) == 5


def fill(scene, number, size=1000):
    client = scene.client("p", 4)
    for n in range(number):
        client.publish("a/x", b"%05d" % n + bytes(size))
        if n % 20 == 0:
            scene.settle()
    scene.settle()


def test_retention_by_bytes_deletes_the_oldest_and_gives_the_room_back(start):
    scene = start(StreamOptions("all", "a/#", retention_bytes=600_000), segment_size=100_000)
    fill(scene, 2000)
    size = sum(path.stat().st_size for path in segment_files(scene.directory))
    scene.retain(1)
    (cursor,) = scene.store.streams.by_name["all"].cursors
    assert 300_000 < cursor.bytes <= 600_000
    scene.store.upkeep.compact()
    scene.settle()
    assert sum(path.stat().st_size for path in segment_files(scene.directory)) < size // 2
    with StreamReader(scene.directory, "all") as reader:
        earliest = reader.earliest(0)
        assert earliest == cursor.first > 1000
        with pytest.raises(OffsetGone, match=f"the earliest one left is {earliest}") as gone:
            reader.read(0, 0)
        assert gone.value.earliest == earliest
        assert [m.offset for m in reader.messages(0, earliest)] == list(range(earliest, 2000))
    scene.restart(StreamOptions("all", "a/#", retention_bytes=600_000))
    assert [offset for offset, _, _ in scene.read("all")] == list(range(earliest, 2000))


def test_retention_by_age_takes_all_that_is_old(start):
    scene = start(StreamOptions("all", "a/#", retention_age=3600), segment_size=100_000)
    fill(scene, 500)
    scene.retain(3500)
    assert len(scene.read("all")) == 500
    scene.retain(200)
    assert scene.read("all") == []
    assert scene.store.ledger.cursors
    scene.client("p", 4).publish("a/x", b"new")
    scene.settle()
    assert scene.read("all") == [(500, "a/x", b"new")]


def test_without_limits_nothing_goes(start):
    scene = start(StreamOptions("all", "a/#", retention_bytes=0))
    fill(scene, 1000)
    scene.retain(10 * 365 * DAY)
    assert len(scene.read("all")) == 1000


def test_a_stream_that_is_not_configured_any_more_keeps_what_it_has(start):
    scene = start(StreamOptions("all", "a/#", retention_age=3600))
    scene.client("p", 4).publish("a/x", b"1")
    scene.restart()
    scene.client("p", 4).publish("a/x", b"2")
    scene.settle()
    assert scene.read("all") == [(0, "a/x", b"1")]
    scene.restart(ALL)
    scene.client("p", 4).publish("a/x", b"3")
    scene.settle()
    assert scene.read("all") == [(0, "a/x", b"1"), (1, "a/x", b"3")]
    scene.restart()
    scene.retain(7200)
    assert len(scene.read("all")) == 2, "the retention that it had last is none"


def test_partitions_can_be_added_but_not_taken_away(start):
    scene = start(ALL)
    scene.client("p", 4).publish("a/1", b"1")
    scene.restart(StreamOptions("all", "a/#", partitions=3))
    scene.client("p", 4).send(*[Publish(f"a/{n}", b"2") for n in range(30)])
    scene.settle()
    assert sum(len(scene.read("all", partition)) for partition in range(3)) == 31
    with pytest.raises(Problem, match="it has 3 partitions, and they cannot become fewer"):
        scene.restart(StreamOptions("all", "a/#", partitions=2))
    scene.start(StreamOptions("all", "a/#", partitions=3))
    assert sum(len(scene.read("all", partition)) for partition in range(3)) == 31


def test_a_stream_takes_what_subscribers_have_no_room_for(start):
    scene = start(ALL)
    away = scene.client("away", session_expiry_interval=DAY)
    scene.settle()
    away.take()
    scene.broker.limits = Limits(max_messages=5)
    scene.broker.subscriptions.subscribe(scene.broker.sessions["away"], Subscription("a/#", 1))
    away.lose()
    publisher = scene.client("p")
    publisher.send(*[Publish("a/x", b"%02d" % n, 1, packet_id=n + 1) for n in range(20)])
    scene.settle()
    assert [payload for _, _, payload in scene.read("all")] == [b"%02d" % n for n in range(20)]
    spool = scene.broker.sessions["away"].subscriptions["a/#"].spool
    assert (spool.count, spool.rejected) == (5, 15)
    assert {ack.reason for ack in publisher.take()} == {Reason.SUCCESS}


def test_the_index_is_renewed_when_most_of_it_is_gone(start, monkeypatch):
    monkeypatch.setattr("heliograph.log.streams.stream_index._GONE_MOST", 3)
    monkeypatch.setattr("heliograph.log.cursor.CHUNK_SIZE", 5000)
    options = StreamOptions("all", "a/#", retention_bytes=50_000)
    scene = start(options, segment_size=20_000)
    client = scene.client("p", 4)
    with StreamReader(scene.directory, "all") as reader:
        for n in range(500):
            client.publish("a/x", b"%05d" % n + bytes(500))
            scene.retain(1)
            earliest = reader.earliest(0)
            assert [m.offset for m in reader.messages(0, earliest)] == list(range(earliest, n + 1))
        assert earliest > 300
        assert (scene.directory / "streams" / "all" / "0.index").stat().st_size < 2000


def identity_of(scene):
    with StreamReader(scene.directory, "all") as reader:
        return reader.identity


def test_a_stream_is_known_by_its_identity_for_as_long_as_its_log_is_there(tmp_path):
    one, other = DurableScene(tmp_path / "one", ALL), DurableScene(tmp_path / "other", ALL)
    there = identity_of(one)
    assert there
    assert there != identity_of(other)
    one.restart(ALL)
    one.restart()  # it is not configured any more, and keeps what it has
    assert identity_of(one) == there


def test_a_stream_of_an_older_log_gets_an_identity_that_stays(tmp_path):
    scene = DurableScene(tmp_path, ALL)
    stream = scene.store.streams.by_name["all"]
    stream.identity = ""
    scene.store._note(record_kinds.STREAM, stream.fields())
    scene.restart(ALL)
    there = identity_of(scene)
    assert there
    scene.restart(ALL)
    assert identity_of(scene) == there


# Made and deleted


def test_streams_that_come_and_go_during_a_checkpoint(start):
    scene = start(ALL)
    for name in ("b", "c", "d"):
        scene.store.make_stream(StreamOptions(name, f"{name}/#"))
    facts_written = scene.store._all_records()
    next(facts_written)
    new, _ = scene.store.make_stream(StreamOptions("e", "e/#"))
    scene.store.delete_stream("c", purge=False)
    told = [json.loads(body)["stream"] for kind, body in facts_written if kind == record_kinds.STREAM]
    assert told == ["b", "d"], "of one that is new, the log is told anyway"
    scene.restart(ALL)
    assert sorted(scene.store.streams.by_name) == ["all", "b", "d", "e"]
    assert scene.store.streams.by_name["e"].identity == new.identity
    assert not len(scene.store.set_aside)


def test_a_deleted_stream_gets_nothing_more_and_gives_back_its_room(start):
    scene = start(ALL, segment_size=1 << 16)
    scene.broker.feed(scene.store.make_stream(StreamOptions("b", "b/#"))[0])
    client = scene.client("p")
    for _ in range(100):
        client.publish("b/0", b"x" * 4096)
    scene.settle()
    stream, messages = scene.store.delete_stream("b", purge=True)
    scene.broker.feed_no_more(stream)
    assert messages == 100
    client.publish("b/0", b"more")
    client.publish("a/0", b"other")
    scene.settle()
    scene.store.upkeep.compact()
    scene.settle()
    assert sum(path.stat().st_size for path in segment_files(scene.directory)) < 10_000
    assert scene.read("all") == [(0, "a/0", b"other")]


def test_the_index_of_very_many_partitions_is_brought_up_to_date_bit_by_bit(start):
    scene = start(StreamOptions("all", "a/#", partitions=20))
    scene.settle()
    client = scene.client("p", 4)
    for n in range(200):
        client.publish(f"a/{n}", b"x")
    streams = scene.store.streams
    while streams.update_index(lambda: False):  # all is noted, and nothing is safe
        assert not scene.read_all("all")
    scene.broker.turn.end()
    scene.store.ledger.wait()
    found = []
    while streams.update_index(lambda: False):
        found.append(len(scene.read_all("all")))
    assert len(found) > 10
    assert found == sorted(set(found))
    assert len(scene.read_all("all")) == 200


def test_a_stream_is_deleted_while_retention_is_at_it(start):
    scene = start()
    scene.store.make_stream(StreamOptions("made", "a/#", partitions=3, retention_age=10))
    scene.broker.feed(scene.store.streams.by_name["made"])
    client = scene.client("p", 4)
    for n in range(20):
        client.publish(f"a/{n}", b"x")
    scene.settle()
    scene.now += 20
    steps = scene.store.retain_streams()
    next(steps)
    stream, messages = scene.store.delete_stream("made", purge=True)
    assert 0 < messages < 20
    pending = [cursor.pending for cursor in stream.cursors]
    assert not list(steps)
    assert [cursor.pending for cursor in stream.cursors] == pending


# Streams that are made while the server runs


def test_a_stream_is_made_once_and_is_there_after_a_restart(start):
    scene = start()
    stream, is_new = scene.store.make_stream(StreamOptions("made", "a/#", partitions=2))
    scene.broker.feed(stream)
    assert is_new
    assert scene.store.make_stream(StreamOptions("made", "a/#")) == (stream, False)
    scene.client("p").publish("a/b", b"x")
    scene.settle()
    scene.restart()
    (again,) = scene.store.streams.by_name.values()
    assert (again.made, len(again.cursors)) == (True, 2)
    assert scene.read_all("made") == [b"x"]


def test_a_name_with_another_filter_is_a_conflict(start):
    scene = start(ALL)
    with pytest.raises(StreamConflict, match='expected its filter, "a/#", found "b"'):
        scene.store.make_stream(StreamOptions("all", "b"))


def test_a_stream_that_is_no_longer_configured_is_fed_again_when_it_is_made(start):
    scene = start(ALL)
    scene.client("p").publish("a/b", b"1")
    scene.restart()
    stream, is_new = scene.store.make_stream(ALL)
    assert (is_new, stream.made) == (True, True)
    scene.broker.feed(stream)
    scene.client("p").publish("a/b", b"2")
    scene.settle()
    assert [payload for _, _, payload in scene.read("all")] == [b"1", b"2"]


def test_a_made_stream_that_is_configured_belongs_to_the_configuration(start):
    scene = start()
    scene.store.make_stream(ALL)
    scene.restart(ALL)
    stream = scene.store.streams.by_name["all"]
    assert (stream.configured, stream.made) == (True, False)
    assert scene.store.streams.taken_over == ["all"]
    with pytest.raises(StreamKept, match="is in the server's configuration"):
        scene.store.delete_stream("all", purge=True)


def test_made_streams_have_a_limit(start, monkeypatch):
    monkeypatch.setattr(streams, "MOST_MADE", 3)
    scene = start(ALL)  # which does not count
    scene.store.make_stream(StreamOptions("one", "a", partitions=2))
    with pytest.raises(TooManyStreams, match="expected at most 1, found partitions = 2"):
        scene.store.make_stream(StreamOptions("two", "b", partitions=2))
    assert scene.store.make_stream(StreamOptions("two", "b"))[1]


def test_a_stream_with_messages_is_deleted_only_with_purge(start):
    scene = start()
    stream, _ = scene.store.make_stream(ALL)
    scene.broker.feed(stream)
    scene.client("p").publish("a/b", b"x")
    scene.settle()
    with pytest.raises(StreamKept, match="has 1 messages"):
        scene.store.delete_stream("all", purge=False)
    assert scene.store.delete_stream("all", purge=True) == (stream, 1)
    scene.broker.feed_no_more(stream)
    scene.settle()
    scene.restart()
    assert scene.store.streams.by_name == {}


# What the log says of a stream, and makes no sense


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"cursors": [4711]}, "expected cursor 4711 with messages of it, found none"),
        ({"identity": 7}, "identity: "),
        ({"filter": "a/#/b"}, ""),
    ],
)
def test_a_stream_that_makes_no_sense_is_set_aside(start, changes, why):
    scene = start()
    stream, _ = scene.store.make_stream(StreamOptions("made", "a/#"))
    fact = {**stream.fields(), **changes}
    failed = []
    facts = {"made": Record(8, record_kinds.STREAM, json.dumps(fact).encode())}
    found = streams.Streams(scene.store.ledger, lambda: "identity").recover(
        facts, lambda record, error: failed.append(reason(error))
    )
    assert (found, facts) == (set(), {})
    assert why in failed[0]
