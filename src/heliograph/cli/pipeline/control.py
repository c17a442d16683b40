"""Starting, stopping and removing pipelines of a server."""

import argparse
import time
from collections.abc import Container

from heliograph.cli.commands import Action
from heliograph.cli.errors import CommandFailed
from heliograph.cli.pipeline.status import find, list_pipelines
from heliograph.cli.shared.amqp import add_url, management

_START_EXAMPLES = """\
  helio pipeline start telemetry
"""
_STOP = """\
Stop a pipeline of a server's configuration, after its current batch.

It stays stopped until it is started again, or until the server is started again if its `start` is true. Nothing is
lost: it continues where it stopped.
"""
_STOP_EXAMPLES = """\
  helio pipeline stop telemetry
"""
_REMOVE = """\
Remove a pipeline that was started by hand, or is no longer in the server's configuration. It is then no longer listed.

Its position in the stream is removed, too: a pipeline of this name that is started later is a new one. The embedded
databases of its flow stay, unless --purge is given. The stream that it read stays (`helio stream delete` deletes it).
"""
_REMOVE_EXAMPLES = """\
  helio pipeline remove telemetry
  helio pipeline remove orders-20260131T120000 --purge
"""
_CHANGE_TIMEOUT = 120.0
_REMOVE_TIMEOUT = 30.0
_BETWEEN = 0.2
"""Seconds between two looks at the state."""


def _name_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="the pipeline, which is in the server's configuration")
    add_url(parser)


def _start(args: argparse.Namespace) -> int:
    return _change(args, "pipeline-start", {"running", "finished"}, {"waiting"})


def _stop(args: argparse.Namespace) -> int:
    return _change(args, "pipeline-stop", {"stopped", "finished", "failed", "dead"}, ())


def _change(args: argparse.Namespace, operation: str, wanted: Container[str], hopeless: Container[str]) -> int:
    """Ask for the operation, and wait until the pipeline is in a state that was wanted; give up in a hopeless one."""
    name = args.name
    with management(args.url) as ask:
        ask(operation, {"name": name})
        give_up = time.monotonic() + _CHANGE_TIMEOUT
        while True:
            found = find(ask, name)
            if found["state"] in wanted:
                print(f"{name} is {found['state']}")
                return 0
            if found["state"] in hopeless or time.monotonic() > give_up:
                why = f": {found['error']}" if found["error"] else ""
                raise CommandFailed(f"{name} is {found['state']}{why}; the server's log says more")
            time.sleep(_BETWEEN)


def _remove_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="the pipeline, which must not run")
    add_url(parser)
    parser.add_argument("--purge", action="store_true", help="remove the embedded databases of its flow, too")


def _remove(args: argparse.Namespace) -> int:
    with management(args.url) as ask:
        answer = ask("pipeline-remove", {"name": args.name, "purge": args.purge})
        give_up = time.monotonic() + _REMOVE_TIMEOUT
        while any(one["name"] == args.name for one in list_pipelines(ask)):
            if time.monotonic() > give_up:
                raise CommandFailed(f"{args.name} could not be removed; the server's log says why")
            time.sleep(_BETWEEN)
    stays = answer["databases"]
    print(f"{args.name} removed" + (f"; its databases stay in {stays} (--purge removes them, too)" if stays else ""))
    return 0


ACTIONS = {
    "start": Action(
        "Start a stopped pipeline of a server's configuration, and wait until it runs.",
        _START_EXAMPLES,
        _name_arguments,
        _start,
    ),
    "stop": Action(_STOP, _STOP_EXAMPLES, _name_arguments, _stop),
    "remove": Action(_REMOVE, _REMOVE_EXAMPLES, _remove_arguments, _remove),
}
