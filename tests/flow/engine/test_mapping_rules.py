"""Mapping: rules in YAML, from source paths to target paths."""

from pathlib import Path

import pytest

from heliograph.flow.engine.outcome import Result
from heliograph.flow.errors import DefinitionProblem
from heliograph.flow.loading.flow_loading import load_flow
from small_flows import flow_under_test, write_flow

FLOW = """
nodes:
  in: {type: QueueInput, queue: Q, domain: XMLNSC}
  map: {type: Mapping, map: invoice.map.yaml, data_source: SHOP}
  out: {type: QueueOutput, queue: OUT}
connections:
  - in.out -> map
  - map.out -> out
data_sources: {SHOP: null}
"""
HEAD = """mapping: invoice
source: InputRoot.XMLNSC.Order
target: OutputRoot.XMLNSC.Invoice
map:
"""
ORDER = (
    "<Order><Id>7</Id><Customer><Name>Ann</Name></Customer>"
    "<Item><Code>A</Code><Quantity>2</Quantity></Item>"
    "<Item><Code>B</Code><Quantity>0</Quantity></Item>"
    "<Item><Code>C</Code><Quantity>1</Quantity><Note>x</Note><Note>y</Note></Item></Order>"
)


def mapped(folder: Path, rules: str, head: str = HEAD) -> str:
    with flow_under_test(folder, FLOW, invoice__map__yaml=head + rules) as flow:
        assert flow.send(ORDER, priority=5) is Result.DONE, flow.failures[0].exceptions
        (message,) = flow.queue("OUT")
        return message.body.decode()


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ("  - {to: Number, from: Id}", "<Number>7</Number>"),
        ("  - {to: Who.Name, from: Customer.Name}", "<Who><Name>Ann</Name></Who>"),
        ("  - {to: Who, from: Customer}", "<Who><Name>Ann</Name></Who>"),
        ("  - {to: Currency, constant: it's EUR}", "<Currency>it's EUR</Currency>"),
        ("  - {to: Rate, constant: 19}", "<Rate>19</Rate>"),
        ("  - {to: Big, expression: UPPER(source.Customer.Name) || '!'}", "<Big>ANN!</Big>"),
        ("  - {to: Number, from: Id, when: source.Id > 5}", "<Number>7</Number>"),
        ("  - {to: Number, from: Id, when: source.Id > 8}", ""),
        ("  - {to: Number, from: Gone}", ""),
        ("  - {to: Codes, from: InputRoot.MQMD.Priority}", "<Codes>5</Codes>"),
        (
            "  - {to: Item, for: Item, map: [{to: Sku, from: Code}]}",
            "<Item><Sku>A</Sku></Item><Item><Sku>B</Sku></Item><Item><Sku>C</Sku></Item>",
        ),
        (
            "  - {to: Lines.Line, for: Item, as: part, when: part.Quantity > 0, map: [{to: Sku, from: Code}]}",
            "<Lines><Line><Sku>A</Sku></Line><Line><Sku>C</Sku></Line></Lines>",
        ),
        (
            """  - to: Line
    for: Item
    as: part
    when: part.Code = 'C'
    map:
      - {to: T, for: Note, as: note, map: [{to: A, expression: part.Code || source.Id || note}]}""",
            "<Line><T><A>C7x</A></T><T><A>C7y</A></T></Line>",
        ),
        ("  - {to: (XMLNSC.Attribute)Id, from: Id}\n  - {to: Name, from: Customer.Name}", "<Name>Ann</Name>"),
    ],
    ids=[
        "path", "deep target", "whole group", "text constant", "number constant", "expression", "condition holds",
        "condition does not hold", "missing source", "another tree", "loop", "loop with condition and deep target",
        "loop in a loop", "attribute",
    ],
)  # fmt: skip
def test_a_rule(tmp_path: Path, rules: str, expected: str) -> None:
    body = mapped(tmp_path, rules + "\n")
    inner = body.removeprefix("<Invoice>").removeprefix('<Invoice Id="7">').removesuffix("</Invoice>")
    assert inner.replace("<Invoice/>", "") == expected, body


def test_headers_are_copied_unless_the_mapping_says_no(tmp_path: Path) -> None:
    rules = "  - {to: Number, from: Id}\n"
    for headers, priority in (("", 5), ("headers: no\n", 0)):
        with flow_under_test(tmp_path, FLOW, invoice__map__yaml=headers + HEAD + rules) as flow:
            flow.send(ORDER, priority=5)
            assert flow.queue("OUT")[0].priority == priority


def test_a_rule_can_look_into_a_database(tmp_path: Path) -> None:
    rule = "THE(SELECT ITEM T.CITY FROM Database.CUSTOMER AS T WHERE T.NAME = source.Customer.Name)"
    with flow_under_test(tmp_path, FLOW, invoice__map__yaml=f"{HEAD}  - to: City\n    expression: {rule}\n") as flow:
        flow.database("SHOP").load("CUSTOMER", [{"NAME": "Ann", "CITY": "Ulm"}])
        assert flow.send(ORDER) is Result.DONE, flow.failures[0].exceptions
        assert flow.queue("OUT")[0].body == b"<Invoice><City>Ulm</City></Invoice>"


def test_a_message_without_the_source_fails(tmp_path: Path) -> None:
    with flow_under_test(tmp_path, FLOW, invoice__map__yaml=HEAD + "  - {to: Number, from: Id}\n") as flow:
        assert flow.send("<Letter/>") is Result.DEAD_LETTER
        assert "The message has no InputRoot.XMLNSC.Order." in flow.failures[0].exceptions


def test_an_error_while_it_runs_points_to_the_line_of_the_rule(tmp_path: Path) -> None:
    rules = "  - {to: Number, from: Id}\n  - to: Bad\n    expression: 1 / 0\n"
    with flow_under_test(tmp_path, FLOW, invoice__map__yaml=HEAD + rules) as flow:
        assert flow.send(ORDER) is Result.DEAD_LETTER
        assert "invoice.map.yaml:7: in invoice.Main" in flow.failures[0].exceptions


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ("  - {too: Number, from: Id}", "invoice.map.yaml:5:6: there is no too here (did you mean to?)"),
        (
            "  - {to: Number}",
            "invoice.map.yaml:5:5: a rule needs one of from, constant, expression, for; this one has none",
        ),
        (
            "  - {to: N, from: Id, constant: 1}",
            "invoice.map.yaml:5:5: a rule needs one of from, constant, expression, for",
        ),
        ("  - {to: N, from: Id, map: []}", "invoice.map.yaml:5:23: map belongs to a rule with for"),
        ("  - {to: L, for: Item}", "invoice.map.yaml:5:5: expected a list of rules under map"),
        ("  - {to: N, from: Id}\n  - to: X\n    expression: 1 +", "invoice.map.yaml:7:1: "),
        ("  - {to: N, expression: UPER(source.Id)}", "invoice.map.yaml:5:1: "),
        ("  - {to: N, constant: [1]}", "invoice.map.yaml:5:13: expected a text or a number, found [1]"),
        ("  - Number", "invoice.map.yaml:5:5: expected a rule {to: ..., from: ...}, found 'Number'"),
    ],
)
def test_mistakes_point_to_the_mapping(tmp_path: Path, rules: str, expected: str) -> None:
    with pytest.raises(DefinitionProblem) as caught:
        load_flow(write_flow(tmp_path, FLOW, invoice__map__yaml=HEAD + rules + "\n"))
    assert any(line.startswith(expected) for line in str(caught.value).splitlines()), str(caught.value)
