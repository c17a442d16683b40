"""What a log says, record by record: what cannot be read is set aside, and the rest goes on."""

import json

import pytest

from broker.durable_clients import durable, session_fields, subscription_fields
from heliograph.broker.errors import UnknownRecordKind
from heliograph.broker.storage import record_kinds
from heliograph.broker.storage.log_contents import LogContents
from heliograph.broker.storage.offline_sessions import OfflineSession, OfflineSubscription
from heliograph.log import MESSAGES, Receivers, Record, UniformMessages, encode_uniform_messages

NOBODY = Receivers((), (), ())


class Log:
    """Tells contents of one record after the other."""

    def __init__(self):
        self.contents = LogContents()
        self.position = 0

    def tell(self, kind, fact):
        self.position += 8
        body = fact if isinstance(fact, bytes) else json.dumps(fact).encode()
        self.contents.take_record(Record(self.position, kind, body))

    def messages(self, messages, receivers=NOBODY):
        self.position += 8
        body = encode_uniform_messages(messages, receivers) + messages.data
        self.contents.take_messages(Record(self.position, MESSAGES, body, count=messages.number), receivers)


@pytest.fixture
def log():
    return Log()


def published(topic=b"a", payload=b"x", *, qos=1, retain=False, publisher=0, packet_id=1):
    head = bytes([0x30 | qos << 1, 4 + len(topic) + len(payload)]) + len(topic).to_bytes(2, "big") + topic
    data = head + packet_id.to_bytes(2, "big") + payload
    return UniformMessages(topic, data, 1, len(head) + 2, qos, len(head), False, retain, True, False, b"", publisher, 0)


def test_a_session_is_known_until_it_has_ended(log):
    log.tell(record_kinds.SESSION, session_fields())
    assert log.contents.sessions[9].client == "c"
    assert log.contents.last_number == 9
    log.tell(record_kinds.ENDED, {"session": 9})
    assert log.contents.sessions == {}
    log.tell(record_kinds.PRESENCE, {"session": 9, "away": 5})  # of what is not known, nothing is said
    assert log.contents.known(9) is None


def test_what_is_away_with_nothing_to_say_is_packed_until_something_happens(log):
    log.tell(record_kinds.SESSION, session_fields(away=5))
    assert list(log.contents.away) == [9]
    assert log.contents.sessions == {}
    log.tell(record_kinds.SUBSCRIBED, {"session": 9, **subscription_fields("b", 4)})
    assert log.contents.away == {}
    assert sorted(log.contents.sessions[9].subscriptions) == ["a", "b"]


def test_sessions_that_a_checkpoint_has_packed_take_the_place_of_what_was_known(log):
    log.tell(record_kinds.SESSION, session_fields())
    one = OfflineSession(9, "c", 60, 5, 1, [OfflineSubscription("b", 4, 1, b"")])
    log.tell(record_kinds.AWAY, one.encode() + one._replace(number=12, client="d").encode())
    assert log.contents.sessions == {}
    assert sorted(log.contents.away) == [9, 12]
    assert log.contents.last_number == 12
    assert list(log.contents.known(12).subscriptions) == ["b"]


def test_subscriptions_that_come_anew_or_go_are_retired_with_what_is_on_its_way(log):
    log.tell(record_kinds.SESSION, session_fields())
    log.tell(record_kinds.SUBSCRIBED, {"session": 9, **subscription_fields("a", 7)})
    log.tell(record_kinds.SUBSCRIBED, {"session": 9, **subscription_fields("a", 7, qos=2)})
    log.tell(record_kinds.UNSUBSCRIBED, {"session": 9, "filter": "a"})
    log.tell(record_kinds.UNSUBSCRIBED, {"session": 9, "filter": "never"})
    kept = log.contents.sessions[9]
    assert kept.subscriptions == {}
    assert [one["cursor"] for one in kept.retired] == [3, 7]


def test_messages_tell_which_identifiers_they_went_out_with(log):
    log.tell(record_kinds.SESSION, session_fields())
    log.messages(published(qos=2), Receivers((3, 99), (40, 0), (11, 12)))
    assert log.contents.sessions[9].issued == [(11, 1, 1, 3, 40)]  # at the subscription's QoS
    assert log.contents.sessions[9].next_id == 12


def test_messages_tell_which_identifiers_their_publisher_has_used(log):
    log.tell(record_kinds.SESSION, session_fields())
    log.messages(published(qos=2, publisher=9, packet_id=0x1234))
    log.messages(published(qos=2, publisher=77, packet_id=5))
    assert log.contents.sessions[9].received == {0x1234}


def test_the_last_message_of_a_topic_is_retained_and_an_empty_one_removes_it(log):
    log.messages(published(payload=b"1", retain=True))
    log.messages(published(payload=b"2", retain=True))
    log.messages(published(b"$SYS/x", retain=True))
    assert {topic: one.payloads for topic, one in log.contents.retained.items()} == {b"a": [b"2"]}
    log.messages(published(payload=b"", retain=True))
    assert log.contents.retained == {}


def test_streams_come_and_go(log):
    log.tell(record_kinds.STREAM, {"stream": "s"})
    assert list(log.contents.streams) == ["s"]
    log.tell(record_kinds.STREAM_GONE, {"stream": "s"})
    log.tell(record_kinds.STREAM_GONE, {"stream": "s"})
    assert log.contents.streams == {}


def test_a_kind_of_a_later_version_is_not_passed_over(log):
    with pytest.raises(UnknownRecordKind, match=f"position 8: a record of kind {record_kinds.LAST + 1}"):
        log.tell(record_kinds.LAST + 1, {})


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (record_kinds.SESSION, {"session": 3}),
        (record_kinds.SESSION, b"\xff"),
        (record_kinds.STREAM, {"name": "s"}),
        (record_kinds.QUEUE, {"queue": "Q"}),
        (record_kinds.MOVES, b"\0"),
        (record_kinds.RETAINED, b"\0"),
        (record_kinds.AWAY, b"\1\0\0\0"),
        (record_kinds.SUBSCRIBED, []),
    ],
)
def test_what_cannot_be_read_is_set_aside_and_the_rest_goes_on(log, kind, body):
    log.tell(kind, body)
    log.tell(record_kinds.SESSION, session_fields())
    assert len(log.contents.set_aside) == 1
    assert list(log.contents.sessions) == [9]


def test_a_packed_session_that_cannot_be_read_is_set_aside_when_somebody_wants_it(log):
    one = OfflineSession(9, "c", 60, 5, 1, [OfflineSubscription("b", 4, 1, b"")]).encode()
    broken = one[:-1] + b"\xff"
    log.tell(record_kinds.AWAY, broken)
    assert log.contents.known(9) is None
    assert log.contents.away == {}
    assert [one.kind for one in log.contents.set_aside] == [record_kinds.AWAY]


def set_aside(log, kind, fact):
    """The record that tells that this fact is set aside."""
    other = Log()
    other.position = log.position
    other.contents.set_aside.add(Record(8, kind, json.dumps(fact).encode()), ValueError("before"))
    (one,) = other.contents.set_aside
    return one.record()


@pytest.mark.parametrize(
    ("kind", "fact", "there"),
    [
        (record_kinds.SESSION, session_fields(), lambda contents: contents.sessions),
        (record_kinds.STREAM, {"stream": "s"}, lambda contents: contents.streams),
        (record_kinds.QUEUE, {"queue": "Q", "cursor": 0}, lambda contents: contents.queues.records),
    ],
)
def test_what_is_set_aside_is_not_there_until_it_is_tried_again(log, kind, fact, there):
    log.tell(kind, fact)
    log.tell(*set_aside(log, kind, fact))
    assert not there(log.contents)
    assert len(log.contents.set_aside) == 1
    log.contents.try_again()
    assert there(log.contents)
    assert len(log.contents.set_aside) == 0
    assert log.contents.set_aside.outdated


@pytest.mark.parametrize(
    ("kind", "fact", "other"),
    [
        (record_kinds.SESSION, session_fields(), session_fields(10)),
        (record_kinds.SESSION, session_fields(), session_fields(10, away=5)),
        (record_kinds.STREAM, {"stream": "s"}, {"stream": "s", "cursors": [1]}),
        (record_kinds.QUEUE, {"queue": "Q", "cursor": 0}, {"queue": "Q", "cursor": 1}),
    ],
)
def test_where_another_has_the_name_it_stays_aside(log, kind, fact, other):
    log.tell(*set_aside(log, kind, fact))
    log.tell(kind, other)
    log.contents.try_again()
    assert len(log.contents.set_aside) == 1


def test_what_only_makes_sense_where_it_stood_stays_aside(log):
    log.tell(record_kinds.MOVES, b"\0")
    log.contents.try_again()
    assert [one.kind for one in log.contents.set_aside] == [record_kinds.MOVES]


def test_what_fails_again_has_the_new_reason(log):
    log.tell(*set_aside(log, record_kinds.SESSION, {"session": 3, "client": "x"}))
    log.contents.try_again()
    (one,) = log.contents.set_aside
    assert one.why == "KeyError: 'received'"


def test_a_real_log_tells_what_the_broker_knew(scene):
    client = durable(scene, "c")
    client.subscribe("a", 1)
    client.publish("r", b"kept", qos=1, retain=True)
    client.lose()
    scene.restart()
    assert list(scene.broker.sessions) == ["c"]
    assert scene.broker.retained.count == 1
    assert len(scene.store.set_aside) == 0
