"""A scenario: what is measured, with which load, and when it has passed."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from heliograph.flow.definition import known, suggestion
from heliograph.lab.errors import InvalidScenario
from heliograph.lab.load.plan import Plan
from heliograph.lab.scenarios.expansion import flow_load, plan_of, setup_of
from heliograph.lab.scenarios.parameters import Parameter, Value, Values
from heliograph.lab.scenarios.scenario_terms import NEEDS, NOT_BUILT, FlowLoad, Measure, PassRule, ScenarioSetup, Score

OF_THE_RUN = {"seconds", "warm_up", "processes"}
"""What can be set of every scenario, besides its own parameters."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A row of the scenario: other values for some parameters."""

    name: str
    values: Mapping[str, Value]


@dataclass(frozen=True)
class Scenario:
    """One test of a document. At scale 1 it is what the document describes."""

    name: str
    document: str
    type: str
    title: str
    description: str
    needs: tuple[str, ...]
    parameters: Mapping[str, Parameter]
    variants: tuple[Variant, ...]
    default: str
    """The variant that is meant when none is named; empty if there are none."""
    measure: Measure
    passing: PassRule
    score: Score
    order: int
    """Its place among those of its document."""
    search_parameter: str = ""
    """What a search for the peak raises; empty if there is nothing to search."""
    section: str = ""
    """Where in its document it is described."""
    written_groups: tuple[Mapping[str, Any], ...] = ()
    written_setup: Mapping[str, Any] | None = None
    written_flow: Value = ""

    @property
    def is_flow(self) -> bool:
        """Whether it measures a message flow (`flow`), and not clients of a broker (`plan`)."""
        return bool(self.written_flow)

    def values(
        self, scale: float = 1.0, variant: str = "", overrides: Mapping[str, Value] | None = None
    ) -> dict[str, Value]:
        """All parameters at this scale. What is overridden is taken as it is, whatever the scale."""
        return self._values(scale, variant, overrides or {}).all()

    def plan(self, scale: float = 1.0, variant: str = "", overrides: Mapping[str, Value] | None = None) -> Plan:
        """The load at this scale; `overrides` has parameters, `seconds`, `warm_up` or `processes`."""
        if self.is_flow:
            raise InvalidScenario(f"{self.name} measures a message flow, which has no clients to plan")
        overrides = overrides or {}
        values = self._values(scale, variant, overrides)
        return plan_of(self.written_groups, values.get, self.measure.at_scale(scale), overrides)

    def setup(
        self, scale: float = 1.0, variant: str = "", overrides: Mapping[str, Value] | None = None
    ) -> ScenarioSetup:
        """How the system under test has to be configured for that load."""
        return setup_of(self.written_setup or {}, self._values(scale, variant, overrides or {}).get)

    def flow(self, variant: str = "", overrides: Mapping[str, Value] | None = None) -> FlowLoad:
        """The message flow that is measured, with its messages; a scale only makes it shorter (`measure.at_scale`)."""
        if not self.is_flow:
            raise InvalidScenario(f"{self.name} measures clients of a broker, not a message flow")
        return flow_load(self.written_flow, self._values(1.0, variant, overrides or {}).get)

    def missing(self, capabilities: Collection[str]) -> tuple[str, ...]:
        """What a system with these capabilities lacks for it."""
        return tuple(need for need in self.needs if need not in capabilities)

    def refusal(self, target: str, capabilities: Collection[str]) -> str:
        """Why it cannot be run on that system, in a sentence; empty if it can."""
        missing = self.missing(capabilities)
        if not missing:
            return ""
        lacks = " and ".join(NEEDS[need] for need in missing)
        unbuilt = [need for need in missing if need in NOT_BUILT]
        why = "; that is not built yet" if unbuilt and target.startswith("heliograph") else ""
        return f"{self.name} needs {lacks}, which {target} does not have{why}"

    def variant(self, name: str = "") -> Variant:
        """The variant of this name, or the usual one."""
        if not self.variants and not name:
            return Variant("", {})
        wanted = name or self.default
        for variant in self.variants:
            if variant.name == wanted:
                return variant
        names = [variant.name for variant in self.variants]
        raise InvalidScenario(f"{self.name} has no variant {name!r}{suggestion(name, names)}; it has {known(names)}")

    def _values(self, scale: float, variant: str, overrides: Mapping[str, Value]) -> Values:
        if scale <= 0:
            raise InvalidScenario(f"a scale is above 0, not {scale:g}")
        values = Values(self.parameters, self.variant(variant).values, scale)
        for name, value in overrides.items():
            if name not in OF_THE_RUN:
                values.set(name, value)
        return values
