"""Publish messages to any MQTT server: one from the command line, a file or standard input, or one for each line."""

import argparse
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from heliograph.cli.mqtt.client import Client
from heliograph.cli.mqtt.options import add_connection_arguments, checked_topic, session, unless_quiet
from heliograph.errors import InvalidInput, StorageError

_STDIN = 0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to publish, and where."""
    parser.add_argument("-t", "--topic", help="topic to publish to")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("-m", "--message", help="publish this text")
    source.add_argument("-f", "--file", help="publish what is in this file")
    source.add_argument("-l", "--stdin-line", action="store_true", help="publish each line of standard input")
    source.add_argument("-s", "--stdin-file", action="store_true", help="publish all of standard input as one message")
    source.add_argument("-n", "--null-message", action="store_true", help="publish an empty message")
    parser.add_argument(
        "-r", "--retain", action="store_true", help="retain the message: the server keeps it for later subscribers"
    )
    parser.add_argument(
        "--repeat", type=int, default=1, metavar="COUNT", help="publish the message this many times (default: 1)"
    )
    parser.add_argument("--repeat-delay", type=float, default=0, metavar="SECONDS", help="wait between repeats")
    add_connection_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Publish; 0 if the server has accepted everything."""
    return unless_quiet(args, _run)


def _run(args: argparse.Namespace) -> int:
    if args.repeat < 1 or args.repeat_delay < 0:
        raise InvalidInput("--repeat counts from 1, and --repeat-delay from 0 s")
    if args.stdin_line and args.repeat != 1:
        raise InvalidInput("--repeat is for one message, not for the lines of -l")
    opened = session(args, "helio pub")
    topic = args.topic or opened.url_topic
    if topic is None:
        raise InvalidInput("no topic: give one with -t")
    topic = checked_topic(topic)
    properties = opened.properties.of("publish")
    payload = None if args.stdin_line else _payload(args)
    with opened.open() as client:
        payloads = _lines(client) if payload is None else _repeated(client, payload, args.repeat, args.repeat_delay)
        for one in payloads:
            client.publish(topic, one, args.qos, args.retain, properties)
        client.flush()
        return 1 if client.refused else 0


def _payload(args: argparse.Namespace) -> bytes:
    if args.message is not None:
        return os.fsencode(args.message)
    if args.stdin_file:
        return sys.stdin.buffer.read()
    if args.file is not None:
        try:
            return Path(args.file).read_bytes()
        except OSError as error:
            raise StorageError(f"cannot read {args.file}: {error.strerror}") from None
    return b""


def _repeated(client: Client, payload: bytes, count: int, delay: float) -> Iterator[bytes]:
    due = time.monotonic()
    for _ in range(count):
        while (left := due - time.monotonic()) > 0:
            client.step(left)
        yield payload
        due += delay


def _lines(client: Client) -> Iterator[bytes]:
    """The lines of standard input as they come, while the connection goes on working."""
    rest = b""
    while True:
        while not client.step(None, also=_STDIN):
            pass
        chunk = os.read(_STDIN, 256 * 1024)
        if not chunk:
            break
        *lines, rest = (rest + chunk).split(b"\n")
        yield from lines
    if rest:
        yield rest
