"""The properties of CWF (fixed structures), in the words of DFDL.

What a field does not say its format says; what neither says about character set, byte order and floating-point numbers
is what the header before the message says (`CodedCharSetId`, `Encoding`).
"""

from collections.abc import Mapping

from heliograph.flow.formats.model import Property

MOST_BYTES = 100_000_000
"""That a message always has, whatever is in it: no server takes larger ones."""

PROPERTIES: Mapping[str, Property] = {
    # Length
    "lengthKind": Property(choices=("explicit", "prefixed", "delimited", "endOfParent")),  # delimited: ended by a NUL
    "length": Property(int, reference=True),
    "lengthUnits": Property(choices=("bytes", "characters")),
    "prefixLength": Property(int, choices=(1, 2, 4)),
    # Representation
    "representation": Property(choices=("text", "binary")),
    "encoding": Property(),  # a CCSID or Python's name of a character set
    "byteOrder": Property(choices=("bigEndian", "littleEndian")),
    "binaryNumberRep": Property(choices=("binary", "packed", "bcd")),
    "binaryFloatRep": Property(choices=("ieee", "ibm390Hex")),
    "textNumberRep": Property(choices=("standard", "zoned")),
    "textZonedSignStyle": Property(choices=("asciiStandard", "asciiTranslatedEBCDIC")),
    "signOrientation": Property(choices=("leading", "leadingSeparate", "trailing", "trailingSeparate")),
    "decimalSigned": Property(bool),
    "digits": Property(int),  # of packed numbers; all that the bytes can hold if not given
    "virtualDecimalPoint": Property(
        int, limits=(-999, 999)
    ),  # digits behind the point; negative: zeros that are not written
    "calendarPattern": Property(),
    "binaryCalendarRep": Property(choices=("packed", "bcd", "binarySeconds", "binaryMilliseconds")),
    "textBooleanTrueRep": Property(),
    "textBooleanFalseRep": Property(),
    # Null, and values that are allowed
    "nilKind": Property(choices=("literalValue", "literalCharacter", "logicalValue")),
    "nilValue": Property(),
    "checkValues": Property(bool),  # whether `values` of the model are checked; they are, if nothing is said
    # Fitting into the length
    "justification": Property(choices=("left", "right", "center")),
    "padCharacter": Property(),
    # Position
    "alignment": Property(int, choices=(1, 2, 4, 8, 16), implicit=True),
    "leadingSkip": Property(int, limits=(0, MOST_BYTES)),
    "trailingSkip": Property(int, limits=(0, MOST_BYTES)),
    "fillByte": Property(int, limits=(0, 255)),
    # Repetition
    "occursCountKind": Property(choices=("fixed", "expression", "endOfParent")),
    "occursCount": Property(int, reference=True),
    "occursPadding": Property(choices=("none", "occurrences", "record")),
    # Choices
    "choiceDispatchKey": Property(reference=True),
    "choiceBranchKey": Property(),  # several with blanks between
}
