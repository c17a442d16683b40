"""SHARED variables: several instances of a flow use them at the same time."""

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

import pytest

from heliograph.flow.formats import Catalogue
from heliograph.flow.language.esql.compiling.program_compiling import compile_program
from heliograph.flow.language.esql.parsing.program_parsing import parse_program
from heliograph.flow.language.esql.runtime.compiled_program import CompiledProgram
from heliograph.flow.language.esql.runtime.evaluation import Evaluation, LogEntry, SharedVariables
from heliograph.flow.tree import Element

INSTANCES, MESSAGES = 4, 100


def give_way(entry: LogEntry) -> None:
    """What LOG does here: lets other instances go on, so that what is not guarded goes wrong."""
    time.sleep(0)


def run_all(compiled: CompiledProgram, shared: SharedVariables) -> list[Element]:
    """Run all modules in turn, in several instances at the same time; what each run left in Environment."""
    modules = list(compiled.modules.values())

    def run(number: int) -> Element:
        evaluation = Evaluation(
            Element("Root"), catalogue=Catalogue(), now=datetime(2026, 1, 1), shared=shared, log=give_way
        )
        modules[number % len(modules)].run(evaluation)
        return evaluation.environment

    with ThreadPoolExecutor(INSTANCES) as pool:
        return list(pool.map(run, range(MESSAGES * INSTANCES)))


COUNTER = """DECLARE counter SHARED INTEGER 0;
DECLARE cache SHARED ROW;
CREATE PROCEDURE next(OUT n INTEGER)
BEGIN ATOMIC
  SET n = counter;
  LOG USER TRACE VALUES('here another instance may come');
  SET counter = n + 1;
  SET cache.last.value = n;
  SET n = CAST(cache.last.value AS INTEGER) + 1;
END;
<modules>
"""
MODULE = """CREATE COMPUTE MODULE <name>
  CREATE FUNCTION Main() RETURNS BOOLEAN BEGIN
    DECLARE n INTEGER; CALL next(n); SET Environment.n = n; RETURN TRUE;
  END;
END MODULE;
"""


@pytest.mark.parametrize("names", [("A",), ("A", "B")], ids=["one node", "two nodes"])
def test_atomic_blocks_let_one_instance_in_at_a_time(names: tuple[str, ...]) -> None:
    text = COUNTER.replace("<modules>", "".join(MODULE.replace("<name>", name) for name in names))
    found = run_all(compile_program(parse_program(text)), SharedVariables())

    numbers = sorted(field.value for environment in found for field in environment.all("n"))
    assert numbers == list(range(1, MESSAGES * INSTANCES + 1))


def test_an_atomic_block_that_fails_lets_the_next_in() -> None:
    text = """CREATE COMPUTE MODULE M
      DECLARE tried SHARED INTEGER 0;
      CREATE FUNCTION Main() RETURNS BOOLEAN BEGIN
        DECLARE EXIT HANDLER FOR SQLSTATE LIKE 'U%' BEGIN END;
        BEGIN ATOMIC
          SET tried = tried + 1;
          LOG USER TRACE;
          THROW USER EXCEPTION;
        END;
      END;
    END MODULE;"""
    shared = SharedVariables()
    run_all(compile_program(parse_program(text)), shared)

    assert shared.values["M.TRIED"] == MESSAGES * INSTANCES


def test_a_shared_variable_gets_its_first_value_once() -> None:
    text = """CREATE COMPUTE MODULE M
      DECLARE first SHARED CHARACTER made();
      CREATE FUNCTION made() RETURNS CHARACTER BEGIN LOG USER TRACE; RETURN UUIDASCHAR; END;
      CREATE FUNCTION Main() RETURNS BOOLEAN BEGIN SET Environment.n = first; RETURN TRUE; END;
    END MODULE;"""
    found = run_all(compile_program(parse_program(text)), SharedVariables())

    assert len({field.value for environment in found for field in environment.all("n")}) == 1
