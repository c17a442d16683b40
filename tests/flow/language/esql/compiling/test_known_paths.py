"""Code that keeps what a path led to does the same as code that looks every time."""

from datetime import datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.flow.errors import StatementError
from heliograph.flow.formats import Catalogue
from heliograph.flow.language.esql.compiling.program_compiling import compile_program
from heliograph.flow.language.esql.parsing.program_parsing import parse_program
from heliograph.flow.language.esql.runtime.evaluation import Evaluation
from heliograph.flow.tree import Element

# Few names, so that paths often meet.
PATHS = st.sampled_from(
    [
        *["Environment.a", "Environment.a.b", "Environment.a.b.a", "Environment.a.b.b", "Environment.a.a"] * 4,
        *["Environment.a[1].b", "Environment.a[2].b", "Environment.a[i].b.a", "Environment.a[<].b", "Environment.*.b"],
        *["Environment.{'a'}.b", "Environment.a.(Name)b", "OutputLocalEnvironment.a.b", "OutputLocalEnvironment.a"],
        *["r.a", "r.a.b", "r.b", "r.a[i].b"],
    ]
)
SET = st.one_of(
    st.builds("SET {} = {};".format, PATHS, st.sampled_from(["1", "'x'", "i"])),
    st.builds("SET {} = {};".format, PATHS, PATHS),
    st.builds("SET {} = NULL;".format, PATHS),
)
SIMPLE = st.one_of(
    SET,
    SET,
    SET,
    st.builds("SET {} = CAST({} AS CHARACTER) || 'y';".format, PATHS, PATHS),
    st.builds("SET {} VALUE = NULL;".format, PATHS),
    st.builds("SET {} NAME = 'b';".format, PATHS),
    st.builds("DELETE FIELD {};".format, PATHS),
    st.builds("CREATE PREVIOUSSIBLING OF {} NAME 'a' VALUE 7;".format, PATHS),
    st.builds("SET {} = CARDINALITY({}.*[]);".format, PATHS, PATHS),
    st.builds("MOVE r TO {};".format, PATHS),
    st.just("SET i = 3 - i;"),
)
BRANCHES = st.builds("IF {} IS NULL THEN {} ELSE {} END IF;".format, PATHS, SIMPLE, SIMPLE)
STATEMENTS = st.lists(st.one_of(SIMPLE, SIMPLE, BRANCHES), min_size=8, max_size=14)

MODULE = """CREATE COMPUTE MODULE M
    CREATE FUNCTION Main() RETURNS BOOLEAN BEGIN
        DECLARE i INTEGER 1;
        DECLARE r REFERENCE TO Environment;
        {body}
        RETURN TRUE;
    END;
    {routines}
END MODULE;"""


def shown(element: Element) -> object:
    return (element.name, element.value, [shown(child) for child in element.children])


def trees_after(body: str, routines: str = "") -> object:
    evaluation = Evaluation(Element("Root"), catalogue=Catalogue(), now=datetime(2004, 9, 30))
    module = compile_program(parse_program(MODULE.format(body=body, routines=routines), "m.esql")).modules["M"]
    error = None
    try:
        module.run(evaluation)
    except StatementError as failed:
        error = str(failed.reason)
    return shown(evaluation.environment), shown(evaluation.output_local_environment), error


def forgetting(statements: list[str]) -> tuple[str, str]:
    """The same statements, with calls between them after which nothing is known."""
    return " CALL Forget(); ".join(statements), "CREATE PROCEDURE Forget() BEGIN END;"


@settings(max_examples=80, deadline=None)
@given(STATEMENTS)
def test_statements_in_a_row(statements):
    assert trees_after(" ".join(statements)) == trees_after(*forgetting(statements))


@settings(max_examples=30, deadline=None)
@given(STATEMENTS, STATEMENTS)
def test_statements_in_a_loop(before, inside):
    loop = "DECLARE n INTEGER 0; {} WHILE n < 3 DO SET n = n + 1; {} END WHILE;"
    first, routines = forgetting(before)
    second, _ = forgetting(inside)
    plain = trees_after(loop.format(" ".join(before), " ".join(inside)))
    assert plain == trees_after(loop.format(f"{first} CALL Forget();", f"CALL Forget(); {second}"), routines)


JUMPS = st.builds(
    "IF {} IS NULL THEN {} {} rounds; END IF;".format, PATHS, SIMPLE, st.sampled_from(["ITERATE", "LEAVE"])
)
ROUND = st.lists(st.one_of(SIMPLE, SIMPLE, BRANCHES, JUMPS), min_size=2, max_size=8)


@settings(max_examples=60, deadline=None)
@given(ROUND, ROUND, ROUND)
def test_what_an_earlier_round_of_a_loop_has_found(first, inner, last):
    loop = """DECLARE n INTEGER 0; DECLARE m INTEGER;
        rounds: WHILE n < 3 DO SET n = n + 1; {} SET m = 0;
            WHILE m < 2 DO SET m = m + 1; {} END WHILE;
        {} END WHILE rounds; SET Environment.a.b.a = Environment.a.b; SET Environment.a.b.b = 2;"""
    plain = [" ".join(statements) for statements in (first, inner, last)]
    again = [f"CALL Forget(); {forgetting(statements)[0]} CALL Forget();" for statements in (first, inner, last)]
    assert trees_after(loop.format(*plain)) == trees_after(loop.format(*again), forgetting([])[1])
