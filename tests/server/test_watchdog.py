"""The watchdog: turns that took long, and who made them so."""

import logging
import time

import pytest

from heliograph.server.watchdog import SLOW, Watchdog

LOGGER = "heliograph.server.watchdog"


def marked(watchdog: Watchdog, *names: str) -> None:
    for name in names:
        watchdog.mark(lambda name=name: {"what": name})


def test_the_longest_turns_are_known() -> None:
    watchdog = Watchdog()
    watchdog.look(1.0, 1.02, 0.01)
    watchdog.look(2.0, 2.05, 0.002)
    watchdog.look(3.0, 3.01, 0.009)
    assert watchdog.longest == pytest.approx(0.05)
    assert watchdog.longest_cpu == pytest.approx(0.01)
    assert watchdog.slow_turns == 0


def test_a_scrape_begins_anew() -> None:
    watchdog = Watchdog()
    watchdog.look(1.0, 1.02, 0.01)
    assert watchdog.scrape() == pytest.approx(0.02)
    assert watchdog.scrape() == 0
    assert watchdog.longest == pytest.approx(0.02)


def test_a_slow_turn_is_logged_with_whoever_took_most_of_it(caplog: pytest.LogCaptureFixture) -> None:
    watchdog = Watchdog()
    began = time.monotonic()
    marked(watchdog, "short")
    time.sleep(0.002)
    marked(watchdog, "culprit")
    time.sleep(SLOW)
    marked(watchdog, "short, too")
    with caplog.at_level(logging.WARNING, LOGGER):
        watchdog.look(began, time.monotonic(), SLOW)
    (record,) = caplog.records
    assert record.getMessage() == "slow turn of the event loop: all clients waited"
    assert vars(record)["what"] == "culprit"


def test_slow_turns_one_after_the_other_are_counted_and_not_all_logged(caplog: pytest.LogCaptureFixture) -> None:
    watchdog = Watchdog()
    with caplog.at_level(logging.WARNING, LOGGER):
        for number in range(5):
            watchdog.look(100.0 + number, 100.0 + number + SLOW + 0.05, SLOW)
        watchdog.look(200.0, 200.0 + SLOW + 0.05, SLOW)
    assert watchdog.slow_turns == 6
    assert len(caplog.records) == 2
    assert vars(caplog.records[1])["others_not_logged"] == 4


def test_clients_that_were_read_from_are_culprits_too() -> None:
    watchdog = Watchdog()
    watchdog.readings = lambda: iter([(5.0, lambda: {"client": "a"}), (5.001, lambda: {"client": "b"})])
    watchdog.look(4.999, 5.2, 0.2)
    assert watchdog.longest_cpu_by == {"client": "b"}


def test_marks_do_not_pile_up() -> None:
    watchdog = Watchdog()
    for _ in range(1000):
        marked(watchdog, "again")
    assert len(watchdog.marks) <= 64
