"""Which changes of trees are seen where: behind a node, beside it, and after an exception."""

from pathlib import Path

import pytest

from heliograph.flow.testing import FlowUnderTest
from small_flows import esql_module, flow_under_test

ORDER = "<Order><Amount>250</Amount></Order>"
SHOWN = (
    "${FIELDVALUE(Body.Order.Amount)} ${FIELDVALUE(LocalEnvironment.x)} "
    "${FIELDVALUE(Environment.x)} ${CARDINALITY(ExceptionList.*[])}"
)


def flow(
    folder: Path, kind: str, body: str, connections: str, properties: str = "", routine: str = ""
) -> FlowUnderTest:
    nodes = {
        "try": "type: TryCatch",
        "order": "type: FlowOrder",
        "work": f"type: {kind.capitalize()}, esql: work.esql{properties}",
        "throw": "type: Throw, text: failed",
        "one": f'type: Trace, pattern: "one {SHOWN}"',
        "two": f'type: Trace, pattern: "two {SHOWN}"',
    }
    used = "".join(f"  {name}: {{{node}}}\n" for name, node in nodes.items() if f"-> {name}" in connections)
    text = f"""
nodes:
  in: {{type: QueueInput, queue: Q, domain: XMLNSC, transaction: no}}
  before: {{type: Python, file: before.py}}
{used}connections:
  - in.out -> before
{connections}"""
    before = """
from heliograph.flow.tree import Element

def process(message):
    message.local_environment.append(Element("x", "in"))
    return message
"""
    return flow_under_test(folder, text, work__esql=routine + esql_module(kind, body), before__py=before)


REFERENCES = """DECLARE m REFERENCE TO <root>.XMLNSC.Order.Amount;
    DECLARE l REFERENCE TO <local>;
    SET m = 'changed'; SET l.x = 'changed'; SET Environment.x = 'changed';
    """
INPUT = REFERENCES.replace("<root>", "InputRoot").replace("<local>", "InputLocalEnvironment")
ROOT = REFERENCES.replace("<root>", "Root").replace("<local>", "LocalEnvironment")

CATCHING = """  - before.out -> try
  - try.try -> work
  - work.{out} -> one
  - one.out -> throw
  - try.catch -> two
"""


@pytest.mark.parametrize(
    ("kind", "body", "out", "properties"),
    [
        ("COMPUTE", INPUT + "RETURN TRUE;", "out", ", mode: exception"),
        ("FILTER", ROOT + "RETURN TRUE;", "true", ""),
        ("DATABASE", ROOT + "RETURN TRUE;", "out", ""),
    ],
)
def test_after_an_exception_only_environment_has_what_was_changed(tmp_path, kind, body, out, properties):
    with flow(tmp_path, kind, body, CATCHING.format(out=out), properties) as under_test:
        under_test.send(ORDER)

        behind, caught = under_test.trace.splitlines()

    assert behind == "one changed changed changed 0"
    assert caught == "two 250 in changed 1"


def test_output_trees_are_not_seen_where_the_exception_is_caught(tmp_path):
    body = """SET OutputRoot = InputRoot; SET OutputRoot.XMLNSC.Order.Amount = 1;
    SET OutputLocalEnvironment.x = 'out'; SET Environment.x = 'kept'; RETURN TRUE;"""
    connections = CATCHING.format(out="out")
    with flow(tmp_path, "COMPUTE", body, connections, ", mode: local-environment-and-message") as under_test:
        under_test.send(ORDER)

        assert under_test.trace.splitlines() == ["one 1 out kept 0", "two 250 in kept 1"]


def test_what_is_changed_through_a_reference_is_not_seen_by_a_branch_beside(tmp_path):
    connections = """  - before.out -> order
  - order.first -> work
  - work.true -> one
  - order.second -> two
"""
    with flow(tmp_path, "FILTER", ROOT + "RETURN TRUE;", connections) as under_test:
        under_test.send(ORDER)

        assert under_test.trace.splitlines() == ["one changed changed changed 0", "two 250 in changed 0"]


@pytest.mark.parametrize(
    "change",
    [
        "DECLARE r REFERENCE TO InputRoot.XMLNSC.Order.Amount; SET r = 'changed';",
        "DECLARE r REFERENCE TO InputRoot.XMLNSC; DECLARE s REFERENCE TO r.Order; SET s.Amount = 'changed';",
        "DECLARE r REFERENCE TO Environment; MOVE r TO InputRoot.XMLNSC.Order.Amount; DELETE FIELD r;",
        "FOR r AS InputRoot.XMLNSC.Order.Amount[] DO SET r = 'changed'; END FOR;",
        "DECLARE r REFERENCE TO InputRoot.XMLNSC.Order.Amount; DETACH r;",
        "DECLARE r REFERENCE TO InputRoot.XMLNSC.Order.Amount; CREATE PREVIOUSSIBLING OF r NAME 'Amount' VALUE 1;",
        "EVAL('DECLARE r REFERENCE TO InputRoot.XMLNSC.Order.Amount; SET r = 1;');",
    ],
    ids=["set", "reference to a reference", "move and delete", "for", "detach", "create", "eval"],
)
def test_what_a_node_changed_through_a_reference_is_not_seen_on_its_failure_path(tmp_path, change):
    connections = """  - before.out -> work
  - work.failure -> two
"""
    with flow(tmp_path, "COMPUTE", f"{change} THROW USER EXCEPTION; RETURN TRUE;", connections) as under_test:
        under_test.send(ORDER)

        assert under_test.trace == "two 250 in NULL 1\n"


def test_what_a_routine_changed_through_a_parameter_is_not_seen_on_the_failure_path(tmp_path):
    body = "CALL change(InputRoot.XMLNSC.Order.Amount); THROW USER EXCEPTION; RETURN TRUE;"
    connections = """  - before.out -> work
  - work.failure -> two
"""
    routine = "CREATE PROCEDURE change(IN r REFERENCE) BEGIN SET r = 'changed'; END;\n"
    with flow(tmp_path, "COMPUTE", body, connections, routine=routine) as under_test:
        under_test.send(ORDER)

        assert under_test.trace == "two 250 in NULL 1\n"


def test_the_exception_list_has_what_throw_said(tmp_path):
    body = "THROW USER EXCEPTION SEVERITY 2 CATALOG 'shop' MESSAGE 2960 VALUES('no', 5, NULL, 1.5); RETURN TRUE;"
    text = """
nodes:
  in: {type: QueueInput, queue: Q, domain: XMLNSC, transaction: no}
  work: {type: Compute, esql: work.esql}
  show: {type: Compute, esql: show.esql}
  out: {type: QueueOutput, queue: OUT}
connections:
  - in.out -> work
  - work.failure -> show
  - show.out -> out
"""
    show = """DECLARE e REFERENCE TO InputExceptionList.*[1];
    WHILE FIELDNAME(e) <> 'UserException' AND LASTMOVE(e) DO MOVE e LASTCHILD; END WHILE;
    SET OutputRoot.XMLNSC.Last = THE(SELECT U.Severity, U.Catalog, U.Number, U.Text FROM e AS U);
    SET OutputRoot.XMLNSC.Last.Insert[] = SELECT ITEM I.Text FROM e.Insert[] AS I;
    SET OutputRoot.XMLNSC.Last.Types = '';
    FOR i AS e.Insert[] DO SET OutputRoot.XMLNSC.Last.Types = OutputRoot.XMLNSC.Last.Types || CAST(i.Type AS CHARACTER);
    END FOR;
    RETURN TRUE;"""
    with flow_under_test(
        tmp_path, text, work__esql=esql_module("COMPUTE", body), show__esql=esql_module("COMPUTE", show)
    ) as under_test:
        under_test.send(ORDER)
        (sent,) = under_test.queue("OUT")

    assert sent.body.decode() == (
        "<Last><Severity>2</Severity><Catalog>shop</Catalog><Number>2960</Number><Text>no, 5, NULL, 1.5E+0</Text>"
        "<Insert>no</Insert><Insert>5</Insert><Insert>NULL</Insert><Insert>1.5E+0</Insert><Types>5255</Types></Last>"
    )
