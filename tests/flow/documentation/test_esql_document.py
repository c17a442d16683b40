"""docs/reference/esql.md says what is so: its examples are run, and its lists are those of the code."""

import re

import pytest

from documentation import DOCUMENTS, blocks, section
from esql_examples import run, value
from heliograph.flow.language.esql.builtin_functions import FUNCTIONS
from heliograph.flow.language.esql.checking.program_checking import check_program
from heliograph.flow.language.esql.parsing.cursor import RESERVED
from heliograph.flow.language.esql.parsing.program_parsing import parse_program

FILE = "reference/esql.md"
BLOCKS = blocks(FILE)
LINE = re.compile(r"(?P<expression>.+?)\s+-- (?P<how>gives|fails) (?P<what>.+)")
VALUES = [
    (f"{FILE}:{block.line + number}", found)
    for block in BLOCKS
    if block.kind == "sql"
    for number, line in enumerate(block.text.splitlines(), 1)
    if (found := LINE.fullmatch(line))
]
PROGRAMS = [block for block in BLOCKS if block.kind == "sql" and not LINE.match(block.text.splitlines()[0])]


TRANSFORMATIONS = [
    (program, before.text.strip(), after.text.strip())
    for before, program, after in zip(BLOCKS, BLOCKS[1:], BLOCKS[2:], strict=False)
    if (before.title, program.kind, after.title) == ("in", "sql", "out")
]


@pytest.mark.parametrize(("place", "line"), VALUES, ids=[place for place, _ in VALUES])
def test_an_expression_has_the_value_that_is_said(place, line):
    result = value(line["expression"])
    if line["how"] == "gives":
        assert result == line["what"]
    else:
        assert result.startswith("fails")
        assert line["what"] in result


@pytest.mark.parametrize("block", PROGRAMS, ids=[f"{FILE}:{block.line}" for block in PROGRAMS])
def test_a_program_has_no_mistakes(block):
    assert check_program(parse_program(block.text, FILE)) == []


@pytest.mark.parametrize(
    ("block", "before", "after"), TRANSFORMATIONS, ids=[f"{FILE}:{found[0].line}" for found in TRANSFORMATIONS]
)
def test_a_program_makes_of_the_message_what_is_said(block, before, after):
    assert run(block.text, before).output_root.children[-1].bytes().decode() == after


def test_every_message_has_its_program():
    assert sum(block.title == "in" for block in BLOCKS) == sum(block.title == "out" for block in BLOCKS)
    assert len(TRANSFORMATIONS) == sum(block.title == "in" for block in BLOCKS)


def test_all_functions_are_listed_and_no_others():
    table = "".join(line for line in section(FILE, "Functions").splitlines() if line.startswith("|"))
    assert sorted(re.findall(r"`(\w+)`", table)) == sorted(FUNCTIONS)


def test_reserved_words_are_listed():
    told = re.search(r"may be names;(.*?)may not", (DOCUMENTS / FILE).read_text(), re.DOTALL)
    assert told is not None
    assert set(re.findall("[A-Z]+", told[1])) == RESERVED
