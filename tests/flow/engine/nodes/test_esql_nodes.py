"""Compute, Filter and Database."""

from pathlib import Path

import pytest

from heliograph.flow.engine.outcome import Result
from heliograph.flow.testing import FlowUnderTest
from small_flows import esql_module, flow_under_test

ORDER = "<Order><Amount>250</Amount></Order>"


def compute(folder: Path, body: str, properties: str = "", connections: str = "  - work.out -> out\n") -> FlowUnderTest:
    text = f"""
nodes:
  in: {{type: QueueInput, queue: Q, domain: XMLNSC}}
  before: {{type: Python, file: before.py}}
  work: {{type: Compute, esql: work.esql, {properties}}}
  out:
    type: Trace
    pattern: >
      ${{FIELDVALUE(Body.Order.Amount)}} ${{FIELDVALUE(LocalEnvironment.x)}} ${{FIELDVALUE(ExceptionList.x)}}
  put: {{type: QueueOutput, queue: OUT}}
  one: {{type: QueueOutput, queue: ONE}}
  failed: {{type: QueueOutput, queue: FAILED}}
  label: {{type: Label, label: there}}
  labelled: {{type: QueueOutput, queue: LABELLED}}
connections:
  - in.out -> before
  - before.out -> work
  - out.out -> put
  - work.out1 -> one
  - label.out -> labelled
  - work.failure -> failed
{connections}"""
    before = """
from heliograph.flow.tree import Element

def process(message):
    message.local_environment.append(Element("x", "in"))
    message.exception_list.append(Element("x", "in"))
    return message
"""
    return flow_under_test(folder, text, work__esql=esql_module("COMPUTE", body), before__py=before)


CHANGE_ALL = """SET OutputRoot = InputRoot;
    SET OutputRoot.XMLNSC.Order.Amount = 1;
    SET OutputLocalEnvironment.x = 'out';
    SET OutputExceptionList.x = 'out';
    RETURN TRUE;"""


@pytest.mark.parametrize(
    ("mode", "message", "local_environment", "exception_list"),
    [
        ("message", "1", "in", "in"),
        ("local-environment", "250", "out", "in"),
        ("local-environment-and-message", "1", "out", "in"),
        ("exception", "250", "in", "out"),
        ("exception-and-message", "1", "in", "out"),
        ("exception-and-local-environment", "250", "out", "out"),
        ("all", "1", "out", "out"),
    ],
)
def test_the_compute_mode_says_which_output_trees_are_sent_on(
    tmp_path: Path, mode: str, message: str, local_environment: str, exception_list: str
) -> None:
    with compute(tmp_path, CHANGE_ALL, f"mode: {mode}") as flow:
        assert flow.send(ORDER) is Result.DONE, flow.failures
        assert flow.trace.split() == [message, local_environment, exception_list]


@pytest.mark.parametrize(
    ("returned", "queues"),
    [("TRUE", ["OUT"]), ("FALSE", []), ("NULL", [])],
)
def test_only_true_sends_the_message_on(tmp_path: Path, returned: str, queues: list[str]) -> None:
    with compute(tmp_path, f"SET OutputRoot = InputRoot; RETURN {returned};") as flow:
        assert flow.send(ORDER) is Result.DONE
        assert list(flow.queues) == queues


def test_propagate_sends_before_the_module_goes_on_and_empties_the_output(tmp_path: Path) -> None:
    body = """
    DECLARE i INTEGER 1;
    WHILE i <= 2 DO
      SET OutputRoot = InputRoot;
      SET OutputRoot.XMLNSC.Order.Number = i;
      PROPAGATE;
      SET i = i + 1;
    END WHILE;
    SET OutputRoot.XMLNSC.Rest.A = 'new';
    RETURN TRUE;"""
    with compute(tmp_path, body) as flow:
        assert flow.send(ORDER) is Result.DONE, flow.failures
        assert [message.body for message in flow.queue("OUT")] == [
            b"<Order><Amount>250</Amount><Number>1</Number></Order>",
            b"<Order><Amount>250</Amount><Number>2</Number></Order>",
            b"<Rest><A>new</A></Rest>",
        ]


@pytest.mark.parametrize(
    ("target", "queues"),
    [
        ("TO TERMINAL 'out1'", ["ONE"]),
        ("TO TERMINAL 1", ["ONE"]),
        ("TO TERMINAL 'failure'", ["FAILED"]),
        ("TO TERMINAL 'nowhere'", []),
        ("TO TERMINAL 'out4'", []),
        ("TO LABEL 'there'", ["LABELLED"]),
    ],
)
def test_propagate_to_terminals_and_labels(tmp_path: Path, target: str, queues: list[str]) -> None:
    with compute(tmp_path, f"SET OutputRoot = InputRoot; PROPAGATE {target}; RETURN FALSE;") as flow:
        assert flow.send(ORDER) is Result.DONE, flow.failures
        assert list(flow.queues) == queues


def test_a_label_that_is_not_there_is_the_nodes_own_error(tmp_path: Path) -> None:
    body = "DECLARE l CHARACTER 'no' || 'where'; SET OutputRoot = InputRoot; PROPAGATE TO LABEL l; RETURN FALSE;"
    with compute(tmp_path, body) as flow:
        flow.send(ORDER)
        assert list(flow.queues) == ["FAILED"]


def test_an_error_in_esql_goes_to_failure_with_the_message_as_it_came(tmp_path: Path) -> None:
    with compute(tmp_path, "SET OutputRoot = InputRoot; SET OutputRoot.XMLNSC.x = 1 / 0; RETURN TRUE;") as flow:
        assert flow.send(ORDER) is Result.DONE
        assert [message.body for message in flow.queue("FAILED")] == [ORDER.encode()]


def test_an_exception_behind_propagate_ends_the_module_and_does_not_go_to_its_failure(tmp_path: Path) -> None:
    text = SHORT.replace(
        "connections:",
        """  bad: {type: Throw, text: behind}
  next: {type: QueueOutput, queue: NEXT}
  failed: {type: QueueOutput, queue: FAILED}
connections:
  - work.failure -> failed
  - in.catch -> out
  - work.out1 -> next""",
    ).replace("work.out -> out", "work.out -> bad")
    body = """SET OutputRoot = InputRoot; PROPAGATE;
    SET OutputRoot = InputRoot; PROPAGATE TO TERMINAL 'out1'; RETURN FALSE;"""
    with flow_under_test(tmp_path, text, work__esql=esql_module("COMPUTE", body)) as flow:
        assert flow.send(ORDER) is Result.DONE
        assert list(flow.queues) == ["OUT"]


def test_the_exception_list_of_an_error_in_esql(tmp_path: Path) -> None:
    with flow_under_test(
        tmp_path, SHORT, work__esql=esql_module("COMPUTE", "SET OutputRoot.XMLNSC.x = 1 / 0;")
    ) as flow:
        assert flow.send(ORDER) is Result.DEAD_LETTER
        lines = flow.failures[0].exceptions.splitlines()
        assert [line.split(" in ")[0] for line in lines] == [
            "RecoverableException 2230",
            "RecoverableException 2488",
            "RecoverableException 2450",
        ]
        assert "work.esql:4" in lines[1]


SHORT = """
nodes:
  in: {type: QueueInput, queue: Q, domain: XMLNSC}
  work: {type: Compute, esql: work.esql}
  out: {type: QueueOutput, queue: OUT}
connections:
  - in.out -> work
  - work.out -> out
"""


def test_an_empty_output_message_is_an_error_behind(tmp_path: Path) -> None:
    with flow_under_test(tmp_path, SHORT, work__esql=esql_module("COMPUTE", "RETURN TRUE;")) as flow:
        assert flow.send(ORDER) is Result.DEAD_LETTER
        assert "test.out: The message is empty" in flow.failures[0].exceptions


def test_a_compute_that_changes_nothing_puts_the_envelope_that_came(tmp_path: Path) -> None:
    esql = esql_module("COMPUTE", "SET OutputRoot = InputRoot; RETURN TRUE;")
    with flow_under_test(tmp_path, SHORT, work__esql=esql) as flow:
        flow.send("<Order>  unread & unchecked", message_id=b"same")
        assert flow.queue("OUT")[0].body == b"<Order>  unread & unchecked"
        assert flow.queue("OUT")[0].message_id == b"same"


def test_a_message_without_headers_is_as_persistent_as_the_one_it_was_made_from(tmp_path: Path) -> None:
    esql = esql_module("COMPUTE", "SET OutputRoot.XMLNSC.a = 1; RETURN TRUE;")
    with flow_under_test(tmp_path, SHORT, work__esql=esql) as flow:
        flow.send(ORDER, persistent=True)
        flow.send(ORDER, persistent=False)
        assert [message.persistent for message in flow.queue("OUT")] == [True, False]


def test_a_reference_into_the_input_changes_a_copy(tmp_path: Path) -> None:
    body = """DECLARE r REFERENCE TO InputRoot.XMLNSC.Order;
    SET r.Amount = 'changed';
    SET OutputRoot = InputRoot;
    RETURN TRUE;"""
    text = """
nodes:
  in: {type: QueueInput, queue: Q, domain: XMLNSC}
  order: {type: FlowOrder}
  work: {type: Compute, esql: work.esql}
  first: {type: QueueOutput, queue: FIRST}
  look: {type: Compute, esql: look.esql}
  second: {type: QueueOutput, queue: SECOND}
connections:
  - in.out -> order
  - order.first -> work
  - work.out -> first
  - order.second -> look
  - look.out -> second
"""
    look = esql_module("COMPUTE", "SET OutputRoot.XMLNSC.Seen = InputBody.Order.Amount; RETURN TRUE;")
    with flow_under_test(tmp_path, text, work__esql=esql_module("COMPUTE", body), look__esql=look) as flow:
        assert flow.send(ORDER) is Result.DONE, flow.failures
        assert flow.queue("FIRST")[0].body == b"<Order><Amount>changed</Amount></Order>"
        assert flow.queue("SECOND")[0].body == b"<Seen>250</Seen>"


FILTER = """
nodes:
  in: {type: QueueInput, queue: Q, domain: XMLNSC}
  work: {type: Filter, esql: work.esql}
  yes_: {type: QueueOutput, queue: YES}
  no_: {type: QueueOutput, queue: NO}
  maybe: {type: QueueOutput, queue: UNKNOWN}
  failed: {type: QueueOutput, queue: FAILED}
connections:
  - in.out -> work
  - work.true -> yes_
  - work.false -> no_
  - work.unknown -> maybe
  - work.failure -> failed
"""


@pytest.mark.parametrize(
    ("message", "queue"),
    [
        ("<Order><Amount>250</Amount></Order>", "YES"),
        ("<Order><Amount>5</Amount></Order>", "NO"),
        ("<Order/>", "UNKNOWN"),
        ("<Order><Amount>much</Amount></Order>", "FAILED"),
    ],
)
def test_a_filter_has_three_ways_and_failure(tmp_path: Path, message: str, queue: str) -> None:
    esql = esql_module("FILTER", "RETURN Body.Order.Amount > 100;")
    with flow_under_test(tmp_path, FILTER, work__esql=esql) as flow:
        assert flow.send(message) is Result.DONE
        assert [(name, put[0].body) for name, put in flow.queues.items()] == [(queue, message.encode())]


def test_a_way_that_is_not_connected_is_the_end_of_the_path(tmp_path: Path) -> None:
    text = FILTER.replace("  - work.true -> yes_\n", "").replace("  yes_: {type: QueueOutput, queue: YES}\n", "")
    with flow_under_test(tmp_path, text, work__esql=esql_module("FILTER", "RETURN TRUE;")) as flow:
        assert flow.send("<a/>") is Result.DONE
        assert flow.queues == {}


def test_a_filter_reads_only_the_parts_that_it_looks_into(tmp_path: Path) -> None:
    esql = esql_module("FILTER", "RETURN Root.MQMD.Priority = 7;")
    with flow_under_test(tmp_path, FILTER, work__esql=esql) as flow:
        flow.send("<never ends", priority=7)
        assert list(flow.queues) == ["YES"]


def test_a_filter_may_change_the_local_environment_for_those_behind_it(tmp_path: Path) -> None:
    text = """
nodes:
  in: {type: QueueInput, queue: Q, domain: XMLNSC}
  order: {type: FlowOrder}
  work: {type: Filter, esql: work.esql}
  one: {type: Trace, pattern: "one ${FIELDVALUE(LocalEnvironment.x)}"}
  two: {type: Trace, pattern: "two ${FIELDVALUE(LocalEnvironment.x)} ${FIELDVALUE(Environment.x)}"}
connections:
  - in.out -> order
  - order.first -> work
  - work.true -> one
  - order.second -> two
"""
    esql = esql_module("FILTER", "SET LocalEnvironment.x = 1; SET Environment.x = 2; RETURN TRUE;")
    with flow_under_test(tmp_path, text, work__esql=esql) as flow:
        assert flow.send("<a/>") is Result.DONE, flow.failures
        assert flow.trace == "one 1\ntwo NULL 2\n"


DATABASE = """
nodes:
  in: {type: QueueInput, queue: Q, domain: XMLNSC, transaction: TRANSACTION}
  work: {type: Database, esql: work.esql, data_source: SHOP, PROPERTIES}
  filter: {type: Filter, esql: bad.esql}
  bad: {type: Throw, text: too late}
  out: {type: QueueOutput, queue: OUT}
connections:
  - in.out -> work
  - work.out -> filter
  - filter.true -> bad
  - filter.false -> out
data_sources: {SHOP: null}
"""
INSERT = esql_module("DATABASE", "INSERT INTO Database.ORDERS (ID) VALUES (Body.Order.Id); RETURN TRUE;")
BAD = esql_module("FILTER", "RETURN Body.Order.Id = 'bad';").replace("Work", "Bad")


def stored(folder: Path, message: str, transaction: str = "yes", properties: str = "") -> tuple[Result, list[object]]:
    text = DATABASE.replace("TRANSACTION", transaction).replace(", PROPERTIES", f", {properties}" if properties else "")
    with flow_under_test(folder, text, work__esql=INSERT, bad__esql=BAD) as flow:
        flow.database("SHOP").load("ORDERS", [{"ID": "old"}])
        result = flow.send(message)
        return result, [row["ID"] for row in flow.database("SHOP").rows("ORDERS")]


def test_changes_in_a_database_are_committed_with_the_message(tmp_path: Path) -> None:
    assert stored(tmp_path, "<Order><Id>new</Id></Order>") == (Result.DONE, ["old", "new"])


def test_changes_in_a_database_are_undone_with_the_message(tmp_path: Path) -> None:
    assert stored(tmp_path, "<Order><Id>bad</Id></Order>") == (Result.DEAD_LETTER, ["old"])


def test_changes_that_are_committed_at_once_stay(tmp_path: Path) -> None:
    found = stored(tmp_path, "<Order><Id>bad</Id></Order>", properties="database_transaction: commit")
    assert found == (Result.DEAD_LETTER, ["old", "bad"])


def test_an_error_of_a_database_is_a_database_exception(tmp_path: Path) -> None:
    text = DATABASE.replace("TRANSACTION", "yes").replace(", PROPERTIES", "")
    with flow_under_test(tmp_path, text, work__esql=INSERT, bad__esql=BAD) as flow:
        assert flow.send("<Order><Id>new</Id></Order>") is Result.DEAD_LETTER
        assert "DatabaseException 2321" in flow.failures[0].exceptions
