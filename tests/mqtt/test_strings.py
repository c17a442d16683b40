"""Strings, topic names, topic filters and shared subscriptions."""

import time

import pytest
from hypothesis import given, settings

from heliograph.mqtt import (
    MalformedPacket,
    ProtocolError,
    Reason,
    check_topic_filter,
    check_topic_name,
    check_topic_of_client,
    decode_utf8,
    split_share,
    topic_matches,
)
from mqtt.strategies import filters, plain_filters, text, topics

LONGEST = "é" * 32_767 + "x"


@given(text)
def test_well_formed_text_is_read(value):
    assert decode_utf8(value.encode()) == value


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b"\xff", id="no such byte"),
        pytest.param(b"\xc3", id="cut short"),
        pytest.param(b"\xc0\xaf", id="overlong"),
        pytest.param(b"\xed\xa0\x80", id="surrogate"),
        pytest.param(b"\xf4\x90\x80\x80", id="beyond U+10FFFF"),
        pytest.param(b"a\x00b", id="U+0000"),
    ],
)
def test_ill_formed_text_is_malformed(raw):
    with pytest.raises(MalformedPacket):
        decode_utf8(raw)


def test_a_byte_order_mark_is_kept():
    assert decode_utf8(b"\xef\xbb\xbfx") == "\ufeffx"


@given(topics)
def test_topic_names_are_accepted(topic):
    check_topic_name(topic)


@pytest.mark.parametrize("topic", ["/", "a/b", "//", "$SYS/x", " ", LONGEST])
def test_odd_topic_names_are_accepted(topic):
    check_topic_name(topic)


@pytest.mark.parametrize("topic", ["", "a/+", "+", "#", "a/b#", "a\0b", LONGEST + "x"])
def test_bad_topic_names_are_refused(topic):
    with pytest.raises(ProtocolError) as caught:
        check_topic_name(topic)
    assert caught.value.reason == Reason.TOPIC_NAME_INVALID


UNPRINTABLE = ["\x01", "\x1f", "\x7f", "\x9f", "\ud800", "\udfff", "\ufdd0", "\ufffe", "\uffff", "\U0010ffff"]


@pytest.mark.parametrize("character", UNPRINTABLE)
@pytest.mark.parametrize("check", [check_topic_of_client, check_topic_filter])
def test_control_characters_and_noncharacters_make_a_topic_malformed(check, character):
    with pytest.raises(MalformedPacket):
        check(f"a/b{character}")


@pytest.mark.parametrize("character", [" ", "~", "\xa0", "\ufdcf", "\ufdf0", "\ufffd", "\U00010000"])
@pytest.mark.parametrize("check", [check_topic_of_client, check_topic_filter])
def test_the_characters_beside_them_are_accepted(check, character):
    check(f"a/b{character}")


@pytest.mark.parametrize("character", UNPRINTABLE[:4])
def test_what_another_server_has_let_through_is_accepted(character):
    check_topic_name(f"a/b{character}")
    check_topic_name("$share")


def test_share_is_no_topic_of_a_client():
    with pytest.raises(MalformedPacket):
        check_topic_of_client("$share")


def test_a_topic_may_begin_in_the_same_way():
    check_topic_of_client("$shared")


@given(filters)
def test_topic_filters_are_accepted(topic_filter):
    check_topic_filter(topic_filter)


@pytest.mark.parametrize("topic_filter", ["#", "+", "/", "/+", "+/#", "a//#", "$SYS/#", "$shares/a"])
def test_odd_topic_filters_are_accepted(topic_filter):
    check_topic_filter(topic_filter)


@pytest.mark.parametrize(
    "topic_filter", ["", "a#", "a/#/b", "#/a", "a+", "+a", "a/b+/c", "##", "++", "a\0", "$share", LONGEST + "x"]
)
def test_bad_topic_filters_are_refused(topic_filter):
    _assert_refused(topic_filter)


@pytest.mark.parametrize("prefix", ["$share", "$SharedSubscription"])
@pytest.mark.parametrize("rest", ["", "g", "g/", "/a", "+/a", "g#/a", "g/a#", "g/#/a"])
def test_bad_shared_subscriptions_are_refused(prefix, rest):
    _assert_refused(f"{prefix}/{rest}")


@pytest.mark.parametrize("prefix", ["$share", "$SharedSubscription"])
def test_a_shared_subscription_is_split_into_group_and_filter(prefix):
    assert split_share(f"{prefix}/group/a/+/#") == ("group", "a/+/#")


def test_the_filter_of_a_shared_subscription_may_start_with_a_slash():
    assert split_share("$share/group//a") == ("group", "/a")


@settings(deadline=None)
@given(plain_filters)
def test_an_ordinary_filter_has_no_group(topic_filter):
    assert split_share(topic_filter) == (None, topic_filter)


def _assert_refused(topic_filter):
    with pytest.raises(ProtocolError) as caught:
        check_topic_filter(topic_filter)
    assert caught.value.reason == Reason.TOPIC_FILTER_INVALID


def test_the_longest_names_are_checked_in_no_time():
    """A single one must not hold up a server."""
    names = ["x" * 65_535, LONGEST]
    start = time.thread_time()
    for _ in range(20):
        for name in names:
            check_topic_of_client(name)
    assert time.thread_time() - start < 0.08


# Filters match topics as in the examples of the standard.


@pytest.mark.parametrize(
    ("topic_filter", "topic"),
    [
        ("sport/tennis/player1/#", "sport/tennis/player1"),
        ("sport/tennis/player1/#", "sport/tennis/player1/ranking"),
        ("sport/tennis/player1/#", "sport/tennis/player1/score/wimbledon"),
        ("#", "a/b/c"),
        ("sport/tennis/+", "sport/tennis/player1"),
        ("sport/+", "sport/"),
        ("+/+", "/finance"),
        ("/+", "/finance"),
        ("a/b", "a/b"),
        ("$SYS/#", "$SYS/uptime"),
        ("$SYS/+", "$SYS/uptime"),
    ],
)
def test_a_filter_matches(topic_filter, topic):
    assert topic_matches(topic_filter, topic)


@pytest.mark.parametrize(
    ("topic_filter", "topic"),
    [
        ("sport/tennis/+", "sport/tennis/player1/ranking"),
        ("sport/+", "sport"),
        ("+", "/finance"),
        ("a/b", "a/b/c"),
        ("a/b/c", "a/b"),
        ("a/b/#", "a"),
        ("a/b", "a/B"),
        ("#", "$SYS/uptime"),
        ("+/uptime", "$SYS/uptime"),
    ],
)
def test_a_filter_does_not_match(topic_filter, topic):
    assert not topic_matches(topic_filter, topic)
