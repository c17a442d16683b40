"""Batches of packets are byte for byte what the plain codec makes, and are read back the same."""

from math import lcm

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.lab.load import Group, Payload, payloads
from heliograph.lab.load.mqtt.received_runs import form_of, run_of
from heliograph.lab.load.mqtt.template import MqttTemplate
from heliograph.lab.load.naming import expand, topics_of
from heliograph.lab.load.payloads import tails_of
from heliograph.mqtt import Properties, Publish, encode

VERSIONS = {"mqtt31": 3, "mqtt311": 4, "mqtt5": 5}

groups = st.builds(
    Group,
    name=st.just("senders"),
    role=st.sampled_from(["publish", "request"]),
    clients=st.sampled_from([1, 11, 2000]),
    protocol=st.sampled_from(sorted(VERSIONS)),
    destination=st.sampled_from(["t", "plant/{partition}/device-{client}/value-{topic}", "x/{topic}" + "y" * 120]),
    destinations=st.sampled_from([1, 10]),
    topics=st.sampled_from([1, 3, 12]),
    qos=st.sampled_from([0, 1, 2]),
    retain=st.booleans(),
    reply=st.just("reply/{client}"),
    payload=st.builds(Payload, sizes=st.sampled_from([(32,), (33,), (200,), (40, 40), (32, 64, 500)])),
    properties=st.sampled_from([0, 1, 20]),
)


def plainly(group: Group, client: int, number: int, due: int, now: int, packet_id: int) -> bytes:
    """Message `number` of a client, as the codec writes it."""
    tails = tails_of(group.payload, 1)
    topic = number % group.topics
    sender = client * group.topics + topic
    mark = payloads.HEADER.pack(payloads.MAGIC, 5, sender, number // group.topics, due, now)
    properties = Properties()
    if group.role == "request":
        properties["response_topic"] = expand(group.reply, group, client)
    if group.properties:
        properties["user_property"] = [(f"name-{n:02}", f"value-{n:02}") for n in range(group.properties)]
    payload = mark + tails[number % len(tails)]
    packet = Publish(topics_of(group, client)[topic], payload, group.qos, group.retain, False, packet_id, properties)
    return encode(packet, VERSIONS[group.protocol])


@settings(max_examples=50, deadline=None)
@given(groups, st.integers(0, 10**6), st.sampled_from([1, 2, 5, 6, 7, 40]), st.data())
def test_a_batch_is_what_the_codec_makes(group: Group, count: int, size: int, data: st.DataObject) -> None:
    client = data.draw(st.integers(0, group.clients - 1))
    version, now = VERSIONS[group.protocol], 2**50
    template = MqttTemplate(group, 5, version, 1)
    due = np.arange(size) * 1000 + 2**49
    ids = (np.arange(size) + 65_000) % 65_535 + 1 if group.qos else None
    # A batch of somebody else has left its traces.
    template.make(template.forms(0), 0, 7, due, now - 1, ids)
    made = bytes(template.make(template.forms(client), client, count, due, now, ids))
    packets = [
        plainly(group, client, count + place, int(due[place]), now, 0 if ids is None else int(ids[place]))
        for place in range(size)
    ]
    assert made == b"".join(packets)
    assert template.cycle == lcm(group.topics, len(group.payload.sizes))
    read_back(made, group, client, count, due, version)


def read_back(data: bytes, group: Group, client: int, count: int, due: np.ndarray, version: int) -> None:
    at, number = 0, count
    while at < len(data):
        form = form_of(memoryview(data), at, version)
        assert form is not None
        rows = run_of(memoryview(data), at, form)
        if rows is None:
            values = [payloads.HEADER.unpack_from(data, at + form.payload_at)[2:5]]
            at += form.stride
        else:
            values = [(row["sender"], row["sequence"], row["due"]) for row in rows]
            at += form.stride * len(rows)
        for sender, sequence, due_ns in values:
            assert sender == client * group.topics + number % group.topics
            assert (sequence, due_ns) == (number // group.topics, due[number - count])
            number += 1
    assert number == count + len(due)
