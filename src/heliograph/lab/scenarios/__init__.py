"""Scenarios: the tests of five published performance reports, at their scale or scaled down.

`catalogue()` has all of them and `load(name)` one; `docs/reference/lab-scenarios.md` says how they are written.
"""

from heliograph.lab.scenarios.scenario import Scenario, Variant
from heliograph.lab.scenarios.scenario_catalogue import SOURCES, Source, catalogue, load
from heliograph.lab.scenarios.scenario_terms import FlowLoad, Measure, PassRule, QueueSetup, Score, Setup

__all__ = [
    "SOURCES",
    "FlowLoad",
    "Measure",
    "PassRule",
    "QueueSetup",
    "Scenario",
    "Score",
    "Setup",
    "Source",
    "Variant",
    "catalogue",
    "load",
]
