"""Spans written for every kind of receiver, against the codec writing one message after the other."""

from hypothesis import given, settings
from hypothesis import strategies as st

from broker.clients import decode_all
from heliograph.broker.core.span import Span, carried_properties, message
from heliograph.mqtt import Publish, encode

NOW = 1000.0
texts = st.text("abé", max_size=5)
properties = st.fixed_dictionaries(
    {},
    optional={
        "payload_format_indicator": st.integers(0, 1),
        "content_type": texts,
        "response_topic": st.just("r/s"),
        "correlation_data": st.binary(max_size=5),
        "user_property": st.lists(st.tuples(texts, texts), min_size=1, max_size=3),
        "message_expiry_interval": st.integers(1, 300),
    },
)


@st.composite
def spans(draw):
    """A span as it comes in, and its messages as the publisher sent them."""
    version = draw(st.sampled_from([4, 5]))
    qos = draw(st.integers(0, 2))
    topic = draw(st.sampled_from(["a", "a/b", "é/" + "x" * 120]))
    size = draw(st.sampled_from([0, 1, 2, 100, 130]))
    carried = draw(properties) if version == 5 else {}
    retain = draw(st.booleans())
    count = 1 if retain else draw(st.integers(1, 5))
    sent = [
        Publish(topic, draw(st.binary(min_size=size, max_size=size)), qos, retain, False, 7 + i if qos else 0, carried)
        for i in range(count)
    ]
    packets = [encode(one, version) for one in sent]
    expiry = carried.get("message_expiry_interval")
    span = Span(
        topic.encode(),
        b"".join(packets),
        count,
        head=len(packets[0]) - size,
        qos=qos,
        id_at=packets[0].index(topic.encode()) + len(topic.encode()) if qos else 0,
        version5=version == 5,
        retain=retain,
        verbatim=not retain,
        properties=carried_properties(carried),
        expires=NOW + expiry if expiry else 0.0,
    )
    return span, sent


def expected(sent, version, qos, retain, dup, first_id, waited, own, alias_only):
    carried = dict(sent.properties)
    if "message_expiry_interval" in carried:
        carried["message_expiry_interval"] = max(1, carried["message_expiry_interval"] - waited)
    carried |= own
    topic = "" if alias_only else sent.topic
    return Publish(topic, sent.payload, qos, retain, dup, first_id, carried if version == 5 else {})


@settings(max_examples=400)
@given(spans(), st.data())
def test_a_span_is_written_as_the_codec_writes_its_messages(case, data):
    span, sent = case
    version = data.draw(st.sampled_from([4, 5]))
    qos = data.draw(st.integers(0, span.qos))
    retain = data.draw(st.booleans())
    dup = bool(qos) and data.draw(st.booleans())
    first_id = data.draw(st.sampled_from([1, 255, 65_531])) if qos else 0
    waited = data.draw(st.integers(0, 400))
    lo = data.draw(st.integers(0, span.count - 1))
    hi = data.draw(st.integers(lo + 1, span.count))
    own = {}
    alias_only = False
    if version == 5:
        if data.draw(st.booleans()):
            own["subscription_identifier"] = [data.draw(st.sampled_from([1, 200, 268_435_455]))]
        if data.draw(st.booleans()):
            own["topic_alias"] = 3
            alias_only = data.draw(st.booleans())
    written = span.packets(
        lo,
        hi,
        version5=version == 5,
        qos=qos,
        retain=retain,
        now=NOW + waited,
        first_id=first_id,
        dup=dup,
        extra=encode_own(own),
        topic=b"" if alias_only else None,
    )
    wanted = [
        expected(one, version, qos, retain, dup, first_id + index if qos else 0, waited, own, alias_only)
        for index, one in enumerate(sent[lo:hi])
    ]
    assert decode_all(written, version) == wanted
    # Properties of one packet may stand in any order, but there must be no byte more than the codec writes.
    assert len(written) == sum(len(encode(one, version)) for one in wanted)


def encode_own(own):
    extra = b""
    if "subscription_identifier" in own:
        extra += encode(Publish("", properties={"subscription_identifier": own["subscription_identifier"]}), 5)[5:]
    if "topic_alias" in own:
        extra += b"\x23" + own["topic_alias"].to_bytes(2, "big")
    return extra


@given(spans())
def test_the_payloads_of_a_span_are_those_of_its_messages(case):
    span, sent = case
    for lo in range(span.count):
        for hi in range(lo + 1, span.count + 1):
            assert span.payloads(lo, hi) == [one.payload for one in sent[lo:hi]]


@given(st.binary(max_size=5), st.sampled_from([4, 5]), st.integers(0, 2))
def test_a_message_of_the_servers_own_is_written_for_every_receiver(payload, version, qos):
    span = message(b"a", payload, qos=2, properties=b"\x01\x01")
    written = span.packets(0, 1, version5=version == 5, qos=qos, retain=True, now=NOW, first_id=9 if qos else 0)
    carried = {"payload_format_indicator": 1} if version == 5 else {}
    assert decode_all(written, version) == [Publish("a", payload, qos, True, False, 9 if qos else 0, carried)]


def test_a_message_that_waits_less_than_a_second_keeps_its_expiry_interval():
    span = message(b"a", b"", expires=NOW + 10)
    written = span.packets(0, 1, version5=True, qos=0, retain=False, now=NOW + 0.9)
    assert decode_all(written, 5)[0].properties == {"message_expiry_interval": 10}
