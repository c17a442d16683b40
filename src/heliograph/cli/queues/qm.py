"""List the queue managers of a server, show, start and stop them."""

import argparse
import json
import time
from typing import Any

from heliograph.cli.errors import CommandFailed
from heliograph.cli.shared.amqp import Ask, add_url, management
from heliograph.cli.shared.output import pairs, showing, table

_PATIENCE = 60.0
_BETWEEN = 0.1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `helio qm`."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, text in (
        ("list", "list the queue managers, the server itself first"),
        ("show", "show the state and figures of a queue manager"),
        ("start", "start a stopped queue manager, and wait until it is ready"),
        ("stop", "stop a queue manager until it is started again, and wait until it has stopped"),
    ):
        action = actions.add_parser(name, help=text, description=text)
        if name == "show":
            action.add_argument("name", nargs="?", metavar="NAME", help="the server itself when left out")
        elif name != "list":
            action.add_argument("name", metavar="NAME", help="the queue manager")
        add_url(action)
        if name in {"list", "show"}:
            action.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Do what the arguments ask for."""
    with management(args.url) as ask:
        if args.action == "list":
            _list(ask("qm-list", {}), as_json=args.json)
        elif args.action == "show":
            _show(ask("qm-show", {"name": args.name} if args.name else {}), as_json=args.json)
        else:
            _change(ask, args.action, args.name)
    return 0


def _list(managers: list[dict[str, Any]], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(managers, indent=2))
        return
    rows = [
        (
            one["name"],
            one["state"],
            one["pid"] or "-",
            one["queues"],
            one["depth"],
            one["restarts"],
            " ".join(one["addresses"]) or "-",
        )
        for one in managers
    ]
    for line in table(("NAME", "STATE", "PID", "QUEUES", "DEPTH", "RESTARTS", "ADDRESSES"), rows):
        print(line)


def _show(manager: dict[str, Any], *, as_json: bool) -> None:
    for line in [json.dumps(manager, indent=2)] if as_json else pairs(manager):
        print(line)


def _change(ask: Ask, action: str, name: str) -> None:
    """Start or stop, and look until it is so."""
    wanted = {"start": "running", "stop": "stopped"}[action]
    ask(f"qm-{action}", {"name": name})
    give_up = time.monotonic() + _PATIENCE
    with showing(f"waiting for {name} to be {wanted}"):
        while (state := ask("qm-show", {"name": name})["state"]) != wanted:
            if state == "waiting" or time.monotonic() > give_up:
                raise CommandFailed(f"{name}: expected it to be {wanted}, found it {state}; the server's log says why")
            time.sleep(_BETWEEN)
    print(f"{name} is {wanted}")
