"""Subscriptions with a flow: which publications come to a queue, and that the flow remembers who wants what."""

import pytest

from heliograph.client import Message
from heliograph.lab.flows.messages import with_folders

NODES = "in: {type: QueueInput, queue: IN, domain: XML}\npublish: {type: Publication}"
WIRES = "in.out -> publish"


def command(name: str, body: bytes = b"", **values: str) -> Message:
    """A message with a folder of publish/subscribe."""
    envelope = with_folders({"psc": {"Command": name, "Topic": "prices", **values}}, body)
    return Message(envelope.body, properties={"JMS_IBM_Format": envelope.format})


def price(amount: int) -> Message:
    return command("Publish", b"<Price><Amount>%d</Amount></Price>" % amount)


def amounts(messages: list[Message]) -> list[int]:
    return sorted(int(message.body.partition(b"<Amount>")[2].partition(b"<")[0]) for message in messages)


EXPENSIVE = {"QName": "OUT", "Filter": "Body.Price.Amount > 100"}


def test_a_subscriber_gets_what_its_filter_lets_through(flow, desk):
    desk.put("IN", command("RegSub", **EXPENSIVE), price(50), price(150), price(100), price(200))
    with flow(NODES, WIRES):
        assert amounts(desk.get("OUT", 2)) == [150, 200]
    assert desk.rest("OUT") == []


def test_a_subscriber_who_goes_gets_nothing_more(flow, desk):
    subscriber = command("RegSub", QName="OTHER")
    goes = command("DeregSub", **EXPENSIVE)
    desk.put("IN", subscriber, command("RegSub", **EXPENSIVE), price(150), goes, price(200))
    with flow(NODES, WIRES):
        assert amounts(desk.get("OTHER", 2)) == [150, 200]
    assert amounts(desk.get("OUT")) == [150]
    assert desk.rest("OUT") == []


@pytest.mark.parametrize("groups", [1, 2])
def test_a_subscription_outlives_the_flow_and_holds_for_all_its_processes(flow, flow_process, url, desk, groups):
    desk.put("IN", command("RegSub", **EXPENSIVE), price(101))
    with flow(NODES, WIRES):
        assert amounts(desk.get("OUT")) == [101]
    flow_process(url, NODES, WIRES, f"execution_groups: {groups}").wait_until_ready()
    desk.put("IN", *[price(amount) for amount in range(90, 110)])
    assert amounts(desk.get("OUT", 9)) == list(range(101, 110))
