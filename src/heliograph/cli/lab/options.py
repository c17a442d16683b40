"""Options that the actions of `helio lab` share."""

import argparse
from pathlib import Path

from heliograph.errors import InvalidInput
from heliograph.lab.targets import SystemKind, choose_systems, system_names

RESULTS = Path("lab-results")


def add_target(parser: argparse.ArgumentParser) -> None:
    """On which systems, and where those are that are not started here."""
    parser.add_argument(
        "--target",
        action="append",
        metavar="NAME",
        help=f"a system to measure: {', '.join(system_names())}; repeatable: runs are then interleaved (heliograph)",
    )
    external = parser.add_argument_group("the target 'external'")
    external.add_argument(
        "--url",
        action="append",
        default=[],
        metavar="URL",
        help="its address: mqtt://user:password@host:port, or a URL with mqtts, ws, wss, amqp or amqps; repeatable",
    )
    external.add_argument("--cafile", metavar="FILE", help="trust the certificates in this file")
    external.add_argument("--insecure", action="store_true", help="trust any certificate")


def targets(args: argparse.Namespace) -> list[SystemKind]:
    """The systems that the options name."""
    names = args.target or (["external"] if args.url else ["heliograph"])
    if args.url and "external" not in names:
        raise InvalidInput("--url is where the target 'external' is; name it with --target external")
    return choose_systems(names, args.url, args.cafile, verify=not args.insecure)


def add_load(parser: argparse.ArgumentParser) -> None:
    """How much of it, for how long."""
    parser.add_argument("--scale", type=positive, default=1.0, metavar="F", help="factor on the published scale (1)")
    parser.add_argument(
        "--variant", default="", metavar="V", help="a row of the scenario, as `helio lab show` lists them"
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a parameter of the scenario, or warm_up (seconds) or processes (of the generator)",
    )
    parser.add_argument("--seconds", type=positive, metavar="S", help="measured time in seconds, whatever the scale")
    parser.add_argument(
        "--rack-units", type=positive, metavar="U", help="height of the system under test, for figures per unit"
    )
    add_out(parser)


def add_out(parser: argparse.ArgumentParser) -> None:
    """Where results are."""
    parser.add_argument("--out", type=Path, default=RESULTS, metavar="DIR", help=f"where results are kept ({RESULTS})")


def overrides(args: argparse.Namespace) -> dict[str, str | float]:
    """What the options set."""
    found: dict[str, str | float] = {}
    for text in args.set:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise InvalidInput(f"expected --set NAME=VALUE, found '{text}'")
        found[name] = value
    if args.seconds is not None:
        found["seconds"] = args.seconds
    return found


def positive(text: str) -> float:
    """A number above 0."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if value <= 0:
        raise argparse.ArgumentTypeError(f"expected a number above 0, found '{text}'")
    return value
