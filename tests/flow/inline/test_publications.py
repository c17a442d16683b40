"""Publications: subscribers of the server get them by topic, those of the flow by topic and content."""

import struct

import pytest

from heliograph.client import Message, Topic
from paho_client import PahoClient
from running_flows import text_of

NODES = "in: {type: QueueInput, queue: IN, domain: XMLNSC, topic: prices/tin}\npublish: {type: Publication}"
WIRES = "in.out -> publish"


def command(**psc: str) -> Message:
    """A message for the Publication node itself."""
    folder = "".join(f"<{name}>{value}</{name}>" for name, value in psc.items())
    text = f"<psc>{folder}</psc>".encode()
    text += b" " * (-len(text) % 4)
    head = struct.pack(">4siiii8sii", b"RFH ", 2, 36 + 4 + len(text), 273, 1208, b" " * 8, 0, 1208)
    properties = {"JMS_IBM_Format": "MQHRF2", "JMS_IBM_Encoding": 273}
    return Message(head + struct.pack(">i", len(text)) + text, properties=properties)


def price(amount: int) -> str:
    return f"<Price><Amount>{amount}</Amount></Price>"


def test_everybody_who_subscribes_to_the_topic_gets_it(flow, queue_fixture, server):
    subscriber = queue_fixture.session.consumer(Topic("prices/+"))
    with PahoClient().connect(server.port_of("mqtt")) as mqtt, flow(NODES, WIRES):
        mqtt.subscribe("prices/#")
        queue_fixture.put("IN", price(1))
        assert mqtt.message().payload.decode() == price(1)
        assert text_of(subscriber.receive(20)) == price(1)
        assert queue_fixture.bodies("BOUND") == [price(1)]


def test_a_subscriber_of_the_flow_gets_what_its_filter_lets_through(flow, queue_fixture):
    wanted = {"Topic": "prices/+", "Filter": "Body.Price.Amount &gt; 100", "QName": "OUT"}
    with flow(NODES, WIRES):
        queue_fixture.put(
            "IN", command(Command="RegSub", **wanted), command(Command="RegSub", Topic="prices/tin", QName="OTHER")
        )
        queue_fixture.put("IN", price(250), price(50), price(101))
        assert queue_fixture.bodies("OUT", 2) == [price(250), price(101)]
        assert queue_fixture.bodies("OTHER", 3) == [price(250), price(50), price(101)]
    with flow(NODES, WIRES):  # subscriptions outlive the process
        queue_fixture.put("IN", price(300), command(Command="DeregSub", **wanted), price(400))
        assert queue_fixture.bodies("OTHER", 2) == [price(300), price(400)]
    assert queue_fixture.rest("OUT") == [price(300)]


def test_a_process_hears_of_subscribers_that_another_was_told_of(flow, queue_fixture):
    other = NODES.replace("queue: IN", "queue: HELD")
    with flow(NODES, WIRES, name="one"), flow(other, WIRES, name="two"):
        queue_fixture.put("IN", command(Command="RegSub", Topic="prices/tin", QName="OUT"), price(1))
        assert queue_fixture.bodies("OUT") == [price(1)]
        queue_fixture.put("HELD", price(2))
        assert queue_fixture.bodies("OUT") == [price(2)]


@pytest.mark.parametrize("filter_", ["Body.Price.Amount &gt;", "Body.Price.Amount + 1 THEN"])
def test_a_subscription_that_is_wrong_becomes_a_dead_letter_that_says_why(flow, queue_fixture, filter_):
    with flow(NODES, WIRES):
        queue_fixture.put("IN", command(Command="RegSub", Topic="prices/tin", QName="OUT", Filter=filter_))
        (letter,) = queue_fixture.get("SYSTEM.DEAD.LETTER.QUEUE")
    assert "expected" in letter.annotations["x-opt-dead-letter-reason"]
