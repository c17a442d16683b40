"""What the broker counts."""

from hypothesis import given
from hypothesis import strategies as st

from heliograph.broker.core.statistics import Statistics


def test_everything_begins_at_nothing():
    stats = Statistics()
    assert {getattr(stats, name) for name in Statistics.__slots__} == {0}
    assert stats.dropped == 0


@given(st.lists(st.booleans(), max_size=50))
def test_the_high_water_mark_is_the_most_that_were_connected_at_once(comings):
    stats, most, now = Statistics(), 0, 0
    for comes in comings:
        if comes:
            stats.admitted()
            now += 1
        elif now:
            stats.connected -= 1
            now -= 1
        most = max(most, now)
    assert (stats.connected, stats.connected_high_water, stats.connections) == (now, most, sum(comings))


def test_what_was_dropped_is_all_that_a_receiver_did_not_get_but_what_expired():
    stats = Statistics()
    stats.rejected, stats.discarded, stats.too_large, stats.expired, stats.publishes_refused = 1, 20, 300, 4000, 50_000
    assert stats.dropped == 321
