"""The blocks around a SWIFT message's text: basic header, application header, user header, trailers."""

import re

from heliograph.flow.formats.swift.field_format import FieldFormat

TEXT_BLOCK = "4"

BASIC_HEADER = FieldFormat(
    "1", "1!a2!n12!c4!n6!n", ("ApplicationId", "ServiceId", "LogicalTerminal", "SessionNumber", "SequenceNumber")
)
INPUT_HEADER = FieldFormat(
    "2",
    "{I}3!n12!c[1!a[1!n[3!n]]]",
    ("Direction", "MessageType", "Receiver", "Priority", "DeliveryMonitoring", "ObsolescencePeriod"),
)
OUTPUT_HEADER = FieldFormat(
    "2",
    "{O}3!n4!n6!n12!c4!n6!n6!n4!n[1!a]",
    (
        "Direction",
        "MessageType",
        "InputTime",
        "InputDate",
        "Sender",
        "InputSessionNumber",
        "InputSequenceNumber",
        "OutputDate",
        "OutputTime",
        "Priority",
    ),
)

BLOCK = re.compile(r"\{([A-Z0-9]):((?:\{[^{}]*\}|[^{}])*)\}")
"""A block other than the text."""
TAGGED = re.compile(r"\{([A-Z0-9]{3}):([^{}]*)\}")
"""A field of a user header or a trailer."""


def header_format(number: str, text: str) -> FieldFormat | None:
    """The format of a header block; None if the block is made of tagged fields in braces."""
    if number == "1":
        return BASIC_HEADER
    if number == "2":
        return OUTPUT_HEADER if text[:1] == "O" else INPUT_HEADER
    return None
