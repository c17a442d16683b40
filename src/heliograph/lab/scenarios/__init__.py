"""Scenarios: the tests of five published performance reports, at their scale or scaled down.

`all_scenarios()` returns all of them, `load_scenario(name)` one; docs/reference/lab-scenarios.md has the format.
"""

from heliograph.lab.scenarios.scenario import Scenario, Variant
from heliograph.lab.scenarios.scenario_catalogue import SOURCES, ReportDocument, all_scenarios, load_scenario
from heliograph.lab.scenarios.scenario_terms import FlowLoad, Measure, PassRule, QueueSetup, ScenarioSetup, Score

__all__ = [
    "SOURCES",
    "FlowLoad",
    "Measure",
    "PassRule",
    "QueueSetup",
    "ReportDocument",
    "Scenario",
    "ScenarioSetup",
    "Score",
    "Variant",
    "all_scenarios",
    "load_scenario",
]
