"""PROPAGATE in flows: what fails behind it, and which trees the module has afterwards."""

from pathlib import Path

import pytest

from heliograph.flow.engine.outcome import Result
from heliograph.flow.testing import FlowUnderTest
from small_flows import flow_under_test

ORDER = "<Order><Amount>250</Amount></Order>"

NODES = """
data_sources: {SHOP: null}
nodes:
  in: {type: QueueInput, queue: Q, domain: XMLNSC, transaction: no}
  work: {type: Compute, esql: work.esql, mode: all}
  behind: {type: Compute, esql: behind.esql, data_source: SHOP}
  sent: {type: QueueOutput, queue: SENT}
  failed: {type: QueueOutput, queue: FAILED}
  again: {type: Label, label: again}
  throw: {type: Throw, text: thrown behind, number: 3002}
connections:
  - in.out -> work
  - work.out -> behind
  - behind.out -> sent
  - work.out1 -> sent
  - work.out2 -> throw
  - work.failure -> failed
  - again.out -> throw
"""


def module(body: str) -> str:
    return f"""CREATE COMPUTE MODULE Work
  CREATE FUNCTION Main() RETURNS BOOLEAN
  BEGIN
    {body}
  END;
END MODULE;
"""


def flow(folder: Path, body: str, behind: str = "SET OutputRoot = InputRoot; RETURN TRUE;") -> FlowUnderTest:
    return flow_under_test(folder, NODES, work__esql=module(body), behind__esql=module(behind))


HANDLED = """SET OutputRoot = InputRoot;
BEGIN
  DECLARE EXIT HANDLER FOR SQLSTATE LIKE '%' BEGIN
    SET Environment.State = SQLSTATE;
    SET Environment.Text = SQLERRORTEXT;
    SET Environment.Code = SQLCODE;
  END;
  PROPAGATE <where>;
END;
SET OutputRoot.XMLNSC.Seen.State = Environment.State;
SET OutputRoot.XMLNSC.Seen.Text = Environment.Text;
SET OutputRoot.XMLNSC.Seen.Code = Environment.Code;
PROPAGATE TO TERMINAL 'out1';
RETURN FALSE;
"""


@pytest.mark.parametrize(
    ("behind", "state", "text", "code"),
    [
        ("SET OutputRoot.XMLNSC.x = 1 / 0;", "S22012", "divide by zero calculating 1 / 0", -2450),
        ("THROW USER EXCEPTION MESSAGE 2960 VALUES('no stock');", "U02960", "no stock", -2960),
        ("SET OutputRoot.XMLNSC.x = CAST('x' AS INTEGER);", "S22018", "'x' is not an INTEGER", -2595),
        ("INSERT INTO Database.NOSUCH VALUES (1);", "D42S02", "no such table", None),
    ],
    ids=["expression", "user", "cast", "database"],
)
def test_a_handler_around_propagate_sees_what_failed_behind_it(tmp_path, behind, state, text, code):
    with flow(tmp_path, HANDLED.replace("<where>", ""), behind) as under_test:
        assert under_test.send(ORDER) is Result.DONE
        (sent,) = under_test.queue("SENT")

    seen = sent.body.decode()
    assert f"<State>{state}</State>" in seen
    assert text in seen
    assert code is None or f"<Code>{code}</Code>" in seen


@pytest.mark.parametrize("where", ["TO TERMINAL 2", "TO LABEL 'again'"])
def test_a_handler_sees_what_a_throw_node_throws_behind_any_terminal_or_label(tmp_path, where):
    with flow(tmp_path, HANDLED.replace("<where>", where)) as under_test:
        under_test.send(ORDER)
        (sent,) = under_test.queue("SENT")

    assert b"<State>U03002</State><Text>thrown behind</Text>" in sent.body


def test_without_a_handler_an_exception_behind_propagate_goes_on_and_not_to_the_failure_terminal(tmp_path):
    text = "SET OutputRoot = InputRoot; PROPAGATE TO TERMINAL 'out2'; RETURN TRUE;"
    with flow(tmp_path, text) as under_test:
        assert under_test.send(ORDER) is Result.DISCARDED
        (failure,) = under_test.failures

    assert under_test.queue("FAILED") == []
    assert failure.text == "thrown behind"
    assert "test.throw" in failure.exceptions
    assert "test.work" not in failure.exceptions


def test_a_handler_for_other_states_lets_an_exception_behind_propagate_pass(tmp_path):
    text = """DECLARE EXIT HANDLER FOR SQLSTATE LIKE 'S%' BEGIN END;
    SET OutputRoot = InputRoot; PROPAGATE TO TERMINAL 'out2'; RETURN TRUE;"""
    with flow(tmp_path, text) as under_test:
        under_test.send(ORDER)

        assert under_test.queue("FAILED") == []
        assert under_test.failures[0].text == "thrown behind"


def test_resignal_sends_an_exception_from_behind_on_as_it_came(tmp_path):
    text = """DECLARE EXIT HANDLER FOR SQLSTATE LIKE '%' BEGIN RESIGNAL; END;
    SET OutputRoot = InputRoot; PROPAGATE TO TERMINAL 'out2'; RETURN TRUE;"""
    with flow(tmp_path, text) as under_test:
        under_test.send(ORDER)

        assert under_test.queue("FAILED") == []
        assert "test.work" not in under_test.failures[0].exceptions


def test_what_a_handler_around_propagate_throws_is_a_failure_of_its_own_node(tmp_path):
    text = """DECLARE EXIT HANDLER FOR SQLSTATE LIKE '%' BEGIN THROW USER EXCEPTION VALUES('mine'); END;
    SET OutputRoot = InputRoot; PROPAGATE TO TERMINAL 'out2'; RETURN TRUE;"""
    with flow(tmp_path, text) as under_test:
        assert under_test.send(ORDER) is Result.DONE
        assert len(under_test.queue("FAILED")) == 1


def test_a_continue_handler_goes_on_behind_the_propagate_that_failed(tmp_path):
    text = """DECLARE i INTEGER 0;
    DECLARE CONTINUE HANDLER FOR SQLSTATE LIKE 'U%' SET i = i + 1;
    SET OutputRoot = InputRoot; PROPAGATE TO TERMINAL 'out2';
    SET OutputRoot = InputRoot; PROPAGATE TO TERMINAL 'out2';
    SET OutputRoot = InputRoot; SET OutputRoot.XMLNSC.Order.Amount = i; PROPAGATE TO TERMINAL 'out1';
    RETURN FALSE;"""
    with flow(tmp_path, text) as under_test:
        under_test.send(ORDER)
        (sent,) = under_test.queue("SENT")

    assert sent.body == b"<Order><Amount>2</Amount></Order>"


def test_propagate_empties_the_output_trees_afterwards(tmp_path):
    text = """SET OutputRoot = InputRoot; SET OutputLocalEnvironment.x = 1; SET OutputExceptionList.y = 1;
    PROPAGATE TO TERMINAL 'out1';
    SET OutputRoot.XMLNSC.left = CARDINALITY(OutputRoot.*[]) + CARDINALITY(OutputLocalEnvironment.*[])
      + CARDINALITY(OutputExceptionList.*[]);
    PROPAGATE TO TERMINAL 'out1';
    RETURN FALSE;"""
    with flow(tmp_path, text) as under_test:
        under_test.send(ORDER)
        first, second = under_test.queue("SENT")

    assert (first.body, second.body) == (ORDER.encode(), b"<left>0</left>")


def test_the_output_trees_are_emptied_after_a_propagate_that_failed_too(tmp_path):
    text = """DECLARE CONTINUE HANDLER FOR SQLSTATE LIKE 'U%' BEGIN END;
    SET OutputRoot.XMLNSC.a.old = 1;
    PROPAGATE TO TERMINAL 'out2';
    SET OutputRoot.XMLNSC.a.new = 1;
    PROPAGATE TO TERMINAL 'out1';
    RETURN FALSE;"""
    with flow(tmp_path, text) as under_test:
        under_test.send(ORDER)
        (sent,) = under_test.queue("SENT")

    assert sent.body == b"<a><new>1</new></a>"


def test_delete_none_keeps_the_output_trees_for_the_next_propagate(tmp_path):
    text = """DECLARE i INTEGER 0;
    SET OutputRoot = InputRoot;
    WHILE i < 3 DO
      SET i = i + 1;
      SET OutputRoot.XMLNSC.Order.Amount = i;
      PROPAGATE TO TERMINAL 'out1' DELETE NONE;
    END WHILE;
    RETURN FALSE;"""
    with flow(tmp_path, text) as under_test:
        under_test.send(ORDER)

        amounts = [f"<Order><Amount>{i}</Amount></Order>".encode() for i in (1, 2, 3)]
        assert [sent.body for sent in under_test.queue("SENT")] == amounts


@pytest.mark.parametrize("finalize", ["", "FINALIZE DEFAULT", "FINALIZE NONE"])
def test_messages_are_written_with_headers_that_fit_whether_they_were_finalized_before_or_not(tmp_path, finalize):
    text = f"""SET OutputRoot.MQRFH2.CodedCharSetId = 819;
    SET OutputRoot.MQRFH2.Format = 'MQSTR';
    SET OutputRoot.MQRFH2.usr.who = 'me';
    SET OutputRoot.XMLNSC.word = 'grün';
    PROPAGATE TO TERMINAL 'out1' {finalize} DELETE NONE;
    RETURN FALSE;"""
    with flow(tmp_path, text) as under_test:
        under_test.send(ORDER)
        (sent,) = under_test.queue("SENT")

    assert sent.format.rstrip() == "MQHRF2"
    assert sent.body.startswith(b"RFH ")
    assert sent.body[20:28] == b"MQSTR   "
    assert sent.body.endswith("<word>grün</word>".encode("latin-1"))


def test_propagate_takes_other_trees_if_it_names_them(tmp_path):
    text = """CREATE LASTCHILD OF Environment.Own DOMAIN 'XMLNSC' PARSE(CAST('<mine/>' AS BLOB CCSID 1208));
    PROPAGATE TO TERMINAL 'out1' MESSAGE Environment.Own;
    PROPAGATE TO TERMINAL 'out1' MESSAGE InputRoot;
    RETURN FALSE;"""
    with flow(tmp_path, text) as under_test:
        under_test.send(ORDER)

        assert [sent.body for sent in under_test.queue("SENT")] == [b"<mine/>", ORDER.encode()]


DATABASE_NODES = """
nodes:
  in: {type: QueueInput, queue: Q, domain: XMLNSC, transaction: no}
  work: {type: Database, esql: work.esql}
  show: {type: Compute, esql: show.esql}
  sent: {type: QueueOutput, queue: SENT}
  failed: {type: QueueOutput, queue: FAILED}
  aside: {type: Label, label: aside}
  labelled: {type: QueueOutput, queue: LABELLED}
connections:
  - in.out -> work
  - work.out -> show
  - show.out -> sent
  - work.failure -> failed
  - aside.out -> labelled
"""
SHOW = """SET OutputRoot = InputRoot;
SET OutputRoot.XMLNSC.*[1].Local = InputLocalEnvironment.Mark;
SET OutputRoot.XMLNSC.*[1].Listed = InputExceptionList.Mark;
RETURN TRUE;"""


def database_flow(folder: Path, body: str) -> FlowUnderTest:
    work = module(body).replace("COMPUTE", "DATABASE")
    return flow_under_test(folder, DATABASE_NODES, work__esql=work, show__esql=module(SHOW))


def test_a_database_node_propagates_to_a_label(tmp_path):
    with database_flow(tmp_path, "PROPAGATE TO LABEL 'aside'; RETURN FALSE;") as under_test:
        under_test.send(ORDER)

        assert [sent.body for sent in under_test.queue("LABELLED")] == [ORDER.encode()]
        assert under_test.queue("SENT") == []


def test_a_label_that_is_not_there_is_a_failure_of_a_database_node(tmp_path):
    with database_flow(tmp_path, "PROPAGATE TO LABEL UPPER('aside'); RETURN FALSE;") as under_test:
        under_test.send(ORDER)

        assert [sent.body for sent in under_test.queue("FAILED")] == [ORDER.encode()]


@pytest.mark.parametrize(
    ("clause", "expected"),
    [
        ("MESSAGE Environment.Own", b"<mine/>"),
        ("ENVIRONMENT Environment.Marked", b"<Order><Amount>250</Amount><Local>seen</Local></Order>"),
        ("EXCEPTION Environment.Marked", b"<Order><Amount>250</Amount><Listed>seen</Listed></Order>"),
        ("", ORDER.encode()),
    ],
    ids=["message", "local environment", "exception list", "none"],
)
def test_a_database_node_propagates_the_trees_that_it_names(tmp_path, clause, expected):
    text = f"""CREATE LASTCHILD OF Environment.Own DOMAIN 'XMLNSC' PARSE(CAST('<mine/>' AS BLOB CCSID 1208));
    SET Environment.Marked.Mark = 'seen';
    PROPAGATE {clause};
    RETURN FALSE;"""
    with database_flow(tmp_path, text) as under_test:
        under_test.send(ORDER)

        assert [sent.body for sent in under_test.queue("SENT")] == [expected]


def test_a_computed_label_that_is_not_there_is_a_failure_of_the_node(tmp_path):
    with flow(tmp_path, "SET OutputRoot = InputRoot; PROPAGATE TO LABEL UPPER('again'); RETURN TRUE;") as under_test:
        under_test.send(ORDER)

        (failed,) = under_test.queue("FAILED")
        assert failed.body == ORDER.encode()


def test_a_flow_that_goes_around_without_end_is_told_apart_from_routines_that_do(tmp_path):
    text = """
nodes:
  in: {type: QueueInput, queue: Q, domain: XMLNSC, transaction: no}
  work: {type: Compute, esql: work.esql}
connections:
  - in.out -> work
  - work.out -> work
"""
    with flow_under_test(
        tmp_path, text, work__esql=module("SET OutputRoot = InputRoot; PROPAGATE; RETURN TRUE;")
    ) as under_test:
        under_test.send(ORDER)

        assert "goes around in a loop" in under_test.failures[0].text
