"""Why a trial cannot be run."""

from heliograph.lab.scenarios.terms import NEEDS
from heliograph.lab.targets.demand import needs_of
from heliograph.lab.trials.trial import Trial

_WORDS = NEEDS | {
    "qos2": "QoS 2",
    "selectors": "selectors",
    "mqtt-tcp-and-tls": "MQTT listeners with and without TLS at once",
}


def refusal(trial: Trial) -> str:
    """In a sentence; empty if it can."""
    scenario, kind = trial.scenario, trial.kind
    if kind.version() is None:
        return f"{kind.name} is not installed{f'; {kind.remedy}' if kind.remedy else ''}"
    if why := scenario.refusal(kind.name, kind.knows):
        return why
    if scenario.is_flow:
        from heliograph.lab.trials.flow_trial import missing_database  # noqa: PLC0415 - flows take a second to import

        return missing_database(scenario.flow(trial.variant, trial.overrides))
    lacking = sorted(needs_of(scenario.plan(trial.scale, trial.variant, trial.overrides)) - kind.knows)
    if lacking:
        return (
            f"{scenario.name} needs {' and '.join(_WORDS[need] for need in lacking)}, which {kind.name} does not have"
        )
    return ""
