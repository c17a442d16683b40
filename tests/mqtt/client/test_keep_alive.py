"""When a ping is due, and when its answer is late."""

from math import inf

from heliograph.mqtt.client.keep_alive import KeepAlive


def test_a_ping_is_due_an_interval_after_the_later_of_nothing_sent_and_nothing_heard():
    times = KeepAlive(10, 100.0)
    assert (times.due, times.silent) == (110.0, inf)
    times.sent(105.0)
    assert times.due == 110.0  # nothing was heard since 100
    times.heard(107.0)
    assert times.due == 115.0


def test_the_answer_is_late_an_interval_after_the_ping():
    times = KeepAlive(10, 100.0)
    times.asked(110.0)
    assert (times.due, times.silent) == (120.0, 120.0)
    times.sent(112.0)  # what is sent meanwhile is no answer
    assert (times.due, times.silent) == (122.0, 120.0)
    times.heard(115.0)
    assert (times.due, times.silent) == (122.0, inf)


def test_an_interval_of_0_asks_nothing():
    times = KeepAlive(0, 100.0)
    times.asked(100.0)
    assert (times.due, times.silent) == (inf, inf)
