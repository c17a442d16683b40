"""Texts that hold every statement of the language are read and found right."""

from pathlib import Path

import pytest

from heliograph.flow.language.esql.checking.program_checking import check_program
from heliograph.flow.language.esql.parsing.program_parsing import parse_program
from heliograph.flow.language.esql.syntax import Program, Statement, statements

CORPUS = sorted(Path(__file__).with_name("corpus").glob("*.esql"))


def _read(path: Path) -> Program:
    return parse_program(path.read_text(), path.name)


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_a_right_text_has_no_mistakes(path: Path) -> None:
    assert [str(mistake) for mistake in check_program(_read(path))] == []


def test_the_corpus_holds_every_kind_of_statement() -> None:
    kinds = {
        name
        for name, kind in vars(statements).items()
        if isinstance(kind, type) and issubclass(kind, Statement) and kind is not Statement
    }
    shown = "".join(repr(_read(path)) for path in CORPUS)
    assert [name for name in sorted(kinds) if f"{name}(" not in shown] == []
