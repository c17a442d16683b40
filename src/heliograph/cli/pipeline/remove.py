"""Remove a pipeline that was started by hand, or is not in the server's configuration any more: it is not listed then.

How far it was goes, too: one that is started under its name later begins anew. Embedded databases of its flow stay,
unless --purge says otherwise. The stream that it read stays (`helio stream delete` deletes it).
"""

import argparse
import time

from heliograph.cli.shared.amqp import add_url, management
from heliograph.errors import Problem

EXAMPLES = """\
  helio pipeline remove telemetry
  helio pipeline remove orders-20260131T120000 --purge
"""

_PATIENCE = 30.0
_BETWEEN = 0.2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `helio pipeline remove`."""
    parser.add_argument("name", metavar="NAME", help="the pipeline, which must not run")
    add_url(parser)
    parser.add_argument("--purge", action="store_true", help="remove the embedded databases of its flow, too")


def run(args: argparse.Namespace) -> int:
    """Ask for it, and look until it is so."""
    with management(args.url) as ask:
        answer = ask("pipeline-remove", {"name": args.name, "purge": args.purge})
        give_up = time.monotonic() + _PATIENCE
        while any(one["name"] == args.name for one in ask("pipeline-list", {})):
            if time.monotonic() > give_up:
                raise Problem(f"{args.name} could not be removed; the server's log says why")
            time.sleep(_BETWEEN)
    stays = answer["databases"]
    print(f"{args.name} removed" + (f"; its databases stay in {stays} (--purge removes them, too)" if stays else ""))
    return 0
