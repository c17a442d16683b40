"""Whatever somebody writes into a flow's files, he is told what is wrong with it, and nothing breaks."""

from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.errors import Problem
from heliograph.flow.definition import Findings
from heliograph.flow.engine.compiled_flow import compile_flow
from heliograph.flow.engine.mapping_rules import mapping_text
from heliograph.flow.engine.nodes.node_kinds import KINDS
from heliograph.flow.loading.flow_loading import load_flow
from heliograph.flow.testing.case import read_cases

names = st.sampled_from(["in", "out", "work", "map", "x"])
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 5), st.sampled_from(["", "a", "yes", "$(p)", "$(", "${", "a.esql"])
)
properties = sorted({name for kind in KINDS.values() for name in kind.properties})
anything = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(names, inner, max_size=2)),
    max_leaves=4,
)
kinds = st.sampled_from([*KINDS, "Subflow", "Input", "Output", "None"])
nodes = st.builds(
    lambda kind, given: {**given, "type": kind},
    kinds,
    st.dictionaries(st.sampled_from(properties), st.one_of(scalars, anything), max_size=3),
)
connections = st.builds(
    "{}.{} -> {}".format, names, st.sampled_from(["out", "true", "try", "failure", "catch", "first"]), names
)
flows = st.fixed_dictionaries(
    {"flow": st.just("f")},
    optional={
        "parameters": st.one_of(st.just({"p": 5}), anything),
        "nodes": st.one_of(st.dictionaries(names, nodes, max_size=4), anything),
        "connections": st.one_of(st.lists(connections, max_size=4), anything),
        "data_sources": anything,
        "other": anything,
    },
)
subflows = st.fixed_dictionaries(
    {"subflow": st.just("a")},
    optional={
        "properties": anything,
        "nodes": st.one_of(st.dictionaries(names, nodes, max_size=3), anything),
        "connections": st.one_of(st.lists(connections, max_size=3), anything),
    },
)
rules = st.lists(
    st.dictionaries(st.sampled_from(["to", "from", "constant", "expression", "for", "as", "when", "map"]), anything),
    max_size=3,
)
mappings = st.fixed_dictionaries(
    {"mapping": st.just("m"), "source": st.just("InputRoot.XMLNSC.a"), "target": st.just("OutputRoot.XMLNSC.b")},
    optional={"map": st.one_of(rules, anything), "headers": scalars},
)
cases = st.dictionaries(
    st.sampled_from(["input", "expect", "now", "database", "refuse", "parameters", "environment", "cases"]),
    st.one_of(
        anything,
        st.dictionaries(
            st.sampled_from(["queues", "topics", "files", "responses", "error", "trace", "database"]), anything
        ),
    ),
)


@settings(max_examples=60, deadline=None)
@given(flows, subflows)
def test_a_flow_is_loaded_and_compiled_or_its_mistakes_are_told(flow: dict[str, Any], subflow: dict[str, Any]) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "subflows").mkdir()
        (folder / "flow.yaml").write_text(yaml.safe_dump(flow))
        (folder / "subflows" / "a.yaml").write_text(yaml.safe_dump(subflow))
        with suppress(Problem):
            compile_flow(load_flow(folder))


@settings(max_examples=40, deadline=None)
@given(st.text(alphabet="a:{}[]-,\n '\"&*!|>#%@`\t$", max_size=30))
def test_any_text_as_a_flow_file(text: str) -> None:
    with TemporaryDirectory() as name:
        (Path(name) / "flow.yaml").write_text(text)
        with pytest.raises(Problem, match=r"^flow\.yaml:\d+:\d+: "):
            load_flow(name)


@settings(max_examples=50, deadline=None)
@given(st.one_of(mappings, anything))
def test_any_mapping(mapping: Any) -> None:
    findings = Findings()
    _, text = mapping_text(yaml.safe_dump(mapping), "m.map.yaml", findings)
    assert findings.count() or text.endswith("END MODULE; ")


@settings(max_examples=50, deadline=None)
@given(cases)
def test_any_test_case(case: dict[str, Any]) -> None:
    with TemporaryDirectory() as name:
        file = Path(name) / "case.yaml"
        file.write_text(yaml.safe_dump(case))
        with suppress(Problem):
            read_cases(file, "case.yaml")
