"""Subscribe to topics on any MQTT server and print what arrives."""

import argparse
import os
import signal
import sys
import time
from types import FrameType

from heliograph.cli.message_format import HELP, Formatter, compile_format
from heliograph.cli.mqtt_client import Client
from heliograph.cli.mqtt_options import Session, add_connection_arguments, checked_filter, session
from heliograph.errors import Problem
from heliograph.mqtt import Properties, Publish, Subscription, topic_matches

# The exit status of mosquitto_sub for the same thing, which scripts look for.
TIMED_OUT = 27


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to subscribe to, and how to print it."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = HELP
    parser.add_argument("-t", "--topic", action="append", default=[], help="topic filter to subscribe to; repeatable")
    parser.add_argument("-T", "--filter-out", action="append", default=[], help="topic filter not to print; repeatable")
    parser.add_argument("-U", "--unsubscribe", action="append", default=[], help="topic filter to leave; repeatable")
    parser.add_argument("-v", "--verbose", action="store_true", help="print the topic before the payload")
    parser.add_argument("-F", "--format", help="print in this format, such as '%%I %%t %%p'")
    parser.add_argument("--pretty", action="store_true", help="print JSON (%%j, %%J) over several lines")
    parser.add_argument("-N", "--no-eol", action="store_true", help="print no end of line after a payload")
    parser.add_argument("-C", "--count", type=int, metavar="COUNT", help="exit after so many messages")
    parser.add_argument(
        "-W", "--timeout", type=float, metavar="SECONDS", help=f"exit after this time, with {TIMED_OUT}"
    )
    parser.add_argument("-E", "--exit-subscribed", action="store_true", help="exit as soon as all is subscribed")
    parser.add_argument("-R", "--no-retained", action="store_true", help="do not print retained messages")
    parser.add_argument("--retained-only", action="store_true", help="exit at the first message that is not retained")
    parser.add_argument("--remove-retained", action="store_true", help="clear the retained messages that arrive")
    add_connection_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Print messages until a limit is reached or the user stops it."""
    try:
        return _run(args)
    except BrokenPipeError:
        # The reader has gone, as in `| head`. What is left in the buffer must not trouble Python's exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Problem:
        if args.quiet:
            return 1
        raise


def _terminate(_number: int, _frame: FrameType | None) -> None:
    raise SystemExit(0)  # unwinds through the client, which takes its leave of the server


def _run(args: argparse.Namespace) -> int:
    opened = session(args, "helio sub")
    filters = [checked_filter(one) for one in (*args.topic, *([opened.url_topic] if opened.url_topic else []))]
    leave = [checked_filter(one) for one in args.unsubscribe]
    if not filters and not leave:
        raise Problem("nothing to subscribe to: give a topic filter with -t")
    if args.count is not None and args.count < 1:
        raise Problem(f"-C {args.count}: expected 1 or more messages")
    printer = _Printer(args)
    signal.signal(signal.SIGTERM, _terminate)
    with opened.open() as client:
        deadline = None if args.timeout is None else time.monotonic() + args.timeout
        _set_subscriptions(client, opened, filters, leave, args.qos)
        if args.exit_subscribed:
            return 0
        return _print_messages(client, printer, deadline)


def _set_subscriptions(client: Client, opened: Session, filters: list[str], leave: list[str], qos: int) -> None:
    if leave:
        client.unsubscribe(leave, opened.properties.of("unsubscribe"))
    if filters:
        subscriptions = [Subscription(one, qos) for one in filters]
        client.subscribe(subscriptions, opened.properties.of("subscribe"))


class _Printer:
    """Prints the messages that the options want, and knows when enough have been printed."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._args = args
        self._unwanted = [checked_filter(one) for one in args.filter_out]
        self._format = _formatter(args)
        self._left = args.count
        self._lines: list[bytes] = []
        self.done = False

    def take(self, message: Publish, client: Client) -> None:
        """Deal with one message. What it prints appears with the next `flush`."""
        args = self._args
        if self._unwanted and any(topic_matches(one, message.topic) for one in self._unwanted):
            return
        if args.retained_only and not message.retain:
            self.done = True
            return
        if message.retain and args.remove_retained:
            client.publish(message.topic, b"", 1, True, Properties())
        if message.retain and args.no_retained:
            return
        self._lines.append(self._format(message))
        if self._left is not None:
            self._left -= 1
            self.done = self._left == 0

    def flush(self) -> None:
        """Write out what has been printed."""
        if self._lines:
            sys.stdout.buffer.write(b"".join(self._lines))
            self._lines.clear()
            sys.stdout.buffer.flush()


def _formatter(args: argparse.Namespace) -> Formatter:
    end = b"" if args.no_eol else b"\n"
    if args.format is not None:
        formatted = compile_format(args.format, pretty=args.pretty)
        return lambda message: formatted(message) + end
    if args.verbose:
        return lambda message: message.topic.encode() + b" " + (message.payload or b"(null)") + end
    return lambda message: message.payload + end


def _print_messages(client: Client, printer: _Printer, deadline: float | None) -> int:
    while True:
        # All that came with one read is written with one write, before anything waits again.
        while client.messages and not printer.done:
            message = client.messages.popleft()
            printer.take(message, client)
            client.acknowledge(message)
        printer.flush()
        if printer.done:
            client.settle()
            client.flush()
            return 0
        left = None if deadline is None else deadline - time.monotonic()
        if left is not None and left <= 0:
            return TIMED_OUT
        client.step(left)
