"""Each packet carries the reason codes of its table in the standard, and no others."""

import pytest

from heliograph.mqtt import PacketType, ProtocolError, Reason
from heliograph.mqtt.legal_reasons import LEGAL_REASONS, legal_reason

# How many codes the table of all reason codes (2.4) names for each packet. The table of DISCONNECT alone lacks 0x8C.
ROWS = {
    "CONNACK": 22,
    "PUBACK": 9,
    "PUBREC": 9,
    "PUBREL": 2,
    "PUBCOMP": 2,
    "SUBACK": 12,
    "UNSUBACK": 7,
    "DISCONNECT": 30,
    "AUTH": 3,
}


def test_the_tables_are_as_long_as_those_of_the_standard():
    assert {kind.name: len(reasons) for kind, reasons in LEGAL_REASONS.items()} == ROWS


@pytest.mark.parametrize("kind", LEGAL_REASONS)
def test_a_code_is_legal_if_it_is_in_the_table(kind):
    for code in range(256):
        if code in LEGAL_REASONS[kind]:
            assert legal_reason(code, kind) == Reason(code)
        else:
            with pytest.raises(ProtocolError, match=f"{kind.name} cannot carry reason code 0x{code:02X}"):
                legal_reason(code, kind)


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (PacketType.DISCONNECT, Reason.BANNED),
        (PacketType.CONNACK, Reason.SESSION_TAKEN_OVER),
        (PacketType.PUBREL, Reason.QUOTA_EXCEEDED),
    ],
)
def test_codes_of_other_packets_are_refused(kind, code):
    with pytest.raises(ProtocolError) as caught:
        legal_reason(code, kind)
    assert caught.value.reason is Reason.PROTOCOL_ERROR
