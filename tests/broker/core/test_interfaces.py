"""The journal of a broker that keeps none: it is silent about events, and never about a defect."""

import inspect

import pytest

from heliograph.broker.core.interfaces import Journal, NoJournal
from heliograph.broker.core.outlet import Outlet


def test_events_are_not_recorded():
    journal = NoJournal()
    journal.admitted(Outlet(), "client", user=None)
    journal.refused(Outlet(), "NOT_AUTHORIZED", "wrong password", user="me")
    journal.ended("client", "connection lost")
    journal.unreadable("client", "the disk")


def test_what_is_being_handled_is_raised_again():
    journal = NoJournal()
    failure = ZeroDivisionError()
    with pytest.raises(ZeroDivisionError) as caught:
        try:
            raise failure
        except ZeroDivisionError:
            journal.failed("a timer", None)
    assert caught.value is failure


def test_it_takes_all_events_that_a_journal_takes():
    events = {name for name, _ in inspect.getmembers(Journal, inspect.isfunction) if not name.startswith("_")}
    assert events == {"admitted", "refused", "ended", "unreadable", "failed"}
    for name in events:
        assert inspect.signature(getattr(NoJournal, name)) == inspect.signature(getattr(Journal, name))
