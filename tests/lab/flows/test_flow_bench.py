"""The table of measured flows, and what it says of rows that fall short."""

import json

import pytest

from heliograph.cli.main import main
from heliograph.lab.flows.end_to_end import EndToEnd, how_many
from heliograph.lab.flows.flow_bench import as_data, as_markdown, header, line, shortfalls
from heliograph.lab.flows.flow_cases import cases
from heliograph.lab.flows.flow_rows import FlowRow
from heliograph.lab.flows.in_memory import InMemory
from heliograph.lab.flows.published_rows import PublishedRow, published_rows


def published(section):
    return next(row for row in published_rows() if row.section == section)


def row(section, rate, *, memory=None, error="", others=0.0):
    case = next(case for case in cases() if case.section == section)
    run = EndToEnd(1000, rate, cpu_ms=0.2, flow_cpu_ms=0.1, seconds=1.0, others=others)
    return FlowRow(case, published(section), memory, None if error else run, error)


def test_a_row_has_both_figures_and_their_ratios():
    assert line(row("10.1", 54540.0)).split() == [
        *("10.1", "pass", "through", "1024", "2727", "54540", "20x", "1.01", "0.2", "5.05x", "-"),
    ]


def test_figures_in_memory_stand_beside_their_floors():
    shown = line(row("10.8.1.1", 4000.0, memory=InMemory(60.0, 30.0, 120.0, 2.1, 0.5)))
    assert shown.split()[-3:] == ["60", "2.1x", "0.5x"]


def test_columns_stand_below_their_titles():
    assert line(row("10.1", 54540.0)).index("54540") + 5 == header().index("ours/s") + 6


def test_a_row_that_failed_says_why():
    assert line(row("10.1", 0, error="3 are missing\nand so on")).endswith("failed: 3 are missing")


def test_a_row_that_was_disturbed_says_so():
    assert line(row("10.1", 1.0, others=0.7)).endswith("noisy: others used 0.7 cores")
    assert not line(row("10.1", 1.0, others=0.1)).endswith("cores")


@pytest.mark.parametrize(
    ("measured", "said"),
    [
        (row("10.1", 27270.0), []),
        (row("10.1", 20000.0), ["10.1 pass through, 1024 bytes: 7.33x the published rate, wanted 10x"]),
        (row("10.8.5", 900.0), ["10.8.5 SWIFT MT543, 6449 bytes: 900 messages/s, wanted 1000"]),
        (row("10.11.1.2", 1.0), []),
        (row("10.1", 0, error="gone"), ["10.1 pass through, 1024 bytes: failed: gone"]),
        (
            row("10.8.1.1", 9999.0, memory=InMemory(60.0, 20.0, None, 3.0)),
            ["10.8.1.1 xml to xml, 4096 bytes: 3x the time of bare lxml in memory, wanted 2x"],
        ),
    ],
    ids=["met", "slow", "swift", "parallel", "failed", "lxml"],
)
def test_what_falls_short_is_listed(measured, said):
    found = shortfalls([measured])
    assert len(found) == len(said)
    assert all(text.startswith(wanted) for text, wanted in zip(found, said, strict=True))


def test_the_table_is_there_as_markdown():
    first, rules, only, *_ = as_markdown([row("10.1", 54540.0)]).splitlines()
    assert first.count("|") == rules.count("|") == only.count("|") == 15
    assert "| 54540 | 20x |" in only


def test_a_row_can_be_written_as_json():
    data = json.loads(json.dumps(as_data(row("10.1", 54540.0))))
    assert (data["section"], data["published"]["rate"], data["end_to_end"]["rate"]) == ("10.1", 2727.0, 54540.0)


def test_cases_are_listed(capsys):
    assert main(["bench", "flows", "--list", "--case", "10.3.1"]) == 0
    assert capsys.readouterr().out.split() == [
        *("10.3.1", "simple", "compute", "1024,", "4096,", "16384,", "65536,", "1024p")
    ]


def test_a_case_that_is_not_there_is_told(capsys):
    assert main(["bench", "flows", "--case", "11.*"]) == 1
    assert "no case fits 11.*" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("section", "size", "flow_us", "count"),
    [
        ("10.1", 1024, 5.0, 27000),
        ("10.1", 65536, 5.0, 2048),
        ("10.3.4", 4096, 3000.0, 329),
        ("10.9.1.4", 1024, 100.0, 60),
        ("10.3.4", 4096, 1e6, 20),
    ],
    ids=["by time", "by bytes", "slow", "by copies", "at least"],
)
def test_so_many_messages_are_sent_as_take_about_a_second(section, size, flow_us, count):
    case = next(case for case in cases() if case.section == section)
    wanted = PublishedRow(section, "", False, size, 1.0, 1.0, 1.0)
    assert how_many(case, wanted, flow_us, 1.0) == pytest.approx(count, rel=0.05)
