"""Messages from queue to queue: units of work, order, and what happens to those that fail."""

import json

import pytest

from heliograph.client import Message, Queue

PASS = "in: {type: QueueInput, queue: IN}\nout: {type: QueueOutput, queue: OUT}"
THROWER = """
def process(message):
    if b'bad' in message.body.bytes():
        raise ValueError('this one is bad')
    return message
"""


def test_messages_go_from_queue_to_queue_in_order(flow, desk):
    desk.put("IN", *map(str, range(300)))
    with flow(PASS, "in.out -> out") as running:
        assert desk.bodies("OUT", 300) == list(map(str, range(300)))
    assert (running.statistics.messages, running.statistics.done, running.statistics.sent) == (300, 300, 300)
    assert desk.rest("IN") == []


@pytest.mark.parametrize("transaction", ["yes", "no", "automatic"])
@pytest.mark.parametrize("persistent", [True, False])
def test_a_message_is_passed_on_whatever_the_transaction_mode(flow, desk, transaction, persistent):
    nodes = PASS.replace("queue: IN}", f"queue: IN, transaction: {transaction}}}")
    desk.put("IN", "x", persistent=persistent)
    with flow(nodes, "in.out -> out"):
        (message,) = desk.get("OUT")
    assert (message.body, message.persistent) == ("x", persistent)


def test_what_is_on_a_message_stays_on_it(flow, desk):
    letter = Message(b"\x00\xff", properties={"size": 3}, correlation_id="c-1", reply_to=Queue("REPLIES"))
    desk.put("IN", letter, priority=7, ttl=1000)
    with flow(PASS, "in.out -> out"):
        (message,) = desk.get("OUT")
    assert (message.body, message.properties, message.priority) == (b"\x00\xff", {"size": 3}, 7)
    assert (message.correlation_id, message.message_id) == ("c-1", letter.message_id)
    assert (message.reply_to, message.destination) == (Queue("REPLIES"), Queue("OUT"))
    assert message.expiration is not None


def test_a_reply_finds_the_one_who_asked(flow, desk):
    with flow("in: {type: QueueInput, queue: IN}\nback: {type: QueueReply}", "in.out -> back"):
        assert desk.session.request("IN", "how much?", 20).body == "how much?"
