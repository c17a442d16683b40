"""Which topics a filter stands for, with the examples of the standard's chapter on wildcards."""

import pytest

from heliograph.mqtt import topic_matches


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
