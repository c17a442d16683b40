"""A program gives the same, whether its input was read as elements or as packed values."""

from datetime import datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.flow.formats import Catalogue
from heliograph.flow.language import dump_tree
from heliograph.flow.language.esql.compiling.program_compiling import compile_program
from heliograph.flow.language.esql.parsing.program_parsing import parse_program
from heliograph.flow.language.esql.runtime.evaluation import Evaluation
from heliograph.flow.tree import Element

DOCUMENT = '<r><a>1</a><b>two</b><c/><d x="1">4</d><e><a>5</a><b>6</b></e><e><a>7</a></e></r>'
SOURCES = st.sampled_from(["a", "b", "c", "d", "e", "e.a", "e[2].a", "d.x", "none", "none.b"])
TARGETS = st.sampled_from(["p", "q", "s", "p.t", "p.u", "p.v", "q[1].t", "q[2].t"])
STATEMENTS = st.lists(
    st.one_of(
        st.builds("SET OutputRoot.XML.o.{} = InputRoot.XML.r.{};".format, TARGETS, SOURCES),
        st.builds("SET OutputRoot.XML.o.{} = InputRoot.XML.r.{};".format, TARGETS, SOURCES),
        st.builds("SET OutputRoot.XML.o.{} = OutputRoot.XML.o.{};".format, TARGETS, TARGETS),
        st.builds("SET OutputRoot.XML.o.{} = InputRoot.XML.r.{} || 'y';".format, TARGETS, SOURCES),
        st.builds("SET OutputRoot.XML.o.{} = 3;".format, TARGETS),
        st.builds("SET OutputRoot.XML.o.{} = NULL;".format, TARGETS),
    ),
    min_size=2,
    max_size=8,
)


def output(module, *, packed: bool) -> str:
    catalogue = Catalogue()
    for _ in range(3):
        part = catalogue.part_of("XML", DOCUMENT.encode())
        _ = part.children
    if not packed:
        dump_tree(part)
    root = Element("Root")
    root.append(part)
    evaluation = Evaluation(root, catalogue=catalogue, now=datetime(2004, 9, 30))
    try:
        module.run(evaluation)
    except Exception as error:  # an index too far: both have to find it
        return f"{type(error).__name__}: {error}"
    part = evaluation.output_root.first("XML")
    return (part.bytes().decode() + "\n" + dump_tree(part)) if part is not None and part.children else ""


@settings(max_examples=60, deadline=None)
@given(STATEMENTS)
def test_any_statements(statements: list[str]) -> None:
    program = compile_program(parse_program("\n".join(statements), "m.esql"))
    module = next(iter(program.modules.values()))
    assert output(module, packed=True) == output(module, packed=False)


@settings(max_examples=60, deadline=None)
@given(STATEMENTS)
def test_statements_in_one_run_or_one_by_one(statements: list[str]) -> None:
    apart = "\n".join(f"{statement} SET Environment.n = {number};" for number, statement in enumerate(statements))
    together, separate = (
        next(iter(compile_program(parse_program(text, "m.esql")).modules.values()))
        for text in ("\n".join(statements), apart)
    )
    first, second = output(together, packed=True), output(separate, packed=True)
    if "Error" not in first:  # whose text says where in the program it was
        assert first == second
