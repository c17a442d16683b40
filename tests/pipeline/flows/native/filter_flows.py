"""Flows with one Filter, or some, made of conditions."""

from typing import Any

from heliograph.flow.definition import FlowDefinition
from heliograph.flow.loading.flow_loading import load_flow
from heliograph.lab.flows.flow_cases import write_folder

ONE = """\
flow: one
parameters: {limit: 95}
nodes:
  in: {type: TopicInput, topic: t, domain: JSON}
  check: {type: Filter, esql: check.esql}
  out: {type: QueueOutput, queue: OUT}
connections:
  - in.out -> check
  - check.true -> out
"""


def module(condition: str, declarations: str = "") -> str:
    """A module that returns a condition, or does what is said."""
    body = condition if condition.endswith(";") else f"RETURN {condition};"
    return (
        f"CREATE FILTER MODULE Check\n{declarations}\nCREATE FUNCTION Main() RETURNS BOOLEAN\n"
        f"BEGIN\n{body}\nEND;\nEND MODULE;\n"
    )


def flow_of(folder: Any, condition: str, declarations: str = "", flow: str = ONE) -> FlowDefinition:
    """A flow with this condition."""
    return load_flow(write_folder(folder, {"flow.yaml": flow, "check.esql": module(condition, declarations)}))
