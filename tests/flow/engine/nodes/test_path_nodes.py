"""How messages travel: FlowOrder, TryCatch, Throw, failure terminals, labels, several connections."""

from pathlib import Path

import pytest

from heliograph.flow.engine.outcome import Result
from heliograph.flow.testing import FlowUnderTest
from small_flows import flow_under_test

CHANGE = """
def process(message, environment):
    element = environment.ensure("seen")
    element.set_value((element.value or "") + "x")
    message.body.first("BLOB").set_value(b"changed")
    return message
"""


def sent(flow: FlowUnderTest, body: str = "m") -> dict[str, list[bytes]]:
    with flow:
        flow.send(body)
        return {name: [message.body for message in messages] for name, messages in flow.queues.items()}


def test_flow_order_completes_the_first_path_before_the_second(tmp_path: Path) -> None:
    text = """
nodes:
  in: {type: QueueInput, queue: Q}
  order: {type: FlowOrder}
  inner: {type: FlowOrder}
  a: {type: QueueOutput, queue: A}
  b: {type: QueueOutput, queue: B}
  c: {type: QueueOutput, queue: C}
connections:
  - in.out -> order
  - order.first -> inner
  - inner.first -> a
  - inner.second -> b
  - order.second -> c
"""
    assert list(sent(flow_under_test(tmp_path, text))) == ["A", "B", "C"]


def test_what_the_first_path_does_to_the_message_is_not_seen_by_the_second(tmp_path: Path) -> None:
    text = """
nodes:
  in: {type: QueueInput, queue: Q}
  order: {type: FlowOrder}
  change: {type: Python, file: change.py}
  a: {type: QueueOutput, queue: A}
  again: {type: Python, file: show.py}
  b: {type: QueueOutput, queue: B}
connections:
  - in.out -> order
  - order.first -> change
  - change.out -> a
  - order.second -> again
  - again.out -> b
"""
    show = """
def process(message, environment):
    message.body.first("BLOB").set_value(message.body.first("BLOB").value + environment.first("seen").value.encode())
    return message
"""
    queues = sent(flow_under_test(tmp_path, text, change__py=CHANGE, show__py=show))
    assert queues == {"A": [b"changed"], "B": [b"mx"]}  # but the environment is one for both


def test_an_exception_on_the_first_path_ends_flow_order(tmp_path: Path) -> None:
    text = """
nodes:
  in: {type: QueueInput, queue: Q, transaction: no}
  order: {type: FlowOrder}
  bad: {type: Throw}
  b: {type: QueueOutput, queue: B}
connections:
  - in.out -> order
  - order.first -> bad
  - order.second -> b
"""
    with flow_under_test(tmp_path, text) as flow:
        assert flow.send("m") is Result.DISCARDED
        assert flow.queues == {}


TRY = """
nodes:
  in: {type: QueueInput, queue: Q}
  guard: {type: TryCatch}
  change: {type: Python, file: change.py}
  put: {type: QueueOutput, queue: TRIED}
  bad: {type: Throw, text: no good, number: 3005}
  tell: {type: Trace, pattern: "${ExceptionList.RecoverableException.UserException.Text}"}
  caught: {type: QueueOutput, queue: CAUGHT}
connections:
  - in.out -> guard
  - guard.try -> change
  - change.out -> put
  - put.out -> bad
"""


def test_catch_gets_the_message_as_it_was_with_the_exception_list(tmp_path: Path) -> None:
    text = TRY + "  - guard.catch -> tell\n  - tell.out -> caught\n"
    with flow_under_test(tmp_path, text, change__py=CHANGE) as flow:
        assert flow.send("m") is Result.DONE
        assert [message.body for message in flow.queue("CAUGHT")] == [b"m"]
        assert flow.trace == "(0x3000000)Text = 'no good'\n"


def test_what_was_put_before_the_exception_stays_in_the_unit_of_work(tmp_path: Path) -> None:
    text = TRY + "  - guard.catch -> tell\n  - tell.out -> caught\n"
    assert sent(flow_under_test(tmp_path, text, change__py=CHANGE))["TRIED"] == [b"changed"]


def test_without_a_catch_path_the_exception_is_logged_and_forgotten(tmp_path: Path) -> None:
    text = (
        TRY.replace("  tell: {type: Trace", "  tell_: {type: Trace").split("  tell_:")[0]
        + TRY[TRY.index("connections") :]
    )
    with flow_under_test(tmp_path, text, change__py=CHANGE) as flow:
        assert flow.send("m") is Result.DONE
        assert any("no good" in event.text for event in flow.logged)


def test_a_failure_terminal_takes_the_errors_of_its_own_node(tmp_path: Path) -> None:
    text = """
nodes:
  in: {type: QueueInput, queue: Q}
  bad: {type: Python, file: bad.py}
  rescue: {type: QueueOutput, queue: RESCUED}
  never: {type: QueueOutput, queue: NEVER}
connections:
  - in.out -> bad
  - bad.out -> never
  - bad.failure -> rescue
"""
    bad = "def process(message):\n    message.body.clear()\n    raise ValueError('so bad')\n"
    assert sent(flow_under_test(tmp_path, text, bad__py=bad)) == {"RESCUED": [b"m"]}


def test_a_failure_terminal_does_not_take_errors_behind_its_node(tmp_path: Path) -> None:
    text = """
nodes:
  in: {type: QueueInput, queue: Q, transaction: no}
  good: {type: Python, file: good.py}
  bad: {type: Throw, text: behind}
  rescue: {type: QueueOutput, queue: RESCUED}
connections:
  - in.out -> good
  - good.out -> bad
  - good.failure -> rescue
"""
    with flow_under_test(tmp_path, text, good__py="def process(message): return message\n") as flow:
        assert flow.send("m") is Result.DISCARDED
        assert flow.queues == {}


def test_a_terminal_sends_to_everything_that_is_connected_to_it(tmp_path: Path) -> None:
    text = """
nodes:
  in: {type: QueueInput, queue: Q}
  change: {type: Python, file: change.py}
  a: {type: QueueOutput, queue: A}
  b: {type: QueueOutput, queue: B}
connections:
  - in.out -> change
  - change.out -> a
  - in.out -> b
"""
    assert sent(flow_under_test(tmp_path, text, change__py=CHANGE)) == {"A": [b"changed"], "B": [b"m"]}


def test_a_loop_that_does_not_end_fails_and_does_not_hang(tmp_path: Path) -> None:
    text = """
nodes:
  in: {type: QueueInput, queue: Q, transaction: no}
  one: {type: FlowOrder}
  two: {type: FlowOrder}
connections:
  - in.out -> one
  - one.first -> two
  - two.first -> one
"""
    with flow_under_test(tmp_path, text) as flow:
        assert flow.send("m") is Result.DISCARDED
        assert "loop" in flow.failures[0].text
        assert [*map(str, flow.definition.warnings)] == ["flow.yaml:5:3: no node ends the loop one -> two -> one"]


LABELS = """
nodes:
  in: {type: QueueInput, queue: Q}
  list: {type: Python, file: list.py}
  route: {type: RouteToLabel, mode: MODE}
  x: {type: Label, label: X}
  y: {type: Label}
  again: {type: RouteToLabel}
  a: {type: QueueOutput, queue: A}
  b: {type: QueueOutput, queue: B}
  failed: {type: QueueOutput, queue: FAILED}
connections:
  - in.out -> list
  - list.out -> route
  - x.out -> a
  - y.out -> b
  - a.out -> again
  - route.failure -> failed
"""


def listing(*names: str) -> str:
    return f"""
from heliograph.flow.tree import Element

def process(message):
    labels = message.local_environment.ensure("Destination").ensure("RouterList")
    for name in {names!r}:
        labels.append(Element("DestinationData")).append(Element("labelName", name))
    return message
"""


@pytest.mark.parametrize(
    ("mode", "labels", "expected"),
    [
        ("last", ("X", "y"), {"B": [b"m"]}),
        ("first", ("X", "y"), {"A": [b"m"], "B": [b"m"]}),
        ("last", ("y", "X"), {"A": [b"m"], "B": [b"m"]}),
        ("first", ("y", "X"), {"B": [b"m"]}),
        ("last", (), {"FAILED": [b"m"]}),
        ("last", ("x",), {"FAILED": [b"m"]}),
    ],
    ids=["last", "first", "chained", "one label only", "no entry", "names are case-sensitive"],
)
def test_route_to_label(tmp_path: Path, mode: str, labels: tuple[str, ...], expected: dict[str, list[bytes]]) -> None:
    text = LABELS.replace("MODE", mode)
    with flow_under_test(tmp_path, text, list__py=listing(*labels)) as flow:
        flow.send("m")
        assert {name: [message.body for message in put] for name, put in flow.queues.items()} == expected


ROUTED = """
nodes:
  in: {type: QueueInput, queue: Q}
  build: {type: Compute, esql: build.esql, mode: all}
  route: {type: RouteToLabel, mode: first}
  x: {type: Label}
  seen: {type: Trace, pattern: "${FIELDVALUE(LocalEnvironment.Destination.RouterList.DestinationData.labelName)}"}
connections:
  - in.out -> build
  - build.out -> route
  - x.out -> seen
"""


@pytest.mark.parametrize("keep", ["", "DELETE NONE"])
def test_the_entry_that_was_used_is_gone_behind_the_label_and_there_before(tmp_path: Path, keep: str) -> None:
    esql = f"""CREATE COMPUTE MODULE Build
  CREATE FUNCTION Main() RETURNS BOOLEAN
  BEGIN
    SET OutputRoot = InputRoot;
    SET OutputLocalEnvironment.Destination.RouterList.DestinationData[1].labelName = 'x';
    SET OutputLocalEnvironment.Destination.RouterList.DestinationData[2].labelName = 'y';
    PROPAGATE {keep};
    SET Environment.left = CARDINALITY(OutputLocalEnvironment.Destination.RouterList.DestinationData[]);
    RETURN FALSE;
  END;
END MODULE;
"""
    left = 'left: {type: Trace, pattern: "${FIELDVALUE(Environment.left)}"}'
    text = ROUTED.replace("connections:", f"  order: {{type: FlowOrder}}\n  {left}\nconnections:").replace(
        "in.out -> build", "in.out -> order\n  - order.first -> build\n  - order.second -> left"
    )
    with flow_under_test(tmp_path, text, build__esql=esql) as flow:
        assert flow.send("m") is Result.DONE, flow.failures[0].exceptions
        assert flow.trace == ("y\n2\n" if keep else "y\n0\n")
