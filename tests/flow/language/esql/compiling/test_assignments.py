"""SETs of fields below one field are done together, and do what they do one after the other."""

from datetime import datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.flow.errors import StatementError
from heliograph.flow.formats import Catalogue
from heliograph.flow.language import dump_tree
from heliograph.flow.language.esql.compiling.program_compiling import compile_program
from heliograph.flow.language.esql.parsing.program_parsing import parse_program
from heliograph.flow.language.esql.runtime.evaluation import Evaluation
from heliograph.flow.tree import Element

DOCUMENT = """<o><from><a>1</a><b>a &lt; "b"</b><c/><d x="it's">4</d><e><a>5</a></e></from><to><t>0</t></to></o>"""
ABOVE = st.sampled_from(["to", "to.p[i]", "to.p[i]", "to.p[1].q", "to.p[2]", "new.p[i]", "new.p[i]", "from.e"])
BELOW = st.sampled_from(
    ["a", "b", "c", "s.a", "s.b", "s.(XML.Attribute)k", "(XML.Attribute)k", "(XML.Attribute)m", "t.s.b"]
)
VALUES = st.one_of(
    st.sampled_from(["'x'", "'<&>'", "'\"quoted''\n'", "''", "i", "NULL", "1.5", "CURRENT_DATE", "i IS NULL"]),
    st.builds(
        "OutputRoot.XML.o.{}".format,
        st.sampled_from(["from.a", "from.b", "from.c", "from.d", "from.d.x", "from.e", "to.p[i].a", "to.t", "none.a"]),
    ),
)
SETS = st.builds(
    lambda above, sets: [f"SET OutputRoot.XML.o.{above}.{below} = {value};" for below, value in sets],
    ABOVE,
    st.lists(st.tuples(BELOW, VALUES), min_size=1, max_size=4),
)
STATEMENTS = st.lists(SETS, min_size=1, max_size=4).map(lambda groups: [each for group in groups for each in group])

MODULE = """CREATE COMPUTE MODULE M
    CREATE FUNCTION Main() RETURNS BOOLEAN BEGIN
        DECLARE i INTEGER 1;
        SET OutputRoot = InputRoot;
        WHILE i < 5 DO
            {statements}
            SET i = i + 1;
        END WHILE;
        RETURN TRUE;
    END;
    CREATE PROCEDURE Forget() BEGIN END;
END MODULE;"""


def built(statements: list[str], between: str = "\n") -> tuple[str, str]:
    """The document that these statements build, and what went wrong."""
    catalogue = Catalogue()
    root = Element("Root")
    root.append(catalogue.part_of("XML", DOCUMENT.encode()))
    evaluation = Evaluation(root, catalogue=catalogue, now=datetime(2004, 9, 30))
    text = MODULE.format(statements=between.join(["", *statements, ""]))
    try:
        compile_program(parse_program(text, "m.esql")).modules["M"].run(evaluation)
    except StatementError as failed:
        return "", str(failed.reason)
    part = evaluation.output_root.first("XML")
    try:
        return part.bytes().decode() + dump_tree(part), ""
    except Exception as problem:  # one attribute twice: both have to find it
        return dump_tree(part), str(problem)


@settings(max_examples=150, deadline=None)
@given(STATEMENTS)
def test_together_as_one_after_the_other(statements):
    assert built(statements) == built(statements, " CALL Forget(); ")


def test_a_new_numbered_field_has_attributes_before_what_was_set_first():
    document, _ = built(
        [
            "SET OutputRoot.XML.o.new.p[i].a = OutputRoot.XML.o.from.b;",
            "SET OutputRoot.XML.o.new.p[i].s.b = i;",
            "SET OutputRoot.XML.o.new.p[i].s.(XML.Attribute)k = '\"<';",
        ]
    )
    assert '<p><a>a &lt; "b"</a><s k="&quot;&lt;"><b>2</b></s></p><p>' in document


def test_a_number_that_leaves_a_gap_is_wrong():
    _, error = built(["SET OutputRoot.XML.o.new.p[i + 1].a = 1;", "SET OutputRoot.XML.o.new.p[3].b = 1;"])
    assert "p[2] cannot be made under new" in error
