"""Packets of messages as the client of each subscription wants them."""

import pytest

from broker.clients import decode_all
from heliograph.broker.core.memory import Budget
from heliograph.broker.core.outlet import Outlet
from heliograph.broker.core.span import Span, message
from heliograph.broker.core.statistics import Statistics
from heliograph.broker.delivery.sending import count_sent, packets_for, too_large
from heliograph.broker.sessions.session import Session, Subscription


def now():
    return 1000.0


def subscription(*, version5=True, max_packet=0, aliases=0, identifier=None, retain_as_published=False):
    session = Session("c", [], Budget().account("client", "c"))
    made = Subscription(session, "a/#")
    made.set_options(2, False, retain_as_published, identifier)
    outlet = made.outlet = Outlet()
    outlet.version5, outlet.max_packet, outlet.alias_maximum = version5, max_packet, aliases
    return made


def run(count=3, topic=b"a/b"):
    """Messages that came together; their payloads are their numbers."""
    return Span(topic, b"".join(b"%d" % n for n in range(count)), count, head=0, qos=2, id_at=0, version5=False,
                verbatim=False)  # fmt: skip


def sent(to, span, lo, hi, qos=1, first_id=5, rendered=None):
    found = packets_for(now, to, span, lo, hi, qos, first_id, {} if rendered is None else rendered)
    return decode_all(found, 5 if to.outlet.version5 else 4)


@pytest.mark.parametrize("version5", [False, True])
def test_the_messages_asked_for_with_their_identifiers(version5):
    packets = sent(subscription(version5=version5), run(), 1, 3)
    assert [(p.topic, p.payload, p.qos, p.packet_id) for p in packets] == [("a/b", b"1", 1, 5), ("a/b", b"2", 1, 6)]


@pytest.mark.parametrize(
    ("retain", "is_retained", "as_published", "flag"),
    [
        (True, False, False, False),
        (True, False, True, True),
        (False, False, True, False),
        (False, True, False, True),
    ],
)
def test_the_retain_flag(retain, is_retained, as_published, flag):
    span = message(b"a", b"x", qos=1, retain=retain, is_retained=is_retained)
    (packet,) = sent(subscription(retain_as_published=as_published), span, 0, 1)
    assert packet.retain is flag


def test_those_who_want_the_same_share_what_was_made():
    rendered, span = {}, run()
    one, two, other = subscription(), subscription(), subscription(identifier=7)
    first = packets_for(now, one, span, 0, 3, 1, 5, rendered)
    assert packets_for(now, two, span, 0, 3, 1, 5, rendered) is first
    assert packets_for(now, two, span, 0, 3, 1, 6, rendered) != first
    assert packets_for(now, other, span, 0, 3, 1, 5, rendered) != first
    assert sent(other, span, 0, 1)[0].properties == {"subscription_identifier": [7]}


def test_what_the_client_does_not_take_is_too_large():
    span = message(b"a", b"x" * 50, qos=1)
    size = len(packets_for(now, subscription(), span, 0, 1, 1, 1, {}))
    assert not too_large(now, subscription(), span, 1)
    assert not too_large(now, subscription(max_packet=size), span, 1)
    assert too_large(now, subscription(max_packet=size - 1), span, 1)
    assert too_large(now, subscription(max_packet=size, identifier=7), span, 1)
    assert too_large(now, subscription(max_packet=size), span, 1, b"abc")


def test_the_name_goes_along_once_then_a_number_stands_for_it():
    to = subscription(aliases=2)
    first = sent(to, run(), 0, 3)
    assert [(p.topic, p.properties["topic_alias"], p.payload) for p in first] == [
        ("a/b", 1, b"0"), ("", 1, b"1"), ("", 1, b"2"),
    ]  # fmt: skip
    assert [p.packet_id for p in first] == [5, 6, 7]
    (again,) = sent(to, run(), 2, 3)
    assert (again.topic, again.properties["topic_alias"]) == ("", 1)
    (other,) = sent(to, run(1, b"c"), 0, 1)
    assert (other.topic, other.properties["topic_alias"]) == ("c", 2)


def test_with_no_alias_left_the_name_goes_along_each_time():
    to = subscription(aliases=1)
    sent(to, run(1, b"first"), 0, 1)
    assert [(p.topic, "topic_alias" in p.properties) for p in sent(to, run(2), 0, 2)] == [("a/b", False)] * 2


def test_with_no_memory_for_an_alias_there_is_none():
    to = subscription(aliases=5)
    budget = Budget(1000)
    to.outlet.account = budget.account("client", "c")
    to.outlet.account.add(1000)
    (packet,) = sent(to, run(1), 0, 1)
    assert packet.properties == {}
    assert to.outlet.aliases == {}


def test_where_an_alias_would_not_fit_the_name_goes_alone():
    span = run(1)
    size = len(packets_for(now, subscription(), span, 0, 1, 1, 5, {}))
    (packet,) = sent(subscription(aliases=5, max_packet=size), span, 0, 1)
    assert (packet.topic, packet.properties) == ("a/b", {})


def test_what_was_sent_is_counted_for_all_and_for_the_subscription():
    stats, to = Statistics(), subscription()
    count_sent(stats, to, 3)
    count_sent(stats, to, 4)
    assert (stats.messages_sent, to.sent) == (7, 7)
