"""Messages that one Compute node made for another alone are not copied, and nobody can tell."""

from pathlib import Path

import pytest

from heliograph.flow.engine.compiled_flow import CompiledFlow, compile_flow
from heliograph.flow.testing import FlowUnderTest
from small_flows import flow_under_test

ORDER = "<Order><Amount>250</Amount></Order>"
COPY = "SET OutputRoot = InputRoot;"
FIRST = f"{COPY} SET OutputRoot.XMLNSC.Order.First = 1;"
SECOND = f"{COPY} SET OutputRoot.XMLNSC.Order.Second = 2;"
STRAIGHT = ("in.out -> first", "first.out -> second", "second.out -> out")


def chain(
    folder: Path, second: str = SECOND, first: str = FIRST, connections: tuple[str, ...] = STRAIGHT
) -> FlowUnderTest:
    lines = "".join(f"  - {line}\n" for line in connections)
    other = "  other: {type: QueueOutput, queue: OTHER}\n" if any("other" in line for line in connections) else ""
    text = f"""
nodes:
  in: {{type: QueueInput, queue: Q, domain: XMLNSC, transaction: no}}
  first: {{type: Compute, esql: first.esql}}
  second: {{type: Compute, esql: second.esql}}
  out: {{type: QueueOutput, queue: OUT}}
{other}connections:
{lines}"""
    return flow_under_test(folder, text, first__esql=first, second__esql=second)


def bodies(flow: FlowUnderTest, queue: str) -> list[bytes]:
    return [envelope.body for envelope in flow.queue(queue)]


def moves(flow: CompiledFlow) -> bool:
    return bool(compile_flow(flow.definition)._nodes["second"]._moves_message)  # type: ignore[attr-defined]


def test_a_message_that_nobody_else_has_is_moved(tmp_path):
    with chain(tmp_path) as flow:
        flow.send(ORDER)

        assert bodies(flow, "OUT") == [b"<Order><Amount>250</Amount><First>1</First><Second>2</Second></Order>"]
        assert moves(flow.flow)


@pytest.mark.parametrize(
    "second",
    [
        f"{SECOND} SET OutputRoot.XMLNSC.Order.Was = COALESCE(InputRoot.XMLNSC.Order.Second, 'nothing');",
        f"SET OutputRoot.XMLNSC.Order.Second = 2; {COPY}",
        f"WHILE OutputRoot.XMLNSC.Order.Amount IS NULL DO {COPY} END WHILE;",
        f"{SECOND} EVAL('SET OutputRoot = InputRoot;');",
    ],
    ids=["looks at its input", "does not begin with it", "in a loop", "text that is run"],
)
def test_a_program_that_may_need_its_input_gets_a_copy(tmp_path, second):
    with chain(tmp_path, second) as flow:
        flow.send(ORDER)

        assert not moves(flow.flow)


def test_a_failure_terminal_gets_the_message_as_it_came(tmp_path):
    second = f"{SECOND} THROW USER EXCEPTION VALUES('no');"
    with chain(tmp_path, second, connections=(*STRAIGHT, "second.failure -> other")) as flow:
        flow.send(ORDER)

        assert bodies(flow, "OTHER") == [b"<Order><Amount>250</Amount><First>1</First></Order>"]
        assert not moves(flow.flow)


def test_a_branch_beside_gets_the_message_as_it_came(tmp_path):
    with chain(tmp_path, connections=(*STRAIGHT, "first.out -> other")) as flow:
        flow.send(ORDER)

        assert bodies(flow, "OTHER") == [b"<Order><Amount>250</Amount><First>1</First></Order>"]
        assert not moves(flow.flow)


def test_a_program_that_propagates_keeps_what_it_has_sent(tmp_path):
    first = f"{FIRST} PROPAGATE DELETE NONE; SET OutputRoot.XMLNSC.Order.First = 3;"
    with chain(tmp_path, first=first) as flow:
        flow.send(ORDER)

        assert bodies(flow, "OUT") == [
            b"<Order><Amount>250</Amount><First>1</First><Second>2</Second></Order>",
            b"<Order><Amount>250</Amount><First>3</First><Second>2</Second></Order>",
        ]
        assert not moves(flow.flow)
