"""Records of copybooks, read and written."""

from decimal import Decimal
from textwrap import indent
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flow.formats.cwf.structures import BIG, S390, built, parsed, read, values_of, written, written_again
from heliograph.flow.errors import FormatProblem, ModelProblem
from heliograph.flow.formats.model import Models, Type
from heliograph.flow.tree import Text

EBCDIC = 37


def copybook(text: str, **options: Any) -> Models:
    """A model with this copybook, each line of which begins in column 8."""
    sources = {"REC.cpy": indent(text.strip("\n"), " " * 7, lambda line: True)}
    if options:
        listed = "\n".join(f"    {name}: {value}" for name, value in options.items())
        sources["M.model.yaml"] = f"import:\n  - file: REC.cpy\n{listed}\n"
    return Models(sources)


def message(models: Models) -> Any:
    return models.find(Text())[0].content


FIELDS = {
    # clauses, value, bytes in EBCDIC
    "PIC X(4)": ("ab", "81824040"),
    "PIC X(4) JUSTIFIED RIGHT": ("ab", "40408182"),
    "PIC 9(4)": (42, "f0f0f4f2"),
    "PIC S9(4)": (-42, "f0f0f4d2"),
    "PIC S9(4) SIGN IS LEADING": (-42, "d0f0f4f2"),
    "PIC S9(4) SIGN LEADING SEPARATE CHARACTER": (-42, "60f0f0f4f2"),
    "PIC S9(4) TRAILING SEPARATE": (42, "f0f0f4f24e"),
    "PIC S9(2)V99": (Decimal("1.25"), "f0f1f2c5"),
    "PIC 9(2)PP": (4200, "f4f2"),
    "PIC VPP99": (Decimal("0.0042"), "f4f2"),
    "PIC S9(4) COMP": (-2, "fffe"),
    "PIC S9(5) COMP-4": (-2, "fffffffe"),
    "PIC S9(9) BINARY": (258, "00000102"),
    "PIC 9(10) COMP": (258, "0000000000000102"),
    "PIC S9(3)V9 COMP": (Decimal("1.5"), "000f"),
    "PIC S9(4) USAGE IS COMPUTATIONAL-5": (258, "0102"),
    "COMP-1": (1.0, "3f800000"),
    "COMP-2": (1.5, "3ff8000000000000"),
    "PIC S9(5) COMP-3": (-12345, "12345d"),
    "PIC S9(4) PACKED-DECIMAL": (12, "00012c"),
    "PIC 9(5)V99 COMP-3": (Decimal("1.25"), "0000125f"),
    "PIC 9(4) COMP-6": (1234, "1234"),
    "PIC N(2)": ("é", "00e90020"),
    "PIC Z,ZZ9.99": ("1,234.50", "f16bf2f3f44bf5f0"),
    "PIC 9(3) OCCURS 2": ([1, 2], "f0f0f1f0f0f2"),
}


@pytest.mark.parametrize("clauses", FIELDS)
def test_an_item_has_these_bytes(clauses: str) -> None:
    value, data = FIELDS[clauses]
    models = copybook(f"01  REC.\n    05  ITEM-A {clauses}.")
    assert written(models, {"ITEM_A": value}, EBCDIC).hex() == data
    assert read(models, bytes.fromhex(data), EBCDIC) == {"ITEM_A": value}


def test_usage_and_sign_come_from_the_group() -> None:
    models = copybook(
        """
01  REC.
    05  NUMBERS USAGE COMP-3.
        10  A PIC S9(3).
        10  B PIC S9(3) DISPLAY.
    05  SIGNED SIGN LEADING SEPARATE.
        10  C PIC S9.
"""
    )
    assert read(models, bytes.fromhex("123df1f2d34ef1"), EBCDIC) == {
        "NUMBERS": {"A": -123, "B": -123},
        "SIGNED": {"C": 1},
    }


def test_numbers_in_the_margins_comments_and_continuations_are_understood() -> None:
    lines = [
        "000100* a comment".ljust(72) + "IGNORED1",
        "000200 01  REC.".ljust(72) + "IGNORED2",
        "000300     05  LONG-NA".ljust(72) + "IGNORED3",
        "000400-        ME PIC X(2) VALUE 'a".ljust(72) + "IGNORED4",
        "000500-        'b'.  *> and so on".ljust(72) + "IGNORED5",
        "000600/",
        "      D    05  DEBUG-ITEM PIC X.",
    ]
    content = message(Models({"REC.cpy": "\n".join(lines)}))
    assert [member.name for member in content.members] == ["LONG_NAME"]


def test_fillers_keep_their_bytes() -> None:
    models = copybook("01  REC.\n    05  A PIC X.\n    05  FILLER PIC X(3).\n    05  PIC 9(2).\n    05  B PIC X.")
    garbage = bytes.fromhex("ff00417b00")
    part = parsed(models, b"a" + garbage + b"b")
    part.children[0].set_value("z")
    assert part.bytes() == b"z" + garbage + b"b"


def test_fillers_that_nobody_sets_are_blanks() -> None:
    models = copybook("01  REC.\n    05  A PIC X.\n    05  FILLER PIC X(2).\n    05  B PIC X.")
    assert written(models, {"A": "a", "B": "b"}, EBCDIC).hex() == "81404082"


def test_items_in_a_filler_stand_in_the_group_around() -> None:
    models = copybook("01  REC.\n    05  FILLER.\n        10  A PIC X.\n    05  B PIC X.")
    assert read(models, b"ab") == {"A": "a", "B": "b"}


ODO = """
01  REC.
    05  HEAD.
        10  CNT PIC 9.
    05  BODY.
        10  ROW OCCURS 0 TO 3 TIMES DEPENDING ON CNT OF HEAD
            ASCENDING KEY IS V INDEXED BY IX.
            15  V PIC X(2).
    05  TAIL PIC X.
"""


@pytest.mark.parametrize(
    ("padding", "data"), [("occurrences", b"1ab\0\0\0\0z"), ("none", b"1abz"), ("record", b"1abz\0\0\0\0")]
)
def test_occurs_depending_on_has_three_conventions(padding: str, data: bytes) -> None:
    models = copybook(ODO, occursPadding=padding)
    values = {"HEAD": {"CNT": 1}, "BODY": {"ROW": {"V": "ab"}}, "TAIL": "z"}
    assert read(models, data, 819) == values
    assert written(models, values, 819) == data
    assert written(models, {**values, "HEAD": {}}, 819) == data


def test_without_an_option_tables_take_all_their_room() -> None:
    assert read(copybook(ODO), b"0" + bytes(6) + b"z", 819)["TAIL"] == "z"


UNION = """
01  REC.
    05  KIND PIC X.
    05  PERSON.
        10  FIRST-NAME PIC X(5).
        10  LAST-NAME PIC X(5).
    05  COMPANY REDEFINES PERSON.
        10  STAFF PIC 9(5) COMP-3.
    05  RAW REDEFINES PERSON PIC X(10).
    05  TAIL PIC X.
"""
CHOICES = "{PERSON: {by: KIND, values: {PERSON: P, COMPANY: C D, RAW: R}}}"


def test_a_field_tells_which_redefinition_it_is() -> None:
    models = copybook(UNION, choices=CHOICES)
    data = b"D\x00\x05\x5f" + bytes(7) + b"z"
    assert read(models, data, 819) == {"KIND": "D", "COMPANY": {"STAFF": 55}, "TAIL": "z"}
    assert written_again(models, data, 819) == data
    assert read(models, b"Rabcdefghijz", 819)["RAW"] == "abcdefghij"


def test_without_a_rule_the_first_redefinition_that_fits_is_taken() -> None:
    models = copybook(UNION)
    assert read(models, b"?abcdefghijz", 819)["PERSON"] == {"FIRST_NAME": "abcde", "LAST_NAME": "fghij"}
    other = copybook("01  R.\n    05  A PIC 9(2).\n    05  B REDEFINES A PIC X(2).")
    assert read(other, b"12", 819) == {"A": 12}
    assert read(other, b"x2", 819) == {"B": "x2"}
    assert written_again(other, b"x2", 819) == b"x2"


SHORT = """
01  REC.
    05  KIND PIC X.
    05  DETAIL.
        10  LONG PIC X(6).
        10  BRIEF REDEFINES LONG PIC 9(2).
"""


@pytest.mark.parametrize("options", [{}, {"choices": "{LONG: {by: KIND, values: {LONG: L, BRIEF: B}}}"}])
def test_a_message_may_end_with_a_redefinition_that_is_shorter_than_the_others(options: dict[str, str]) -> None:
    models = copybook(SHORT, **options)
    assert read(models, b"B42", 819) == {"KIND": "B", "DETAIL": {"BRIEF": 42}}
    assert written_again(models, b"B42", 819) == b"B42" + bytes(4)  # a record has room for all
    assert read(models, b"Labcdef", 819)["DETAIL"] == {"LONG": "abcdef"}


def test_what_follows_a_shorter_redefinition_keeps_its_place() -> None:
    models = copybook(UNION, choices=CHOICES)
    with pytest.raises(FormatProblem, match="field TAIL: expected 1 bytes, found 0 bytes"):
        read(models, b"D\x00\x05\x5f", 819)


def test_a_message_may_end_with_the_last_occurrence_of_a_table() -> None:
    models = copybook(ODO.replace("    05  TAIL PIC X.\n", ""))
    assert read(models, b"1ab", 819) == {"HEAD": {"CNT": 1}, "BODY": {"ROW": {"V": "ab"}}}


@pytest.mark.parametrize(
    "text",
    [
        "01 REC.\n   05 A PIC X. *> the first\n* a comment\n   05 B PIC 9(2).\n",
        "      01  REC.\n          05  A PIC X.\n          05  B PIC 9(2).\n",
        "       01  REC.\n           EJECT\n           05  A PIC X.\n           SKIP1\n           05  B PIC 9(2).\n",
        "000100 01  REC.\n000200     05  A PIC X.\n000300     05  B PIC 9(2).\n",
        "       EXEC SQL DECLARE T TABLE () END-EXEC.\n       01  REC.\n        05 A PIC X.\n        05 B PIC 9(2).",
    ],
    ids=["free form", "column 7", "listing", "numbered", "declared table"],
)
def test_copybooks_come_in_several_forms(text: str) -> None:
    assert read(Models({"REC.cpy": text}), b"x42", 819) == {"A": "x", "B": 42}


def test_levels_88_are_the_values_that_are_allowed() -> None:
    content = message(
        copybook(
            """
01  REC.
    05  KIND PIC X.
        88  KNOWN VALUE 'A' 'B'.
        88  MORE VALUES ARE 'X' THRU 'Z'.
    05  LEVEL PIC 9.
        88  LOW VALUE 1 THROUGH 3.
"""
        )
    )
    assert [member.values for member in content.members] == [("A", "B", "X", "Y", "Z"), (1, 2, 3)]


LEVELS = "01  REC.\n    05  KIND PIC X(2).\n        88  KNOWN VALUE 'A ' 'B'.\n        88  NOTHING VALUE SPACES."


def test_levels_88_are_not_checked_unless_the_model_says_so() -> None:
    assert read(copybook(LEVELS), b"C ", 819) == {"KIND": "C"}
    assert written(copybook(LEVELS), {"KIND": "C"}, 819) == b"C "


def test_levels_88_are_checked_if_the_model_says_so() -> None:
    models = copybook(LEVELS, checkValues="true")
    assert [read(models, data, 819)["KIND"] for data in (b"A ", b"B ", b"  ")] == ["A", "B", ""]
    with pytest.raises(FormatProblem, match="offset 0, field KIND: expected one of A, B, '', found 'C'"):
        read(models, b"C ", 819)
    with pytest.raises(FormatProblem, match="field KIND: expected one of A, B, '', found 'C'"):
        written(models, {"KIND": "C"}, 819)


def test_a_value_clause_is_the_default() -> None:
    models = copybook(
        "01  REC.\n    05  A PIC X(3) VALUE 'it''s'.\n    05  B PIC 9(2) VALUE 7.\n    05  C PIC X VALUE SPACE.\n"
        "    05  D PIC S9V9 COMP-3 VALUE ZERO."
    )
    with pytest.raises(FormatProblem, match="field A"):
        written(models, {}, 819)  # four characters do not fit in three
    assert written(models, {"A": "x"}, 819) == b"x  07 \x00\x0c"


def test_sync_puts_slack_bytes_before_numbers_and_behind_occurrences() -> None:
    models = copybook(
        """
01  REC.
    05  A PIC X.
    05  N PIC S9(4) COMP SYNC.
    05  T OCCURS 2.
        10  B PIC X.
        10  M PIC S9(9) COMP SYNC.
    05  Z PIC X.
"""
    )
    data = b"a\0\0\1" + b"b\0\0\0\0\0\0\2" + b"c\0\0\0\0\0\0\3" + b"z"
    values = {"A": "a", "N": 1, "T": [{"B": "b", "M": 2}, {"B": "c", "M": 3}], "Z": "z"}
    assert read(models, data) == values
    assert written(models, values) == data


def test_options_fix_what_headers_would_say() -> None:
    models = copybook(
        "01  REC.\n    05  A PIC X.\n    05  N PIC 9(4) COMP-5.\n    05  F COMP-1.",
        encoding=37,
        byteOrder="littleEndian",
        binaryFloatRep="ibm390Hex",
    )
    assert written(models, {"A": "a", "N": 1, "F": 1.0}, 1208, BIG).hex() == "81010041100000"


def test_each_01_level_is_a_message() -> None:
    models = copybook("01  FIRST-REC.\n    05  A PIC X.\n01  OTHER-REC PIC X(3).")
    assert sorted(models.models["REC"].messages) == ["FIRST_REC", "OTHER_REC"]


def test_invalid_packed_data_is_named_with_its_place() -> None:
    models = copybook(
        "01  REC.\n    05  A PIC X(2).\n    05  G OCCURS 2.\n        10  P PIC S9(3)V99 COMP-3.", encoding=37
    )
    with pytest.raises(FormatProblem) as problem:
        read(models, bytes.fromhex("8182") + bytes.fromhex("12345c") + bytes.fromhex("404040"))
    assert problem.value.offset == 5
    assert problem.value.path == "G[2].P"
    assert problem.value.expected == "a packed number of 5 digits, signed"
    assert problem.value.found == "sign 0 in 404040"


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("01  REC.\n    05  A PIC Q.", 2, "A: expected a picture, found Q"),
        ("01  REC.\n    05  A.", 2, "A: expected a PICTURE, or items below it"),
        ("01  REC.\n    05  A PIC X", 2, "expected a full stop behind X"),
        ("01  REC.\n    05  A PIC X.\n  03  B PIC X.", 3, "expected level 05, as beside it, found 03"),
        ("01  REC.\n    05  A PIC X.\n        10  B PIC X.", 3, "A has a PICTURE, so B cannot be in it"),
        ("01  REC.\n    05  A PIC X WIBBLE.", 2, "expected a clause of a data item, found WIBBLE"),
        ("01  REC.\n    05  A PIC X USAGE POINTER-9.", 2, "expected a usage"),
        ("01  REC.\n    05  A PIC X OCCURS MANY.", 2, "A OCCURS: expected a number, found MANY"),
        ("01  REC.\n    05  A PIC X OCCURS 1 TO 2 DEPENDING ON Q.", 2, "A: expected one item Q, found none"),
        ("01  REC.\n    05  A PIC X.\n    05  B REDEFINES Q PIC X.", 3, "B REDEFINES Q, which is not just before it"),
        ("01  REC.\n    05  A PIC 9(19) COMP.", 2, "A: a binary number has at most 18 digits"),
        ("COPY OTHER.", 1, "expected a level number, found COPY"),
        ("    88  A VALUE 1.", 1, "expected an item before its 88 level"),
    ],
)
def test_mistakes_are_said_with_file_and_line(text: str, line: int, said: str) -> None:
    with pytest.raises(ModelProblem) as problem:
        copybook(text)
    assert str(problem.value).startswith(f"REC.cpy:{line}: ")
    assert said in str(problem.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"colour": "red"}, "unknown option colour"),
        ({"choices": "{NOBODY: {by: A, values: {}}}"}, "choices: nothing redefines NOBODY"),
        ({"occursPadding": "some"}, "occursPadding: expected one of none, occurrences, record, found 'some'"),
    ],
)
def test_options_are_checked(options: dict[str, str], said: str) -> None:
    with pytest.raises(ModelProblem, match=said):
        copybook("01  R.\n    05  N PIC 9.\n    05  A PIC X OCCURS 0 TO 2 DEPENDING ON N.", **options)


ACCOUNT = copybook(
    """
01  ACCOUNT.
    05  ACC-NO PIC 9(10).
    05  OWNER PIC X(12).
    05  BALANCE PIC S9(9)V99 COMP-3.
    05  LIMITS COMP.
        10  LOW-LIMIT PIC S9(4).
        10  HIGH-LIMIT PIC S9(9).
    05  RATE COMP-2.
    05  CNT PIC 99.
    05  ENTRIES OCCURS 0 TO 10 DEPENDING ON CNT.
        10  AMOUNT PIC S9(5)V99 SIGN TRAILING.
        10  WHAT PIC X(3).
"""
)
entries = st.fixed_dictionaries(
    {
        "AMOUNT": st.integers(-9999999, 9999999).map(lambda cents: Decimal(cents).scaleb(-2)),
        "WHAT": st.sampled_from(["", "a", "abc"]),
    }
)
accounts = st.fixed_dictionaries(
    {
        "ACC_NO": st.integers(0, 10**10 - 1),
        "OWNER": st.text(st.sampled_from("abc XYZ"), max_size=12).map(str.rstrip),
        "BALANCE": st.integers(1 - 10**11, 10**11 - 1).map(lambda cents: Decimal(cents).scaleb(-2)),
        "LIMITS": st.fixed_dictionaries(
            {"LOW_LIMIT": st.integers(-32768, 32767), "HIGH_LIMIT": st.integers(-(1 << 31), (1 << 31) - 1)}
        ),
        "RATE": st.integers(-(1 << 40), 1 << 40).map(lambda number: number / 1024),
        "ENTRIES": st.lists(entries, min_size=2, max_size=10),
    }
)


@pytest.mark.parametrize(("ccsid", "encoding"), [(37, S390), (500, BIG), (819, 546), (1208, 546)])
@settings(max_examples=25, deadline=None)
@given(values=accounts)
def test_records_come_back(ccsid: int, encoding: int, values: dict[str, Any]) -> None:
    values = {**values, "CNT": len(values["ENTRIES"])}
    data = built(ACCOUNT, values, ccsid, encoding).bytes()
    assert values_of(parsed(ACCOUNT, data, ccsid, encoding)) == values
    assert written_again(ACCOUNT, data, ccsid, encoding) == data


def test_types_follow_the_pictures() -> None:
    content = message(copybook("01  R.\n    05  A PIC 9V9.\n    05  B PIC 9.\n    05  C PIC X.\n    05  D COMP-1."))
    assert [member.type for member in content.members] == [Type.DECIMAL, Type.INTEGER, Type.STRING, Type.FLOAT]
