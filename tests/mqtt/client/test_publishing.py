"""PUBLISH packets for a run of messages: in each form, what is written is what a server reads."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.errors import InvalidInput
from heliograph.mqtt import Publish
from heliograph.mqtt.client.publishing import LARGEST, PUBLISH, Publishing
from heliograph.mqtt.errors import ServerLimit
from mqtt.client.peer import packets_of

QOS_1 = PUBLISH | 2


@given(
    payloads=st.lists(st.binary(max_size=300), min_size=1, max_size=12),
    qos=st.integers(0, 2),
    version=st.sampled_from([3, 4, 5]),
    properties=st.sampled_from([{}, {"content_type": "x"}]),
)
def test_a_run_is_one_packet_for_each_message(payloads, qos, version, properties):
    first, told = 7 if qos else 0, properties if version == 5 else {}
    data = b"".join(Publishing(version, LARGEST, 0).write(PUBLISH | qos << 1, "a/b", payloads, properties, first))
    assert packets_of(data, version) == [
        Publish("a/b", payload, qos, packet_id=first + n if qos else 0, properties=told)
        for n, payload in enumerate(payloads)
    ]


def test_a_topic_is_named_once_and_then_known_by_its_alias():
    publishing = Publishing(5, LARGEST, 1)
    data = b"".join(publishing.write(QOS_1, "plant/a", [b"1", b"2"], {}, 1))
    data += b"".join(publishing.write(QOS_1, "plant/a", [b"3"], {}, 3))
    assert [(packet.topic, packet.payload, packet.packet_id) for packet in packets_of(data, 5)] == [
        ("plant/a", b"1", 1),
        ("", b"2", 2),
        ("", b"3", 3),
    ]


def test_topics_beyond_the_server_s_aliases_and_short_ones_have_none():
    publishing = Publishing(5, LARGEST, 1)
    topics = ["abc", "plant/a", "plant/b"]
    data = b"".join(b"".join(publishing.write(PUBLISH, topic, [b"x"], {}, 0)) for topic in topics)
    assert [packet.properties.get("topic_alias") for packet in packets_of(data, 5)] == [None, 1, None]


@pytest.mark.parametrize("version", [4, 5])
def test_what_is_sent_again_is_marked_and_has_its_topic(version):
    data = Publishing(version, LARGEST, 9).write_again(QOS_1, "t", [b"1", b"2"], {"topic_alias": 3}, 5)
    assert packets_of(data, version) == [
        Publish("t", b"1", 1, dup=True, packet_id=5),
        Publish("t", b"2", 1, dup=True, packet_id=6),
    ]


@pytest.mark.parametrize(("version", "size"), [(4, 17), (5, 18)])
def test_packets_as_large_as_the_server_takes_pass_the_check(version, size):
    """Header 2, topic 2 + 3, identifier 2, payload 8; and the properties' length in MQTT 5."""
    Publishing(version, size, 0).check("a/b", [b"12345678", b""], 1, {})
    with pytest.raises(ServerLimit, match=f"takes packets of {size - 1} bytes"):
        Publishing(version, size - 1, 0).check("a/b", [b"12345678", b""], 1, {})


def test_an_alias_of_the_caller_does_not_go_with_those_of_the_session():
    with pytest.raises(InvalidInput, match="topic alias"):
        Publishing(5, LARGEST, 4).check("t", [b""], 0, {"topic_alias": 1})
