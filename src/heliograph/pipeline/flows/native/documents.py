"""Fields of a payload that is JSON, for Spark; and when Spark and our parser agree on what the payload says.

Spark's VARIANT is made by a parser which is as strict as ours, and refuses objects with two members of one name, which
ours keeps. What it lets pass and ours does not:

- something behind the text. The text is made the first of two items of an array; the other is a word that nobody can
  guess, so if it is there as the second item, all of the text was read as one value.
- bytes that are not UTF-8.
- exponents that a DECIMAL cannot have, and more than 256 values inside each other.

Texts with any of these, and those that do not begin with `{`, are left to our parser.
"""

from secrets import token_hex

from heliograph.pipeline.flows.native.operands import LONGEST_NUMBER, NUMBER, Kind, Operand
from heliograph.pipeline.flows.native.verdicts import both

PAYLOAD = "CAST(payload AS STRING)"
DOCUMENT = "__document"
"""The column with the payload as a VARIANT; NULL if it is no such text."""
_MOST_OPENED = 200
"""Braces and brackets: values cannot be deeper inside each other than there are such."""
STRANGE = "JMS_IBM_"
"""How the names of all properties begin that change how a payload is read. One search is planned sooner than many."""
_LONG_EXPONENT = "[eE][+-]?[0-9]{9}"


class Document:
    """The fields of a payload that conditions use."""

    def __init__(self) -> None:
        self._behind = token_hex(16)
        self._paths: dict[tuple[str, ...], int] = {}

    def field(self, path: tuple[str, ...]) -> Operand:
        """A field below `Data`, which is an object."""
        number = self._paths.setdefault(path, len(self._paths))
        kind, text = f"__kind{number}", f"__text{number}"
        return Operand(
            {
                Kind.TEXT: (f"({kind} = 'STRING')", text),
                Kind.NUMBER: (
                    f"(({kind} = 'BIGINT' OR {kind} LIKE 'DECIMAL%') AND length({text}) <= {LONGEST_NUMBER})",
                    f"try_cast({text} AS {NUMBER})",
                ),
                Kind.BOOLEAN: (f"({kind} = 'BOOLEAN')", f"({text} = 'true')"),
            },
            f"({kind} = 'VOID')",
        )

    def parsed(self, columns: list[str]) -> str:
        """The column `DOCUMENT`, of messages whose payload is JSON by all that is known of them."""
        wrapped = f"""concat('[', {PAYLOAD}, ',"{self._behind}"]')"""
        plain = "startswith(payload, X'7b')"
        if "properties" in columns:
            # Some say that the payload is something else, or in another character set. What the content type says makes
            # no difference to a payload that begins with a brace.
            strange = f"contains(array_join(map_keys(properties), ' '), '{STRANGE}')"
            plain = both(plain, f"coalesce(NOT {strange}, TRUE)")
        return f"CASE WHEN {plain} THEN try_parse_json({wrapped}) END AS {DOCUMENT}"

    def looked_up(self) -> list[str]:
        """Columns of the fields that conditions use, from the column `DOCUMENT`."""
        columns = []
        for path, number in self._paths.items():
            place = "'$[0]" + "".join(f".{name}" for name in path) + "'"
            # A field that is not there is as NULL as one that is null.
            kind = f"schema_of_variant(try_variant_get({DOCUMENT}, {place}, 'variant'))"
            columns.append(f"coalesce({kind}, 'VOID') AS __kind{number}")
            columns.append(f"try_variant_get({DOCUMENT}, {place}, 'string') AS __text{number}")
        return columns

    def agreed(self) -> str:
        """Whether our parser reads the payload as Spark does, for certain; may be NULL, if it is no JSON."""
        opened = " + ".join(
            f"octet_length({PAYLOAD}) - octet_length(replace({PAYLOAD}, '{mark}', ''))" for mark in "{["
        )
        return " AND ".join(
            (
                f"try_variant_get({DOCUMENT}, '$[1]', 'string') = '{self._behind}'",
                f"is_valid_utf8({PAYLOAD})",
                f"(octet_length(payload) <= {_MOST_OPENED} OR {opened} <= {_MOST_OPENED})",
                f"NOT {PAYLOAD} RLIKE '{_LONG_EXPONENT}'",
            )
        )
