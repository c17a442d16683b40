"""Dead letters that a host adds itself."""

import pytest

from heliograph.flow.engine.exceptions import ExceptionRecord
from heliograph.flow.engine.outcome import DeadLetter, Outcome, Put, Result
from heliograph.flow.formats.envelope import Envelope
from heliograph.flow.hosting import unreadable, with_dead_letters

WHY = ExceptionRecord("Node n failed.", 2230, label="f.n", cause=ExceptionRecord("no good", 2439, label="f.n"))
MESSAGE = Envelope(b"body")


@pytest.mark.parametrize("result", [Result.BACKOUT, Result.DISCARDED])
def test_what_cannot_be_given_back_is_put_away_behind_all_other_effects(result):
    put = Put("Q", MESSAGE, False, "out")
    finished = with_dead_letters(Outcome(result, [put], exception=WHY), [MESSAGE], "DEAD", "in")
    first, letter = finished.effects
    assert first is put
    assert isinstance(letter, DeadLetter)
    assert (letter.queue, letter.envelope, letter.node, letter.reason) == ("DEAD", MESSAGE, "in", "no good")
    assert letter.exceptions.splitlines() == [
        "RecoverableException 2230 in f.n: Node n failed.",
        "RecoverableException 2439 in f.n: no good",
    ]


@pytest.mark.parametrize("result", [Result.DONE, Result.DEAD_LETTER])
def test_what_is_settled_gets_no_second_letter(result):
    came = Outcome(result, [], exception=None if result is Result.DONE else WHY)
    assert with_dead_letters(came, [MESSAGE], "DEAD", "in") is came


def test_something_that_is_no_message_is_put_away_as_bytes():
    outcome = unreadable(b"\x00", ValueError("no section"), "DEAD", "in")
    (letter,) = outcome.effects
    assert isinstance(letter, DeadLetter)
    assert (outcome.result, letter.queue, letter.envelope.body, letter.reason) == (
        Result.DEAD_LETTER,
        "DEAD",
        b"\x00",
        "no section",
    )
    assert [event.text for event in outcome.logged] == ["no section"]
