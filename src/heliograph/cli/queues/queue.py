"""List, define and change queues; put, get and browse their messages."""

import argparse
import json
from typing import Any

from heliograph.broker import QueueDefinition
from heliograph.cli.queues.messages import add_browse, add_get, add_put, browse, get, put
from heliograph.cli.shared.amqp import Ask, add_url, management
from heliograph.cli.shared.attribute_options import add_option, given
from heliograph.cli.shared.output import duration, pairs, table
from heliograph.objects import Attribute, Effect, attributes_of

_ATTRIBUTES = [one for one in attributes_of(QueueDefinition) if one.key != "name"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `helio queue`."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")

    def action(name: str, text: str, *, queue: str | None = "the queue") -> argparse.ArgumentParser:
        made = actions.add_parser(name, help=text, description=text)
        if queue is not None:
            made.add_argument("name", metavar="QUEUE", help=queue)
        add_url(made)
        return made

    listing = action("list", "list queues, aliases and models", queue=None)
    listing.add_argument("pattern", nargs="?", default="*", metavar="PATTERN", help="a name, or a prefix followed by *")
    listing.add_argument("--temporary", action="store_true", help="list temporary queues of clients, too")
    showing = action("show", "show the attributes and figures of a queue")
    for one in (listing, showing):
        one.add_argument("--json", action="store_true", help="print JSON")
    defining = action("define", "define a queue, an alias or a model", queue="its name")
    defining.add_argument("--like", metavar="QUEUE", help="take the attributes that are not given from this one")
    defining.add_argument("--replace", action="store_true", help="change it if it is there; its messages stay")
    _add_attributes(defining, _ATTRIBUTES)
    altered = [one for one in _ATTRIBUTES if one.about.effect is not Effect.NEVER]
    _add_attributes(action("alter", "change attributes of a queue"), altered)
    deleting = action("delete", "delete a queue; one that has messages only with --purge")
    deleting.add_argument("--purge", action="store_true", help="delete it with its messages")
    action("purge", "delete all messages of a queue that are not in flight")
    redriving = action("redrive", "send dead letters back to the queues they came from", queue="the dead-letter queue")
    redriving.add_argument("-n", "--count", type=int, default=0, metavar="N", help="at most this many (default: all)")
    redriving.add_argument("--origin", default="", metavar="QUEUE", help="only messages that came from this queue")
    add_put(action("put", "put messages into a queue"))
    add_get(action("get", "get messages, and remove them from the queue"))
    add_browse(action("browse", "print messages, and leave them in the queue"))


def _add_attributes(parser: argparse.ArgumentParser, attributes: list[Attribute]) -> None:
    group = parser.add_argument_group("attributes")
    for attribute in attributes:
        add_option(group, attribute)


def run(args: argparse.Namespace) -> int:
    """Do what the arguments ask for."""
    if args.action in _MESSAGES:
        return _MESSAGES[args.action](args)
    with management(args.url) as ask:
        _MANAGEMENT[args.action](args, ask)
    return 0


def _list(args: argparse.Namespace, ask: Ask) -> None:
    queues = ask("queue-list", {"pattern": args.pattern, "temporary": args.temporary})
    if args.json:
        print(json.dumps(queues, indent=2))
        return
    headings = ("NAME", "KIND", "DEPTH", "IN FLIGHT", "CONSUMERS", "PUT", "GOT", "OLDEST", "DESCRIPTION")
    for line in table(headings, [_row(queue) for queue in queues]):
        print(line)


def _row(queue: dict[str, Any]) -> tuple[Any, ...]:
    if queue["kind"] == "local":
        figures = tuple(queue[key] for key in ("depth", "in_flight", "consumers", "put", "got"))
        about = queue["description"]
    else:
        figures = ("",) * 5
        about = f"-> {queue['target']}  {queue['description']}" if queue["target"] else queue["description"]
    return queue["name"], queue["kind"], *figures, duration(queue.get("oldest_age", 0)), about


def _show(args: argparse.Namespace, ask: Ask) -> None:
    queue = ask("queue-show", {"name": args.name})
    for line in [json.dumps(queue, indent=2)] if args.json else pairs(queue):
        print(line)


def _define(args: argparse.Namespace, ask: Ask) -> None:
    like = {"like": args.like} if args.like else {}
    answer = ask("queue-define", {"name": args.name, "replace": args.replace, **like, **given(args, _ATTRIBUTES)})
    print(f"{args.name} {'replaced' if answer['replaced'] else 'defined'}")


def _alter(args: argparse.Namespace, ask: Ask) -> None:
    ask("queue-alter", {"name": args.name, **given(args, _ATTRIBUTES)})
    print(f"{args.name} altered")


def _delete(args: argparse.Namespace, ask: Ask) -> None:
    answer = ask("queue-delete", {"name": args.name, "purge": args.purge})
    print(f"{args.name} deleted" + (f" with {_messages(answer['purged'])}" if answer["purged"] else ""))


def _purge(args: argparse.Namespace, ask: Ask) -> None:
    print(f"{args.name}: {_messages(ask('queue-purge', {'name': args.name})['purged'])} forgotten")


def _redrive(args: argparse.Namespace, ask: Ask) -> None:
    answer = ask("queue-redrive", {"name": args.name, "most": args.count, "origin": args.origin})
    print(f"{args.name}: {_messages(answer['moved'])} sent back")
    for reason, count in answer["left"].items():
        print(f"{args.name}: {_messages(count)} left: {reason}")


def _messages(count: int) -> str:
    return "1 message" if count == 1 else f"{count} messages"


_MESSAGES = {"put": put, "get": get, "browse": browse}
_MANAGEMENT = {
    "list": _list,
    "show": _show,
    "define": _define,
    "alter": _alter,
    "delete": _delete,
    "purge": _purge,
    "redrive": _redrive,
}
