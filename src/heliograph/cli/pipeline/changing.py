"""Starting and stopping a pipeline of a server's configuration."""

import argparse
import time
from collections.abc import Container

from heliograph.cli.pipeline.figures import find
from heliograph.cli.shared.amqp import add_url, management
from heliograph.errors import Problem

_PATIENCE = 120.0
_BETWEEN = 0.2


def add_name(parser: argparse.ArgumentParser) -> None:
    """Declare the name, and which server."""
    parser.add_argument("name", metavar="NAME", help="the pipeline, which is in the server's configuration")
    add_url(parser)


def change(args: argparse.Namespace, operation: str, wanted: Container[str], hopeless: Container[str]) -> int:
    """Ask for it, and look until it is so."""
    name = args.name
    with management(args.url) as ask:
        ask(operation, {"name": name})
        give_up = time.monotonic() + _PATIENCE
        while True:
            found = find(ask, name)
            if found["state"] in wanted:
                print(f"{name} is {found['state']}")
                return 0
            if found["state"] in hopeless or time.monotonic() > give_up:
                why = f": {found['error']}" if found["error"] else ""
                raise Problem(f"{name} is {found['state']}{why}; the server's log says more")
            time.sleep(_BETWEEN)
