"""Subscribe to topics on any MQTT server and print the messages."""

import argparse
import fcntl
import os
import select
import signal
import stat
import sys
import time
from types import FrameType
from typing import TextIO

from heliograph.cli.errors import ConnectionFailed
from heliograph.cli.mqtt.client import Client, SavedSession
from heliograph.cli.mqtt.message_format import HELP, Formatter, compile_format
from heliograph.cli.mqtt.options import Session, add_connection_arguments, checked_filter, session, unless_quiet
from heliograph.common.terminal import steer, visible_bytes
from heliograph.errors import InvalidInput
from heliograph.mqtt import Properties, Publish, Subscription, topic_matches

# The exit status of mosquitto_sub for the same thing, which scripts look for.
TIMED_OUT = 27
# Seconds between two attempts to connect, as mosquitto_sub has it.
_BETWEEN_ATTEMPTS = 1.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to subscribe to, and how to print it."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = HELP
    parser.add_argument("-t", "--topic", action="append", default=[], help="topic filter to subscribe to; repeatable")
    parser.add_argument("-T", "--filter-out", action="append", default=[], help="topic filter not to print; repeatable")
    parser.add_argument(
        "-U", "--unsubscribe", action="append", default=[], help="topic filter to unsubscribe from; repeatable"
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="print the topic before the payload")
    parser.add_argument("-F", "--format", help="print in this format, such as '%%I %%t %%p'")
    parser.add_argument("--pretty", action="store_true", help="print JSON (%%j, %%J) over several lines")
    parser.add_argument("-N", "--no-eol", action="store_true", help="print no end of line after a payload")
    parser.add_argument("-C", "--count", type=int, metavar="COUNT", help="exit after this many messages")
    parser.add_argument(
        "-W", "--timeout", type=float, metavar="SECONDS", help=f"exit with status {TIMED_OUT} after this time"
    )
    parser.add_argument(
        "-E", "--exit-subscribed", action="store_true", help="exit as soon as all subscriptions are made"
    )
    parser.add_argument("--retry", action="store_true", help="try again if the first connection fails")
    parser.add_argument("-R", "--no-retained", action="store_true", help="do not print retained messages")
    parser.add_argument("--retained-only", action="store_true", help="exit at the first message that is not retained")
    parser.add_argument(
        "--remove-retained", action="store_true", help="remove received retained messages from the server"
    )
    add_connection_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Print messages until a limit is reached or the user stops it."""
    return unless_quiet(args, _run)


def _terminate(_number: int, _frame: FrameType | None) -> None:
    raise SystemExit(0)  # unwinds through the client, which takes its leave of the server


def _run(args: argparse.Namespace) -> int:
    opened = session(args, "helio sub")
    filters = [checked_filter(one) for one in (*args.topic, *([opened.url_topic] if opened.url_topic else []))]
    leave = [checked_filter(one) for one in args.unsubscribe]
    if not filters and not leave:
        raise InvalidInput("nothing to subscribe to: give a topic filter with -t")
    if args.count is not None and args.count < 1:
        raise InvalidInput(f"-C {args.count}: expected 1 or more messages")
    printer = _Printer(args)
    signal.signal(signal.SIGTERM, _terminate)
    return _Subscriber(args, opened, filters, leave, printer).run()


class _Subscriber:
    """Stays connected: a connection that is lost is made again, and subscribes again."""

    def __init__(
        self, args: argparse.Namespace, opened: Session, filters: list[str], leave: list[str], printer: "_Printer"
    ) -> None:
        self._args = args
        self._opened = opened
        self._filters = filters
        self._leave = leave
        self._printer = printer
        self._deadline = None if args.timeout is None else time.monotonic() + args.timeout
        self._pipe = _pipe_of(sys.stdout)
        self._saved = SavedSession()
        self._tries_again: bool = args.retry
        self._waiting = False

    def run(self) -> int:
        """Print messages until enough have been, or the time is over; the exit status."""
        while True:
            try:
                return self._connected()
            except ConnectionFailed as lost:
                if not self._tries_again:
                    raise
                self._tell_once(lost)
            left = self._left()
            if left is not None and left <= 0:
                return TIMED_OUT
            self._pause(_BETWEEN_ATTEMPTS if left is None else min(left, _BETWEEN_ATTEMPTS))

    def _connected(self) -> int:
        with self._opened.open(self._saved) as client:
            _set_subscriptions(client, self._opened, self._filters, self._leave, self._args.qos)
            if self._waiting:
                self._waiting = False
                self._opened.warn("connected again")
            self._tries_again = True
            return 0 if self._args.exit_subscribed else self._print_messages(client)

    def _tell_once(self, lost: ConnectionFailed) -> None:
        if not self._waiting:
            self._waiting = True
            self._opened.warn(f"{lost}; trying again every {_BETWEEN_ATTEMPTS:g} s")

    def _left(self) -> float | None:
        return None if self._deadline is None else self._deadline - time.monotonic()

    def _pause(self, seconds: float) -> None:
        if select.select([] if self._pipe is None else [self._pipe], [], [], seconds)[0]:
            raise BrokenPipeError

    def _print_messages(self, client: Client) -> int:
        printer = self._printer
        while True:
            # All that came with one read is written with one write, before anything waits again.
            while client.messages and not printer.done:
                message = client.messages[0]  # it stays there until it is dealt with: the connection may break before
                printer.take(message, client)
                client.messages.popleft()
                client.acknowledge(message)
            printer.flush()
            if printer.done:
                client.settle()
                client.flush()
                return 0
            left = self._left()
            if left is not None and left <= 0:
                return TIMED_OUT
            if client.step(left, also=self._pipe):
                raise BrokenPipeError


def _pipe_of(stream: TextIO) -> int | None:
    """The file descriptor of a pipe that is only written to, which `select` calls readable when its reader has gone.

    So `| head` ends us at once, not only when there is another message to write.
    """
    try:
        descriptor = stream.fileno()
    except ValueError:
        return None
    one_way = fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE == os.O_WRONLY
    return descriptor if one_way and stat.S_ISFIFO(os.fstat(descriptor).st_mode) else None


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
        if not self._lines:
            return
        data = b"".join(self._lines)
        self._lines.clear()
        if sys.stdout.isatty():  # what clients sent has been made harmless; a format may steer the terminal
            steer(sys.stdout, data.decode("utf-8", "surrogateescape"))
        else:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()


def _formatter(args: argparse.Namespace) -> Formatter:
    end = b"" if args.no_eol else b"\n"
    shown = visible_bytes if sys.stdout.isatty() else bytes
    if args.format is not None:
        formatted = compile_format(args.format, pretty=args.pretty, shown=shown)
        return lambda message: formatted(message) + end
    if args.verbose:
        return lambda message: shown(message.topic.encode() + b" " + (message.payload or b"(null)")) + end
    return lambda message: shown(message.payload) + end
