"""Rules that a client session keeps, one by one, against a server by hand."""

import pytest

from heliograph.errors import Problem
from heliograph.mqtt import ProtocolError, Reason, decode, encode, packets
from heliograph.mqtt.client import (
    Acknowledged,
    ClientSession,
    Connected,
    Disconnected,
    Failed,
    Forgotten,
    Messages,
    Refused,
    Released,
    Repeated,
)
from mqtt.client.peer import Peer

ABC = [b"a", b"b", b"c"]


def numbers(*payloads):
    return [str(payload).encode() for payload in payloads]


def failure(events):
    """The reason and text of a session that failed; nothing else has happened."""
    (failed,) = events
    assert isinstance(failed, Failed)
    return failed.reason, failed.text


# Connections


@pytest.mark.parametrize("version", [3, 4, 5])
def test_connect_says_what_the_owner_gave(version):
    connect = packets.Connect("me", version, False, 30, "user", b"secret", packets.Will("gone", b"!", 1))
    session = ClientSession()
    session.open(connect, 0.0)
    data = session.take_output()
    assert decode(data[0], data[2:], version) == connect


def test_nothing_is_published_before_the_server_has_let_us_in():
    peer = Peer()
    peer.open()
    assert len(peer.session.publish("t", ABC, 0)) == len(peer.session.publish("t", ABC, 1)) == 0
    with pytest.raises(Problem, match="no connection"):
        peer.session.subscribe([packets.Subscription("t")])
    assert peer.written() == []


@pytest.mark.parametrize(
    ("version", "answer", "reason"), [(5, Reason.BANNED, Reason.BANNED), (4, 5, Reason.NOT_AUTHORIZED)]
)
def test_a_refusal_has_its_reason_in_the_words_of_mqtt_5(version, answer, reason):
    peer = Peer(version)
    peer.open()
    refused = packets.ConnAck(False, answer)
    assert peer.send(refused) == [Refused(reason, refused)]
    assert not peer.session.connected


@pytest.mark.parametrize("reason", [Reason.USE_ANOTHER_SERVER, Reason.SERVER_MOVED])
def test_a_redirect_says_where_to(reason):
    peer = Peer()
    peer.open()
    (refused,) = peer.send(packets.ConnAck(False, reason, {"server_reference": "other:1883"}))
    assert (refused.reason, refused.server_reference) == (reason, "other:1883")
    peer.connect()
    (sent_away,) = peer.send(packets.Disconnect(reason, {"server_reference": "other:1883"}))
    assert isinstance(sent_away, Disconnected)
    assert (sent_away.reason, sent_away.server_reference) == (reason, "other:1883")


def test_what_came_before_a_disconnect_is_handed_over_and_what_comes_after_is_not():
    peer = Peer()
    peer.connect()
    messages, gone = peer.send(
        packets.Publish("t", b"last"), packets.Disconnect(Reason.SERVER_SHUTTING_DOWN), packets.Publish("t", b"more")
    )
    assert (messages.payloads, gone.reason) == ([b"last"], Reason.SERVER_SHUTTING_DOWN)
    assert peer.send(packets.Publish("t", b"even more")) == []


def test_our_disconnect_is_the_last_that_is_written():
    peer = Peer()
    peer.connect()
    peer.session.publish("t", [b"x"])
    peer.session.disconnect(Reason.DISCONNECT_WITH_WILL, {"reason_string": "bye"})
    peer.session.disconnect()
    assert peer.session.publish("t", [b"x"]) == range(0)
    assert peer.written() == [
        packets.Publish("t", b"x"),
        packets.Disconnect(Reason.DISCONNECT_WITH_WILL, {"reason_string": "bye"}),
    ]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\x00\x00", Reason.MALFORMED_PACKET),
        (encode(packets.Connect("x", 5), 5), Reason.PROTOCOL_ERROR),
        (encode(packets.PingReq(), 5), Reason.PROTOCOL_ERROR),
        (encode(packets.ConnAck(), 5), Reason.PROTOCOL_ERROR),
        (encode(packets.Auth(0x18, {"authentication_method": "m"}), 5), Reason.PROTOCOL_ERROR),
        (b"\x40\x02\x00\x00", Reason.PROTOCOL_ERROR),
        (b"\x36\x05\x00\x01t\x00\x01", Reason.MALFORMED_PACKET),
        (b"\x38\x04\x00\x01t\x00", Reason.MALFORMED_PACKET),
        (b"\x32\x06\x00\x01t\x00\x00\x00", Reason.PROTOCOL_ERROR),
        (b"\x30\x02\x00\x05", Reason.MALFORMED_PACKET),
        (b"\x30\x04\x00\x01\xff\x00", Reason.MALFORMED_PACKET),
        (b"\x30\x04\x00\x01#\x00", Reason.TOPIC_NAME_INVALID),
        (b"\x30\x04\x00\x01t\x7f", Reason.MALFORMED_PACKET),
        (b"\x30\x03\x00\x00\x00", Reason.PROTOCOL_ERROR),
        (b"\x30\xff\xff\xff\xff\x7f", Reason.MALFORMED_PACKET),
    ],
)
def test_a_server_that_breaks_the_standard_is_told_so_and_left(data, reason):
    peer = Peer()
    peer.connect()
    assert failure(peer.send_bytes(data))[0] == reason
    assert peer.written() == [packets.Disconnect(reason)]
    assert not peer.session.connected


@pytest.mark.parametrize(
    "packet", [packets.Publish("t", b"x"), packets.PubAck(1), packets.SubAck(1, (0,)), packets.PingResp()]
)
def test_connack_comes_first(packet):
    peer = Peer()
    peer.open()
    assert failure(peer.send(packet))[0] == Reason.PROTOCOL_ERROR
    assert peer.written() == []


def test_a_packet_larger_than_we_allow_is_refused_before_it_has_come():
    peer = Peer()
    peer.connect(maximum_packet_size=100)
    assert failure(peer.send_bytes(b"\x30\x80\x01"))[0] == Reason.PACKET_TOO_LARGE


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_bytes_may_come_in_any_pieces(size):
    peer = Peer()
    peer.connect()
    sent = [
        packets.Publish(f"t/{at % 3}", b"x" * (at * 7), at % 3, packet_id=at + 1 if at % 3 else 0) for at in range(60)
    ]
    data = b"".join(encode(packet, 5) for packet in sent)
    came = []
    for at in range(0, len(data), size):
        for event in peer.send_bytes(data[at : at + size]):
            came += [(event.topic, event.qos, payload) for payload in event.payloads]
    assert came == [(packet.topic, packet.qos, packet.payload) for packet in sent]


# Keeping a connection alive


def test_a_ping_is_due_when_nothing_was_sent_for_the_keep_alive():
    peer = Peer()
    peer.connect(keep_alive=10)
    assert peer.session.tick(1000.0) == ([], 1010.0)
    peer.now = 1004.0
    peer.session.tick(peer.now)
    peer.session.publish("t", [b"x"])
    peer.send(packets.PingResp())
    peer.written()
    assert peer.session.tick(1010.0) == ([], 1014.0)
    assert peer.written() == []
    assert peer.session.tick(1014.0) == ([], 1024.0)
    assert peer.written() == [packets.PingReq()]


def test_a_ping_is_due_when_nothing_came_though_we_go_on_sending():
    peer = Peer()
    peer.connect(keep_alive=10)
    for now in range(1001, 1010):
        peer.session.tick(float(now))
        peer.session.publish("t", [b"x"])
    peer.written()
    peer.session.tick(1010.0)
    assert peer.written() == [packets.PingReq()]


def test_a_server_that_does_not_answer_a_ping_is_left():
    peer = Peer()
    peer.connect(keep_alive=10)
    peer.session.tick(1010.0)
    assert peer.session.tick(1019.0) == ([], 1020.0)
    events, due = peer.session.tick(1020.0)
    assert failure(events)[0] == Reason.KEEP_ALIVE_TIMEOUT
    assert due == float("inf")


def test_anything_that_comes_is_an_answer_to_a_ping():
    peer = Peer()
    peer.connect(keep_alive=10)
    peer.session.tick(1010.0)
    peer.now = 1019.0
    peer.send_bytes(b"\x30")
    assert peer.session.tick(1020.0) == ([], 1030.0)


def test_silence_means_nothing_while_the_owner_does_not_read():
    peer = Peer()
    peer.connect(keep_alive=10)
    for now in range(1000, 1100, 5):
        assert peer.session.tick(float(now), reading=False)[0] == []
    assert peer.session.connected
    assert packets.PingReq() in peer.written()


@pytest.mark.parametrize(("ours", "theirs", "due"), [(10, 5, 1005.0), (0, 5, 1005.0), (10, 0, float("inf"))])
def test_the_server_may_choose_the_keep_alive(ours, theirs, due):
    peer = Peer()
    peer.connect(keep_alive=ours, told={"server_keep_alive": theirs})
    assert peer.session.tick(1000.0) == ([], due)


# Subscriptions


def test_subscriptions_are_answered():
    peer = Peer()
    peer.connect()
    wanted = packets.Subscription("t/#", 1)
    assert peer.session.subscribe([wanted], {"subscription_identifier": [7]}) == 1
    assert peer.session.unsubscribe(["u"]) == 2
    assert peer.written() == [
        packets.Subscribe(1, (wanted,), {"subscription_identifier": [7]}),
        packets.Unsubscribe(2, ("u",)),
    ]
    answers = [packets.UnsubAck(2, (Reason.SUCCESS,)), packets.SubAck(1, (Reason.GRANTED_QOS_1,))]
    assert peer.send(*answers) == answers
    assert peer.send(*answers) == []  # nobody asked a second time


# Publishing


@pytest.mark.parametrize("version", [3, 4, 5])
@pytest.mark.parametrize("payloads", [ABC, [b"", b"bb", b"c" * 200]])
def test_a_run_is_one_packet_for_each_message(version, payloads):
    peer = Peer(version)
    peer.connect()
    properties = {"content_type": "x"} if version == 5 else {}
    assert peer.session.publish("t", payloads, 0, retain=True, properties=properties) == range(3)
    assert peer.written() == [packets.Publish("t", payload, 0, True, properties=properties) for payload in payloads]
    assert peer.session.publish("t", payloads, 1, properties=properties) == range(3)
    assert peer.written() == [
        packets.Publish("t", payload, 1, packet_id=at, properties=properties) for at, payload in enumerate(payloads, 1)
    ]


def test_acknowledgements_tell_the_numbers():
    peer = Peer()
    peer.connect()
    taken = peer.session.publish("t", ABC, 1)
    assert peer.send(packets.PubAck(1), packets.PubAck(2)) == [Acknowledged(taken[:2], 0, {})]
    assert peer.session.in_flight == 1
    assert peer.send(packets.PubAck(3)) == [Acknowledged(taken[2:], 0, {})]
    assert peer.session.in_flight == 0


def test_acknowledgements_may_come_in_any_order_and_again():
    peer = Peer()
    peer.connect()
    peer.session.publish("t", [b"x"] * 5, 1)
    assert peer.send(packets.PubAck(4), packets.PubAck(2)) == [
        Acknowledged(range(3, 4), 0, {}),
        Acknowledged(range(1, 2), 0, {}),
    ]
    assert peer.send(packets.PubAck(2), packets.PubAck(4), packets.PubAck(9)) == []
    assert peer.send(*(packets.PubAck(packet_id) for packet_id in range(1, 6))) == [
        Acknowledged(range(1), 0, {}),
        Acknowledged(range(2, 3), 0, {}),
        Acknowledged(range(4, 5), 0, {}),
    ]


def test_acknowledgements_may_begin_with_what_is_done_with():
    peer = Peer()
    peer.connect()
    peer.session.publish("t", ABC, 1)
    peer.send(packets.PubAck(1))
    peer.session.publish("t", ABC, 1)
    assert peer.send(packets.PubAck(1), packets.PubAck(2), packets.PubAck(3)) == [Acknowledged(range(1, 3), 0, {})]


def test_reasons_are_told_and_equal_ones_are_one_event():
    peer = Peer()
    peer.connect()
    peer.session.publish("t", [b"x"] * 4, 1)
    nobody = Reason.NO_MATCHING_SUBSCRIBERS
    full = {"reason_string": "full"}
    assert peer.send(
        packets.PubAck(1, nobody),
        packets.PubAck(2, nobody),
        packets.PubAck(3, Reason.QUOTA_EXCEEDED, full),
        packets.PubAck(4),
    ) == [
        Acknowledged(range(2), nobody, {}),
        Acknowledged(range(2, 3), Reason.QUOTA_EXCEEDED, full),
        Acknowledged(range(3, 4), 0, {}),
    ]


def test_qos_2_is_acknowledged_with_pubrec_and_in_flight_until_pubcomp():
    peer = Peer()
    peer.connect()
    peer.session.publish("t", ABC, 2)
    peer.written()
    assert peer.send(packets.PubRec(1), packets.PubRec(2), packets.PubRec(3, Reason.QUOTA_EXCEEDED)) == [
        Acknowledged(range(2), 0, {}),
        Acknowledged(range(2, 3), Reason.QUOTA_EXCEEDED, {}),
    ]
    assert peer.written() == [packets.PubRel(1), packets.PubRel(2)]
    assert peer.session.in_flight == 2
    assert peer.send(packets.PubComp(1), packets.PubComp(2)) == []
    assert peer.session.in_flight == 0


@pytest.mark.parametrize(
    ("qos", "wrong"), [(1, packets.PubRec(1)), (2, packets.PubAck(1)), (1, packets.SubAck(1, (0,)))]
)
def test_the_wrong_acknowledgement_breaks_the_standard(qos, wrong):
    peer = Peer()
    peer.connect()
    peer.session.publish("t", ABC, qos)
    assert failure(peer.send(wrong))[0] == Reason.PROTOCOL_ERROR


def test_no_more_is_in_flight_than_the_server_allows():
    peer = Peer()
    peer.connect(told={"receive_maximum": 2})
    assert peer.session.room == 2
    assert peer.session.publish("t", ABC, 1) == range(2)
    assert peer.session.publish("t", ABC, 2) == range(0)
    assert len(peer.session.publish("t", ABC, 0)) == 3
    peer.send(packets.PubAck(1))
    assert peer.session.publish("t", ABC, 2) == range(2, 3)
    peer.send(packets.PubAck(2), packets.PubRec(3))
    assert peer.session.room == 1
    peer.send(packets.PubComp(3))
    assert peer.session.room == 2


def test_identifiers_begin_anew_and_none_is_used_twice():
    peer = Peer()
    peer.connect()
    taken = peer.session.publish("t", [b"x"] * 65_530, 1)
    peer.written()
    peer.send(*(packets.PubAck(packet_id) for packet_id in range(2, 65_531)))  # all but the first
    assert peer.session.publish("t", ABC * 5, 1) == range(65_530, 65_535)
    assert [packet.packet_id for packet in peer.written()] == [65_531, 65_532, 65_533, 65_534, 65_535]
    assert peer.session.room == 0
    assert peer.send(packets.PubAck(1)) == [Acknowledged(taken[:1], 0, {})]
    assert peer.session.publish("t", ABC, 1) == range(65_535, 65_538)
    assert [packet.packet_id for packet in peer.written()] == [1, 2, 3]
    assert peer.send(packets.PubAck(65_535), packets.PubAck(2)) == [
        Acknowledged(range(65_534, 65_535), 0, {}),
        Acknowledged(range(65_536, 65_537), 0, {}),
    ]


def test_a_run_may_go_over_the_last_identifier():
    peer = Peer()
    peer.connect()
    for _ in range(2):
        first = len(peer.session.publish("t", [b"x"] * 65_534, 1))
        peer.send(*(packets.PubAck(packet.packet_id) for packet in peer.written()))
    assert first == 65_534
    assert peer.session.in_flight == 0


def test_what_the_server_cannot_take_is_refused_before_anything_is_taken():
    peer = Peer()
    peer.connect(told={"maximum_qos": 1, "retain_available": 0, "maximum_packet_size": 50})
    for bad in (
        {"qos": 2},
        {"retain": True},
        {"payloads": [b"x", b"x" * 50]},
        {"properties": {"content_type": "x" * 50}},
    ):
        with pytest.raises(Problem):
            peer.session.publish("t", **({"payloads": ABC, "qos": 1} | bad))
    with pytest.raises(ProtocolError):
        peer.session.publish("t/#", ABC, 1)
    with pytest.raises(Problem):
        peer.session.subscribe([packets.Subscription("x" * 50)])
    assert peer.written() == []
    assert peer.session.in_flight == 0


def test_a_packet_as_large_as_the_server_takes_is_sent():
    peer = Peer()
    peer.connect(told={"maximum_packet_size": 50})
    peer.session.publish("t", [b"x" * (50 - 2 - 3 - 2 - 1)], 1)
    assert len(peer.session.take_output()) == 50


# Topic aliases


def test_topics_are_published_by_number_if_both_sides_want_that():
    peer = Peer(topic_aliases=10)
    peer.connect(told={"topic_alias_maximum": 1})
    peer.session.publish("plant/1", ABC, 1)
    peer.session.publish("plant/2", [b"x"])
    alias = {"topic_alias": 1}
    assert peer.written() == [
        packets.Publish("plant/1", b"a", 1, packet_id=1, properties=alias),
        packets.Publish("", b"b", 1, packet_id=2, properties=alias),
        packets.Publish("", b"c", 1, packet_id=3, properties=alias),
        packets.Publish("plant/2", b"x"),
    ]


@pytest.mark.parametrize(("ours", "theirs"), [(0, 10), (10, 0)])
def test_topics_have_no_numbers_if_one_side_does_not_want_that(ours, theirs):
    peer = Peer(topic_aliases=ours)
    peer.connect(told={"topic_alias_maximum": theirs})
    peer.session.publish("plant/1", [b"x"])
    assert peer.written() == [packets.Publish("plant/1", b"x")]


def test_the_aliases_of_a_connection_end_with_it():
    peer = Peer(topic_aliases=10)
    peer.connect(told={"topic_alias_maximum": 10})
    peer.session.publish("plant/1", [b"a"], 1)
    peer.written()
    peer.connect(present=True, told={"topic_alias_maximum": 10})
    peer.session.publish("plant/1", [b"b"], 1)
    assert peer.written() == [
        packets.Publish("plant/1", b"a", 1, dup=True, packet_id=1),
        packets.Publish("plant/1", b"b", 1, packet_id=2, properties={"topic_alias": 1}),
    ]


def test_a_message_with_an_alias_of_the_caller_is_sent_again_where_the_session_uses_aliases():
    peer = Peer(topic_aliases=10)
    peer.connect(told={"topic_alias_maximum": 0})
    peer.session.publish("plant/1", [b"a"], 1, properties={"topic_alias": 1})
    peer.written()
    peer.connect(present=True, told={"topic_alias_maximum": 10})
    assert peer.written() == [packets.Publish("plant/1", b"a", 1, dup=True, packet_id=1)]


def test_the_server_may_send_topics_by_number():
    peer = Peer()
    peer.connect(topic_alias_maximum=2)
    told = {"topic_alias": 2, "content_type": "x"}
    messages = peer.send(
        packets.Publish("plant/1", b"a", properties=told),
        packets.Publish("", b"b", properties=told),
        packets.Publish("plant/2", b"c", properties=told),
        packets.Publish("", b"d", properties={"topic_alias": 2}),
    )
    assert [(run.topic, run.payloads, run.properties) for run in messages] == [
        ("plant/1", [b"a", b"b"], {"content_type": "x"}),
        ("plant/2", [b"c"], {"content_type": "x"}),
        ("plant/2", [b"d"], {}),
    ]


@pytest.mark.parametrize(
    "bad", [packets.Publish("t", properties={"topic_alias": 3}), packets.Publish("", properties={"topic_alias": 1})]
)
def test_numbers_that_stand_for_no_topic_break_the_standard(bad):
    peer = Peer()
    peer.connect(topic_alias_maximum=2)
    assert failure(peer.send(bad))[0] == Reason.TOPIC_ALIAS_INVALID


# Over connections: what was published


@pytest.mark.parametrize("version", [3, 4, 5])
def test_what_was_in_flight_is_sent_again_in_order_and_marked(version):
    peer = Peer(version)
    peer.connect()
    peer.session.publish("t", ABC, 1)
    peer.session.publish("t", ABC, 2, retain=True)
    peer.send(packets.PubAck(2), packets.PubRec(4), packets.PubRec(5), packets.PubComp(4))
    peer.written()
    (connected,) = peer.connect(present=version > 3)
    assert connected.session_present
    assert peer.written() == [
        packets.PubRel(5),
        packets.Publish("t", b"a", 1, dup=True, packet_id=1),
        packets.Publish("t", b"c", 1, dup=True, packet_id=3),
        packets.Publish("t", b"c", 2, True, dup=True, packet_id=6),
    ]
    assert peer.send(packets.PubAck(1), packets.PubComp(5), packets.PubAck(3)) == [
        Acknowledged(range(1), 0, {}),
        Acknowledged(range(2, 3), 0, {}),
    ]


def test_what_the_server_has_not_completed_counts_on_the_next_connection():
    """The standard does not ask for that, but mosquitto does."""
    peer = Peer()
    peer.connect(told={"receive_maximum": 3})
    peer.session.publish("t", ABC, 2)
    peer.send(packets.PubRec(1), packets.PubRec(2))
    peer.connect(present=True, told={"receive_maximum": 3})
    assert peer.session.room == 0
    peer.send(packets.PubComp(1))
    assert peer.session.room == 1


def test_nothing_new_goes_out_before_all_of_it_is_sent_again():
    peer = Peer()
    peer.connect()
    peer.session.publish("t", numbers(*range(5)), 1)
    peer.written()
    peer.connect(present=True, told={"receive_maximum": 2})
    assert [packet.packet_id for packet in peer.written()] == [1, 2]
    assert peer.session.publish("t", ABC, 1) == range(0)
    peer.send(packets.PubAck(1))
    assert [packet.packet_id for packet in peer.written()] == [3]
    peer.send(packets.PubAck(2), packets.PubAck(3))
    assert [(packet.packet_id, packet.dup) for packet in peer.written()] == [(4, True), (5, True)]
    peer.send(packets.PubAck(4))
    assert peer.session.publish("t", ABC, 1) == range(5, 6)


def test_without_a_session_all_is_forgotten_and_the_owner_is_told():
    peer = Peer()
    peer.connect()
    peer.session.publish("t", ABC, 1)
    peer.session.publish("t", ABC, 2)
    peer.send(packets.PubAck(2), packets.PubRec(4))
    assert peer.connect() == [
        Connected(packets.ConnAck(), False),
        Forgotten(range(1)),
        Forgotten(range(2, 3)),
        Forgotten(range(4, 6)),
    ]
    assert peer.written() == []
    assert peer.session.in_flight == 0
    assert peer.session.publish("t", ABC, 1) == range(6, 9)


def test_requests_without_an_answer_end_with_their_connection():
    peer = Peer()
    peer.connect()
    peer.session.subscribe([packets.Subscription("t")])
    peer.written()
    peer.connect(present=True)
    assert peer.written() == []
    assert peer.send(packets.SubAck(1, (0,))) == []


def test_a_message_too_large_for_the_server_of_now_is_given_up():
    peer = Peer()
    peer.connect()
    peer.session.publish("t", [b"a", b"x" * 100, b"c"], 1)
    peer.written()
    events = peer.connect(present=True, told={"maximum_packet_size": 50})
    assert events[1:] == [Acknowledged(range(1, 2), Reason.PACKET_TOO_LARGE, {})]
    assert [packet.payload for packet in peer.written()] == [b"a", b"c"]


def test_a_session_that_we_did_not_want_breaks_the_standard():
    peer = Peer()
    assert failure(peer.connect(clean=True, present=True))[0] == Reason.PROTOCOL_ERROR


def test_a_lost_connection_writes_and_reads_nothing():
    peer = Peer()
    peer.connect()
    peer.session.publish("t", ABC, 1)
    peer.send_bytes(b"\x30\x50")
    peer.session.lost()
    assert (peer.written(), peer.session.room, peer.send(packets.PubAck(1))) == ([], 0, [])
    assert peer.session.tick(1.0) == ([], float("inf"))
    assert isinstance(peer.connect(present=True)[0], Connected)


# What arrives


@pytest.mark.parametrize(("qos", "answer"), [(1, packets.PubAck), (2, packets.PubRec)])
def test_messages_are_acknowledged_at_once_by_default(qos, answer):
    peer = Peer()
    peer.connect()
    (run,) = peer.send(*(packets.Publish("t", payload, qos, packet_id=at) for at, payload in enumerate(ABC, 5)))
    assert (run.topic, run.qos, run.payloads, run.ids) == ("t", qos, ABC, range(5, 8))
    assert peer.written() == [answer(5), answer(6), answer(7)]
    if qos == 2:
        assert peer.session.received == {5, 6, 7}
        assert peer.send(packets.PubRel(5), packets.PubRel(6), packets.PubRel(7)) == []
        assert peer.written() == [packets.PubComp(5), packets.PubComp(6), packets.PubComp(7)]
        assert peer.session.received == set()


def test_messages_that_are_not_alike_are_runs_of_their_own():
    peer = Peer()
    peer.connect()
    sent = [
        packets.Publish("t", b"a", 1, packet_id=1),
        packets.Publish("t", b"bb", 1, packet_id=9),
        packets.Publish("u", b"c", 1, packet_id=3),
        packets.Publish("u", b"d", 1, retain=True, packet_id=4),
        packets.Publish("u", b"e", 1, packet_id=5, properties={"subscription_identifier": [1, 2]}),
        packets.Publish("u", b"f"),
    ]
    runs = peer.send(*sent)
    assert [(run.topic, run.payloads, list(run.ids), run.retain, run.properties) for run in runs] == [
        ("t", [b"a", b"bb"], [1, 9], False, {}),
        ("u", [b"c"], [3], False, {}),
        ("u", [b"d"], [4], True, {}),
        ("u", [b"e"], [5], False, {"subscription_identifier": [1, 2]}),
        ("u", [b"f"], [], False, {}),
    ]
    assert peer.written() == [packets.PubAck(at) for at in (1, 9, 3, 4, 5)]


def test_whoever_acknowledges_by_hand_may_take_part_of_a_run():
    peer = Peer(manual=True)
    peer.connect()
    first, second = peer.send(
        *(packets.Publish("t", payload, 1, packet_id=at) for at, payload in enumerate(ABC, 5)), packets.Publish("u")
    )
    assert peer.written() == []
    peer.session.acknowledge(first, 1)
    assert peer.written() == [packets.PubAck(5)]
    peer.session.acknowledge(first)
    peer.session.acknowledge(first)
    peer.session.acknowledge(second)
    assert peer.written() == [packets.PubAck(6), packets.PubAck(7)]


def test_qos_2_by_hand_is_answered_step_by_step():
    peer = Peer(manual=True)
    peer.connect()
    (run,) = peer.send(packets.Publish("t", b"x", 2, packet_id=5))
    assert (peer.session.received, peer.written()) == ({5}, [])
    peer.session.acknowledge(run)
    assert peer.written() == [packets.PubRec(5)]
    (released,) = peer.send(packets.PubRel(5))
    assert isinstance(released, Released)
    assert (peer.session.received, peer.written()) == (set(), [])
    peer.session.acknowledge(released)
    assert peer.written() == [packets.PubComp(5)]


def test_a_message_of_qos_2_is_given_once_even_if_it_was_not_acknowledged_before_the_connection_broke():
    peer = Peer(manual=True)
    peer.connect()
    (run,) = peer.send(packets.Publish("t", b"x", 2, packet_id=5))
    peer.connect(present=True)
    peer.session.acknowledge(run)  # means nothing on this connection
    assert peer.written() == []
    (repeated,) = peer.send(packets.Publish("t", b"x", 2, dup=True, packet_id=5))
    assert isinstance(repeated, Repeated)
    assert peer.written() == []
    peer.session.acknowledge(repeated)
    assert peer.written() == [packets.PubRec(5)]


def test_a_message_of_qos_1_is_given_again_if_it_was_not_acknowledged():
    peer = Peer(manual=True)
    peer.connect()
    (run,) = peer.send(packets.Publish("t", b"x", 1, packet_id=5))
    peer.connect(present=True)
    peer.session.acknowledge(run)
    (again,) = peer.send(packets.Publish("t", b"x", 1, dup=True, packet_id=6))
    assert isinstance(again, Messages)
    assert again.dup
    peer.session.acknowledge(again)
    assert peer.written() == [packets.PubAck(6)]


def test_identifiers_mean_something_else_in_a_new_session():
    peer = Peer()
    peer.connect()
    peer.send(packets.Publish("t", b"x", 2, packet_id=5))
    peer.connect()
    (run,) = peer.send(packets.Publish("t", b"y", 2, packet_id=5))
    assert run.payloads == [b"y"]


def test_identifiers_may_come_from_an_earlier_process():
    peer = Peer(manual=True, received={5})
    peer.connect(present=True)
    events = peer.send(*(packets.Publish("t", b"x", 2, dup=True, packet_id=at) for at in (4, 5, 6)))
    assert [(type(event), list(event.ids)) for event in events] == [(Messages, [4]), (Repeated, [5]), (Messages, [6])]


def test_an_identifier_twice_in_one_run_is_one_message():
    peer = Peer(manual=True)
    peer.connect()
    events = peer.send(*(packets.Publish("t", b"x", 2, packet_id=at) for at in (4, 4, 4)))
    assert [(type(event), list(event.ids)) for event in events] == [(Messages, [4]), (Repeated, [4]), (Repeated, [4])]


def test_a_release_of_something_unknown_is_completed():
    peer = Peer()
    peer.connect(present=True)
    peer.send(packets.PubRel(9))
    assert peer.written() == [packets.PubComp(9)]


def test_more_than_we_allow_unacknowledged_breaks_the_standard():
    peer = Peer(manual=True)
    peer.connect(receive_maximum=2)
    peer.send(*(packets.Publish("t", b"x", 1, packet_id=at) for at in (1, 2)))
    events = peer.send(packets.Publish("t", b"x", 1, packet_id=3))
    assert events[-1][0] == Reason.RECEIVE_MAXIMUM_EXCEEDED


def test_acknowledged_messages_make_room_for_others():
    peer = Peer()
    peer.connect(receive_maximum=2)
    for first in range(1, 20, 2):
        (run,) = peer.send(*(packets.Publish("t", b"x", 1, packet_id=at) for at in (first, first + 1)))
        assert len(run.payloads) == 2


# Authentication


def test_an_exchange_of_auth_before_and_after_connack():
    peer = Peer()
    peer.open(authentication_method="m", authentication_data=b"1")
    told = {"authentication_method": "m", "authentication_data": b"2"}
    assert peer.send(packets.Auth(0x18, told)) == [packets.Auth(0x18, told)]
    peer.session.authenticate(b"3")
    assert peer.written() == [packets.Auth(0x18, {"authentication_method": "m", "authentication_data": b"3"})]
    assert isinstance(peer.send(packets.ConnAck(properties={"authentication_method": "m"}))[0], Connected)
    peer.session.authenticate(b"4", again=True)
    assert peer.written() == [packets.Auth(0x19, {"authentication_method": "m", "authentication_data": b"4"})]
    assert peer.send(packets.Auth(0, {"authentication_method": "m"})) == [
        packets.Auth(0, {"authentication_method": "m"})
    ]


def test_the_method_cannot_change():
    peer = Peer()
    peer.open(authentication_method="m")
    assert failure(peer.send(packets.Auth(0x18, {"authentication_method": "other"})))[0] == Reason.PROTOCOL_ERROR


def test_there_is_nothing_to_authenticate_without_a_method():
    peer = Peer()
    peer.connect()
    with pytest.raises(Problem, match="nothing to authenticate"):
        peer.session.authenticate(b"x")
