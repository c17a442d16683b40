"""docs/reference/lab-scenarios.md has every scenario, and its example is one."""

import re
from pathlib import Path

import pytest

from heliograph.lab.scenarios import SOURCES, ReportDocument, Scenario, all_scenarios
from heliograph.lab.scenarios.scenario_reader import TYPES, read_scenario
from heliograph.lab.scenarios.scenario_terms import NEEDS, VALUES

TEXT = (Path(__file__).parents[3] / "docs" / "reference" / "lab-scenarios.md").read_text("utf-8")


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name)
def test_the_tables_have_every_scenario_in_order(source: ReportDocument) -> None:
    part = TEXT.split(f"### {source.title}", 1)[1].split("\n### ", 1)[0]
    rows = [
        tuple(cell.strip() for cell in line.split("|")[1:4]) for line in part.splitlines() if line.startswith("| `")
    ]
    assert rows == [_row(scenario) for scenario in all_scenarios(source.name)]


def _row(scenario: Scenario) -> tuple[str, str, str]:
    return f"`{scenario.name}`", scenario.title, ", ".join(scenario.needs)


def test_the_number_of_scenarios_is_right() -> None:
    assert f"There are {len(all_scenarios())} of them" in TEXT


def test_the_example_can_be_read_and_planned() -> None:
    [example] = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
    scenario = read_scenario(example, "example", "messagesight")
    assert scenario.plan(0.01).groups[1].clients == 100


def test_all_words_are_explained() -> None:
    for words in (NEEDS, VALUES):
        for word, meaning in words.items():
            assert f"| `{word}` | {meaning} |" in TEXT
    for name in TYPES:
        assert f"`{name}`" in TEXT
