"""What effects promise to those who carry them out."""

from heliograph.flow.engine.outcome import DeadLetter
from heliograph.flow.formats.envelope import Envelope
from heliograph.flow.inline.conversion import payload_of


def test_a_dead_letter_can_be_sent_whatever_text_the_exception_quotes():
    letter = DeadLetter("DEAD", Envelope(b"{}"), "'\ud800' is no number", "'\ud800é' is no number", "in")
    assert (letter.reason, letter.exceptions) == ("'\\ud800' is no number", "'\\ud800é' is no number")
    assert "'\\ud800é'".encode() in payload_of(letter, 0, {})
