"""The scenarios of the catalogue: a list, and each of them in detail."""

import argparse
import textwrap
from dataclasses import fields

from heliograph.cli.commands import Action
from heliograph.cli.lab.options import positive
from heliograph.cli.shared.output import pairs, table
from heliograph.lab.load import Group, Payload
from heliograph.lab.scenarios import SOURCES, Scenario, all_scenarios, load_scenario
from heliograph.lab.targets import choose_systems, system_names

_LIST = "List the scenarios of the catalogue, and the systems that they can be run on."
_LIST_EXAMPLES = """\
  helio lab list
  helio lab list --document mq-appliance
"""


def _list_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--document", default="", metavar="D", help=f"only those of {', '.join(one.name for one in SOURCES)}"
    )


def _list(args: argparse.Namespace) -> int:
    """Print."""
    rows = [(one.name, one.document, one.type, one.title) for one in all_scenarios(args.document)]
    for line in table(("NAME", "DOCUMENT", "TYPE", "TITLE"), rows):
        print(line)
    print()
    names = [name for name in system_names() if name != "external"]
    systems = [
        (one.name, one.version() or f"not installed; {one.install_hint}")
        for one in choose_systems(names, [], None, verify=True)
    ]
    for line in table(("TARGET", "VERSION"), [*systems, ("external", "wherever --url says")]):
        print(line)
    return 0


_SHOW = "Show a scenario: what it does, its parameters at a scale, its variants, its load, and when a run has passed."
_SHOW_EXAMPLES = """\
  helio lab show FANOUT
  helio lab show FANOUT --scale 0.01 --variant 1:10
"""
_WIDTH = 100


def _show_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="a scenario, as `helio lab list` lists them")
    parser.add_argument("--scale", type=positive, default=1.0, metavar="F", help="factor on the published scale (1)")
    parser.add_argument("--variant", default="", metavar="V", help="a row of the scenario")


def _show(args: argparse.Namespace) -> int:
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
    print("\n".join(pairs({name: value for name, value in about.items() if value})))
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


ACTIONS = {
    "list": Action(_LIST, _LIST_EXAMPLES, _list_arguments, _list),
    "show": Action(_SHOW, _SHOW_EXAMPLES, _show_arguments, _show),
}
