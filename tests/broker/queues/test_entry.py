"""One message in one queue: what it costs, and what its receiver is sent."""

import pytest

from broker.queue_scenes import message
from heliograph.amqp.messages.message import decode_message
from heliograph.broker.queues.entry import ENTRY_COST, NOT_PERSISTENT, NOT_STORED, PENDING, Entry, cost_of
from heliograph.broker.queues.message_view import MessageView


def entry(text="x", *, expires=0, offset=NOT_PERSISTENT, **fields):
    payload = message(text, **fields)
    return Entry(payload, len(payload), 4, expires, 0, 0, offset)


def test_a_new_one_is_in_no_place_and_nobody_sees_it():
    one = entry()
    assert (one.state, one.place, one.deliveries, one.barred) == (PENDING, -1, 0, None)


def test_it_is_sent_as_it_came_if_there_is_nothing_to_tell():
    one = entry(subject="s")
    assert one.outgoing(1000) is one.payload


def test_failed_deliveries_are_told():
    one = entry(durable=True, priority=7, subject="s")
    one.deliveries = 3
    sent = decode_message(one.outgoing(1000))
    assert (sent.delivery_count, sent.durable, sent.priority, sent.subject) == (3, True, 7, "s")


@pytest.mark.parametrize(
    ("expires", "now", "ttl"), [(5000, 1000, 4000), (1000, 1000, 1), (1000, 5000, 1), (2**50, 0, 2**32 - 1)]
)
def test_time_left_is_told_and_is_never_nothing(expires, now, ttl):
    assert decode_message(entry(expires=expires, ttl=9).outgoing(now)).ttl == ttl


@pytest.mark.parametrize("offset", [NOT_STORED, 0, 17])
def test_payloads_of_persistent_messages_do_not_count(offset):
    stored, other = entry("x" * 1000, offset=offset), entry("x" * 1000)
    assert cost_of([stored]) == ENTRY_COST
    assert cost_of([other]) == ENTRY_COST + other.size
    assert cost_of([stored, other]) == cost_of([stored]) + cost_of([other])
    assert cost_of([]) == 0


def test_selectors_see_how_often_it_has_failed():
    one = entry(subject="s")
    one.deliveries = 2
    assert one.message.fields[3] == "s"
    assert one.message.delivery_count == 2
    assert one.message is one.message
    one.parsed = None
    assert isinstance(one.message, MessageView)
