"""Show a scenario: what it does, its parameters at a scale, its variants, its load, and when a run has passed."""

import argparse
import textwrap
from dataclasses import fields

from heliograph.cli.lab.options import positive
from heliograph.cli.shared.tables import facts, table
from heliograph.lab.load import Group, Payload
from heliograph.lab.scenarios import Scenario, load_scenario

EXAMPLES = """\
  helio lab show FANOUT
  helio lab show FANOUT --scale 0.01 --variant 1:10
"""
_WIDTH = 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `helio lab show`."""
    parser.add_argument("name", metavar="NAME", help="a scenario, as `helio lab list` lists them")
    parser.add_argument("--scale", type=positive, default=1.0, metavar="F", help="part of the published scale (1)")
    parser.add_argument("--variant", default="", metavar="V", help="a row of the scenario")


def run(args: argparse.Namespace) -> int:
    """Print."""
    scenario = load_scenario(args.name)
    print(f"{scenario.name}: {scenario.title} ({scenario.document})\n")
    print(textwrap.fill(" ".join(scenario.description.split()), _WIDTH))
    measure = scenario.measure.at_scale(args.scale)
    print()
    about = {
        "type": scenario.type,
        "needs": list(scenario.needs),
        "measured": f"{measure.seconds:g} s after {measure.warm_up:g} s of warm-up",
        "passes if": _rule(scenario),
        "score": f"{scenario.score.value} in {scenario.score.unit}",
        "search": scenario.search_parameter or "nothing",
        "variants": [one.name + (" (usual)" if one.name == scenario.default else "") for one in scenario.variants],
    }
    print("\n".join(facts({name: value for name, value in about.items() if value})))
    print(f"\nparameters at scale {args.scale:g}:")
    values = scenario.values(args.scale, args.variant)
    rows = [(name, value, scenario.parameters[name].unit) for name, value in values.items()]
    print(textwrap.indent("\n".join(table(("NAME", "VALUE", "UNIT"), rows)), "  "))
    if scenario.is_flow:
        print(f"\nmessage flow: {scenario.flow(args.variant).section} of the published report")
        return 0
    print("\nload:")
    for group in scenario.plan(args.scale, args.variant).groups:
        print(f"  {group.name}: {_group(group)}")
    return 0


def _rule(scenario: Scenario) -> str:
    rule = scenario.passing
    words = [f"at most {rule.lost} lost" if rule.lost else "nothing is lost"] if rule.lost is not None else []
    words += ["the rate is held all the time"] if rule.held else []
    for limit, text in (
        (rule.average_latency_ms, "average latency up to {:g} ms"),
        (rule.average_connect_ms, "average time to connect up to {:g} ms"),
        (rule.busiest_cpu, "busiest CPU up to {:g} %"),
    ):
        words += [text.format(limit)] if limit is not None else []
    return ", ".join(words)


def _group(group: Group) -> str:
    """What differs from a plain group."""
    plain = Group(group.name, group.role, group.clients)
    words = [f"{group.clients:,} clients, {group.role}"]
    for field in fields(Group):
        value = getattr(group, field.name)
        if field.name not in {"name", "role", "clients"} and value != getattr(plain, field.name):
            words.append(f"{field.name} {_value(value)}")
    return ", ".join(words)


def _value(value: object) -> str:
    if isinstance(value, Payload):
        return " ".join(map(str, value.sizes or value.ranges or value.files))
    if isinstance(value, tuple):
        return " ".join(map(str, value))
    return f"{value:,g}" if isinstance(value, float) else str(value)
