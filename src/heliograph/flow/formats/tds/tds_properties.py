"""The properties of TDS (tagged and delimited text), in the words of DFDL where it has one.

What a field or group does not say, its format says. Texts may have mnemonics (`<CR><LF>`).
"""

import re
from collections.abc import Mapping
from enum import Enum

from heliograph.errors import InvalidInput
from heliograph.flow.formats.model import Property

# Characters that are hard to write in a file, by name: `<CR><LF>`, `<HT>`, `<LT>`, `<U+00A7>`.

CONTROLS = (
    "NUL SOH STX ETX EOT ENQ ACK BEL BS HT LF VT FF CR SO SI"
    " DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US SP"
)
NAMES = {name: chr(code) for code, name in enumerate(CONTROLS.split())} | {
    "TAB": "\t",
    "NL": "\n",
    "DEL": "\x7f",
    "LT": "<",
    "GT": ">",
    "AMP": "&",
    "QUOT": '"',
    "APOS": "'",
    "NEL": "\x85",
}
_MNEMONIC = re.compile(r"<(?:U\+([0-9A-Fa-f]{4,6})|([A-Z0-9]+))>")


def characters(text: str) -> str:
    """The text with the characters that mnemonics stand for."""
    return _MNEMONIC.sub(_character, text)


def _character(found: re.Match[str]) -> str:
    code, name = found.groups()
    if code is not None and int(code, 16) <= 0x10FFFF:
        return chr(int(code, 16))
    if name in NAMES:
        return NAMES[name]
    raise InvalidInput(f"unknown character {found[0]}; known are <U+hhhh>, {', '.join(f'<{one}>' for one in NAMES)}")


class Separation(Enum):
    """How the members of a group are told from each other."""

    TAGGED_DELIMITED = "taggedDelimited"
    TAGGED_FIXED_LENGTH = "taggedFixedLength"
    TAGGED_ENCODED_LENGTH = "taggedEncodedLength"
    ALL_ELEMENTS_DELIMITED = "allElementsDelimited"
    VARIABLE_LENGTH_ELEMENTS_DELIMITED = "variableLengthElementsDelimited"
    FIXED_LENGTH = "fixedLength"
    USE_DATA_PATTERN = "useDataPattern"
    UNDEFINED = "undefined"
    """Only groups, each with a separation of its own: embedded messages."""

    @property
    def tagged(self) -> bool:
        """Whether each member has a tag before it."""
        return self in (
            Separation.TAGGED_DELIMITED,
            Separation.TAGGED_FIXED_LENGTH,
            Separation.TAGGED_ENCODED_LENGTH,
        )

    @property
    def delimited(self) -> bool:
        """Whether a separator stands between members."""
        return self in (
            Separation.TAGGED_DELIMITED,
            Separation.ALL_ELEMENTS_DELIMITED,
            Separation.VARIABLE_LENGTH_ELEMENTS_DELIMITED,
        )


OF_GROUPS: Mapping[str, Property] = {
    "dataElementSeparation": Property(choices=tuple(one.value for one in Separation)),
    "initiator": Property(),  # group indicator
    "terminator": Property(),  # group terminator
    "separator": Property(),  # delimiter
    "separatorPosition": Property(choices=("infix", "postfix")),
    "separatorSuppressionPolicy": Property(choices=("trailingEmpty", "never")),  # of absent elements at the end
    "tagDataSeparator": Property(),
    "lengthOfTag": Property(int),
    "lengthOfEncodedLength": Property(int),
    "extraCharsInEncodedLength": Property(int),  # how much more than the data the length counts
    "observeElementLength": Property(bool),
}
OF_MEMBERS: Mapping[str, Property] = {
    "tag": Property(),
    "lengthPattern": Property(),  # data pattern
    "repeatingElementDelimiter": Property(),
}
OF_FIELDS: Mapping[str, Property] = {
    "length": Property(int),
    "justification": Property(choices=("left", "right", "center")),
    "padCharacter": Property(),
    "nilValue": Property(),  # encoding of an explicit null
    "decimalSeparator": Property(),
    "strictNumericChecking": Property(bool),
    "calendarPattern": Property(),
    "textBooleanTrueRep": Property(),
    "textBooleanFalseRep": Property(),
}
OF_FORMATS: Mapping[str, Property] = {
    "encoding": Property(),  # a CCSID or Python's name of a character set, instead of what the header says
    "quoteCharacter": Property(),
    "escapeCharacter": Property(),
    "reservedCharacters": Property(),  # what is quoted or escaped, beside all delimiters
}
PROPERTIES: Mapping[str, Property] = {**OF_GROUPS, **OF_MEMBERS, **OF_FIELDS, **OF_FORMATS}
LITERAL = ("lengthPattern", "calendarPattern", "encoding")
"""Texts without mnemonics."""
