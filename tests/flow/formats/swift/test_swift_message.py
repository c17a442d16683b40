"""SWIFT messages as a whole: the blocks around their text."""

import pytest

from flow.formats.swift.mt_messages import ANY, GENL, at, everything, message, part
from heliograph.flow.errors import FormatProblem


def test_another_message_type_is_named() -> None:
    with pytest.raises(FormatProblem, match="expected message type 543, found '999'"):
        everything(part(message(*GENL)))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "a block such as {1:"),
        (b"MT543", "a block such as {1:"),
        (b"{1:F01", "a block such as {1:...}"),
        (b"{4::20C::SEME//X\r\n-}", "a line end behind {4:"),
        (b"{4:\r\n:20C::SEME//X", "a line with -} at the end of block 4"),
        (b"{4:\r\nSEME\r\n-}", "a field such as :20C:"),
        (b"{1:\xff}", "text in utf-8"),
    ],
)
def test_what_is_wrong_with_the_blocks_is_named(data: bytes, expected: str) -> None:
    with pytest.raises(FormatProblem) as caught:
        everything(part(data, ANY))
    assert caught.value.expected == expected


def test_a_message_from_the_network_names_its_sender() -> None:
    data = message(*GENL).replace(b"{2:I999CUSTDEFFXXXXN}", b"{2:O9990930031104CUSTDEFFAXXX00010000020311040931N}")
    assert at(part(data, ANY), "Block2.Sender").value == "CUSTDEFFAXXX"


def test_an_acknowledgement_has_fields_in_braces() -> None:
    tree = part(b"{1:F21BANKBEBBAXXX2222123456}{4:{177:0311040931}{451:0}}", ANY)
    assert at(tree, "Block4.F451").value == "0"
