"""A defect is counted, told of and blamed on a client; it is not hidden."""

import pytest

from heliograph.broker.core.defects import Defects
from heliograph.broker.core.interfaces import NoJournal
from heliograph.broker.core.outlet import Outlet
from heliograph.broker.core.statistics import Statistics


@pytest.fixture
def defects(failures):
    return Defects(Statistics(), failures)


def test_the_client_to_blame_is_to_be_cut_off(defects, failures):
    outlet = Outlet()
    defects.note("a message", outlet)
    assert defects.culprits == [outlet]
    assert failures.seen == [("a message", outlet)]


def test_without_a_client_nobody_is_cut_off(defects, failures):
    defects.note("the end of a turn")
    assert defects.culprits == []
    assert failures.seen == [("the end of a turn", None)]


def test_every_defect_is_counted(failures):
    stats = Statistics()
    defects = Defects(stats, failures)
    for number in range(3):
        defects.note(str(number))
    assert stats.internal_errors == 3


def test_without_a_journal_the_exception_goes_on():
    stats = Statistics()
    try:
        raise KeyError("unexpected")
    except KeyError:
        with pytest.raises(KeyError, match="unexpected"):
            Defects(stats, NoJournal()).note("a message", Outlet())
    assert stats.internal_errors == 1
