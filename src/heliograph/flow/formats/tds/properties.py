"""The properties of TDS (tagged and delimited text), in the words of DFDL where it has one.

What a field or group does not say, its format says. Texts may have mnemonics (`<CR><LF>`).
"""

from collections.abc import Mapping
from enum import Enum

from heliograph.flow.formats.model import Property


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
