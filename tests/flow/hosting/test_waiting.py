"""How long a host waits for a database, and when it gives up."""

from heliograph.flow.errors import DatabaseError
from heliograph.flow.hosting import Waiting, is_lost


def test_pauses_double_up_to_five_seconds():
    waiting = Waiting()
    assert [waiting.pause(0.0) for _ in range(8)] == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]


def test_they_begin_anew_after_a_success():
    waiting = Waiting()
    waiting.pause(0.0)
    waiting.pause(0.0)
    waiting.over()
    assert not waiting.has_begun
    assert waiting.pause(0.0) == 0.1


def test_patience_begins_with_the_first_failure():
    waiting = Waiting(patience=30.0)
    assert waiting.pause(100.0) == 0.1
    assert waiting.pause(130.0) == 0.2
    assert waiting.pause(130.1) is None


def test_a_database_that_shuts_down_is_waited_for_and_one_that_refuses_is_not():
    assert is_lost(DatabaseError("no connection", "08006"))
    assert is_lost(DatabaseError("shutting down", "57P01"))
    assert not is_lost(DatabaseError("no such table", "42P01"))
