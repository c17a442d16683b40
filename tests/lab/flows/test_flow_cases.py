"""The measured flows do what the published report says they do; here with one message each and without a server."""

import re
from dataclasses import replace

import pytest

from heliograph.errors import Problem
from heliograph.flow.engine.outcome import Put
from heliograph.lab.flows.flow_cases import OUTPUT, REPLIES, REQUESTS, Storage, cases, definition_of
from heliograph.lab.flows.flow_rows import chosen_cases, rows_of
from heliograph.lab.flows.in_memory import batch, body_of, can_run, check, measure, ready
from heliograph.lab.flows.lxml_baseline import SAME_WORK, parse_and_write
from heliograph.lab.flows.published_rows import published_rows

SIZES = {row.section: row.size for row in reversed(published_rows())}
ALL = {f"{case.section} {case.name}": case for case in cases()}
IN_MEMORY = {name: case for name, case in ALL.items() if can_run(case) and not case.alike}


def case_of(section):
    return next(case for case in cases() if case.section == section)


@pytest.mark.parametrize("name", IN_MEMORY)
def test_messages_go_through_and_come_out_right(name):
    case = IN_MEMORY[name]
    size = SIZES[case.section]
    with ready(case) as process:
        check(case, size, process(batch(case, size, 3)))


@pytest.mark.parametrize("name", [name for name, case in ALL.items() if case.alike])
def test_flows_that_are_said_to_be_alike_differ_only_in_how_they_are_run(name):
    case = ALL[name]
    like = case_of(case.alike)
    assert {**case.files, "flow.yaml": ""} == {**like.files, "flow.yaml": ""}
    assert nodes_of(case) == nodes_of(like)


def nodes_of(case):
    return {name: (node.type, node.properties) for name, node in definition_of(case.files).nodes.items()}


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("size", [4096, 6449])
def test_messages_have_the_wanted_size_and_no_two_are_the_same(name, size):
    case = ALL[name]
    first, second = batch(case, size, 2)
    assert (len(body_of(first)), len(body_of(second))) == (size, size)
    assert first.body != second.body


def test_a_wrong_result_is_not_measured():
    case = case_of("10.3.1")
    with ready(case_of("10.1")) as process, pytest.raises(Problem, match="expected b'<CSIM><A1>x"):
        check(case, 1024, process(batch(case, 1024, 1)))


def test_an_aggregation_asks_four_times_and_joins_the_replies():
    case = case_of("10.2")
    assert case.responder is not None
    with ready(case) as process:
        (asked,) = process(batch(case, 1024, 1))
        requests = [effect for effect in asked.effects if isinstance(effect, Put)]
        assert [put.queue for put in requests] == [REQUESTS] * 4
        with ready(replace(case_of("10.1"), files=case.responder)) as respond:
            answers = [put for outcome in respond([put.envelope for put in requests]) for put in outcome.effects]
        assert [put.queue for put in answers] == [REPLIES] * 4
        *waiting, last = process([put.envelope for put in answers], "replies")
    assert [outcome.effects for outcome in waiting] == [[], [], []]
    assert [(put.queue, put.envelope.body) for put in last.effects] == [(OUTPUT, case.expected(1024, 0))]


@pytest.mark.parametrize("section", SAME_WORK)
def test_floors_do_the_same_work(section):
    case = case_of(section)
    size = SIZES[section]
    (envelope,) = batch(case, size, 1)
    baseline = SAME_WORK[section](body_of(envelope))
    assert with_like_numbers(baseline) == with_like_numbers(case.expected(size, 0))


def with_like_numbers(document):
    """Python and ESQL write floating-point numbers each in their own way."""
    return re.sub(rb">(\d+\.[\dE+]+)<", lambda found: b">%.6f<" % float(found[1]), document)


def test_a_measurement_compares_with_the_floors():
    figures = measure(case_of("10.3.1"), 1024, 0.01)
    assert figures.flow > 0
    assert figures.bare
    assert figures.same_work
    assert figures.times_bare
    assert figures.times_same_work


@pytest.mark.parametrize("storage", [Storage.SQLITE, Storage.POSTGRESQL])
def test_database_flows_are_coordinated_where_the_database_can(storage):
    case = next(case for case in cases() if case.section == "10.4.1" and case.storage is storage)
    definition = definition_of(case.files)
    assert bool(definition.settings.get("coordinated")) is (storage is Storage.POSTGRESQL)


def test_parse_and_write_is_the_floor_of_all_floors():
    assert parse_and_write(b"<A><B>1</B></A>") == b"<A><B>1</B></A>"


# Choosing


def test_cases_are_chosen_by_section_or_name():
    assert [case.section for case in chosen_cases(["10.6.*"])] == ["10.6.1", "10.6.2"]
    assert [case.section for case in chosen_cases(["*MT543"])] == ["10.8.5"]
    with pytest.raises(Problem, match="no case fits 11"):
        chosen_cases(["11"])


def test_a_quick_run_has_the_smallest_messages_and_a_persistent_row_in_each_section():
    assert [(row.size, row.persistent) for row in rows_of(case_of("10.3.1"), quick=True)] == [
        (1024, False),
        (1024, True),
    ]
    assert [(row.size, row.persistent) for row in rows_of(case_of("10.3.2"), quick=True)] == [(4096, False)]
    assert len(rows_of(case_of("10.3.2"), quick=False)) == 4
