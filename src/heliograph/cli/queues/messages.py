"""Putting, getting and browsing messages of queues, and printing them."""

import argparse
import itertools
import json
import os
import sys
import uuid
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from heliograph.amqp import Timestamp
from heliograph.amqp.messages import DEAD_LETTER_TIME, DELIVERY_TIME, JMS_PREFIX
from heliograph.cli.shared.amqp import opened
from heliograph.cli.shared.output import moment
from heliograph.client import Acknowledge, Message, Queue, Receipt
from heliograph.common.terminal import on_one_line
from heliograph.errors import InvalidInput, StorageError

_NOTHING = 1
"""Exit status of `get` when there was no message."""


def add_put(parser: argparse.ArgumentParser) -> None:
    """What to put, and how."""
    source = parser.add_mutually_exclusive_group()
    source.add_argument("body", nargs="?", metavar="TEXT", help="one message with this text")
    source.add_argument("-f", "--file", metavar="FILE", help="one message with the content of this file")
    source.add_argument("-l", "--lines", action="store_true", help="one message for each line of standard input")
    parser.add_argument(
        *("-p", "--property"),
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a property; true, false and numbers get their own types; repeatable",
    )
    parser.add_argument("--priority", type=int, metavar="N", help="from 0 to 9 (default: as the queue has it)")
    parser.add_argument("--ttl", type=float, metavar="SECONDS", help="the message expires after this time")
    parser.add_argument(
        "--delay", type=float, default=0, metavar="SECONDS", help="the message is delivered after this time"
    )
    parser.add_argument(
        "--persistent",
        action="store_true",
        default=None,
        help="kept on disk, so that it survives a restart (default: as the queue has it)",
    )
    parser.add_argument("--correlation-id", metavar="ID", help="correlation id of the message")
    parser.add_argument("--reply-to", metavar="QUEUE", help="the queue for replies")


def add_get(parser: argparse.ArgumentParser) -> None:
    """Which messages to get."""
    _add_choice(parser)
    parser.add_argument("-n", "--count", type=int, default=1, metavar="N", help="how many (default: 1; 0 is all)")
    parser.add_argument("--correlation-id", metavar="ID", help="only messages with this correlation id")
    waiting = parser.add_mutually_exclusive_group()
    waiting.add_argument(
        "--timeout",
        type=float,
        default=0,
        metavar="SECONDS",
        help="wait this long for each message (default: do not wait)",
    )
    waiting.add_argument("--wait", action="store_true", help="wait for each message without limit")


def add_browse(parser: argparse.ArgumentParser) -> None:
    """Which messages to look at."""
    _add_choice(parser)
    parser.add_argument("-n", "--count", type=int, default=0, metavar="N", help="at most this many (default: all)")


def _add_choice(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-s", "--selector", metavar="TEXT", help='only messages that match this selector, such as "size > 10"'
    )
    parser.add_argument("--json", action="store_true", help="print a JSON object for each message")


def put(args: argparse.Namespace) -> int:
    """Put messages; 0 when the server has taken them all."""
    if args.priority is not None and not 0 <= args.priority <= 9:
        raise InvalidInput(f"--priority: expected a number from 0 to 9, found {args.priority}")
    if args.delay < 0 or (args.ttl is not None and args.ttl <= 0):
        raise InvalidInput("--ttl is more than 0 seconds, and --delay not less than 0")
    properties = dict(_property(text) for text in args.property)
    reply_to = Queue(args.reply_to) if args.reply_to else None
    with opened(args.url) as connection, connection.session() as session:
        producer = session.producer(
            Queue(args.name), persistent=args.persistent, priority=args.priority, ttl=args.ttl, delay=args.delay
        )
        on_the_way: deque[Receipt] = deque()
        for body in _bodies(args):
            message = Message(body, properties=dict(properties), correlation_id=args.correlation_id, reply_to=reply_to)
            on_the_way.append(producer.send_async(message))
            while on_the_way[0].done() and len(on_the_way) > 1:
                on_the_way.popleft().result()
        for receipt in on_the_way:
            receipt.result()
    return 0


def _property(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise InvalidInput(f"--property: expected NAME=VALUE, found {text}")
    if value in {"true", "false"}:
        return name, value == "true"
    for kind in (int, float):
        try:
            return name, kind(value)
        except ValueError:
            continue
    return name, value


def _bodies(args: argparse.Namespace) -> Iterator[str | bytes]:
    if args.file is not None:
        yield _text(_not_empty(_read(args.file), args.file))
    elif args.lines:
        for line in sys.stdin.buffer:
            yield _text(line.removesuffix(b"\n"))
    elif args.body is not None:
        yield _text(os.fsencode(args.body))
    else:
        if sys.stdin.isatty():
            print("type the message; Ctrl-D at the beginning of a line ends it", file=sys.stderr)
        yield _text(_not_empty(sys.stdin.buffer.read(), "standard input"))


def _read(file: str) -> bytes:
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise StorageError(f"cannot read {file}: {error.strerror}") from None


def _not_empty(data: bytes, source: str) -> bytes:
    """What was read; nothing at all is more likely a mistake than a message."""
    if not data:
        raise InvalidInput(f"{source} is empty; to put an empty message, give '' as its text")
    return data


def _text(data: bytes) -> str | bytes:
    """A text if it is one; other programs then see a text message."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def get(args: argparse.Namespace) -> int:
    """Get and print messages; they are gone from the queue when they have been printed."""
    selector = _with_correlation(args.selector, args.correlation_id)
    timeout = None if args.wait else args.timeout
    number = 0
    with opened(args.url) as connection, connection.session(Acknowledge.INDIVIDUAL) as session:
        consumer = session.consumer(Queue(args.name), selector=selector, prefetch=0)
        while not args.count or number < args.count:
            message = consumer.receive(timeout)
            if message is None:
                break
            number += 1
            _print(as_json(message).encode() if args.json else body_bytes(message))
            message.acknowledge()
    return 0 if number else _NOTHING


def _with_correlation(selector: str | None, correlation_id: str | None) -> str:
    if correlation_id is None:
        return selector or ""
    quoted = correlation_id.replace("'", "''")
    own = f"JMSCorrelationID = '{quoted}'"
    return f"({selector}) AND {own}" if selector else own


def browse(args: argparse.Namespace) -> int:
    """Print messages, with all that is on them."""
    with opened(args.url) as connection, connection.session() as session:
        browser = session.browser(Queue(args.name), selector=args.selector or "")
        for number, message in enumerate(itertools.islice(browser, args.count or None), 1):
            for line in [as_json(message).encode()] if args.json else rendered(message, number):
                _print(line)
    return 0


def _print(line: bytes) -> None:
    sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()


_INDENT = "    "
_TIMES = (DEAD_LETTER_TIME, DELIVERY_TIME)
"""Annotations that are milliseconds since 1970, though not every server gives them the type of a time."""


def body_bytes(message: Message) -> bytes:
    """The body as it is printed: bytes as they are, text as UTF-8, anything else as JSON."""
    body = message.body
    if isinstance(body, bytes):
        return body
    if isinstance(body, str):
        return body.encode()
    return b"" if body is None else json.dumps(_plain(body), ensure_ascii=False).encode()


def as_json(message: Message) -> str:
    """All there is to say of a message, on one line; what is not there is left out."""
    return json.dumps({name: _plain(value) for name, value in _facts(message)}, ensure_ascii=False)


def rendered(message: Message, number: int) -> Iterator[bytes]:
    """The lines that show a message: what is on the envelope, then the body."""
    shown = [(name, value) for name, value in _facts(message) if name not in {"body", "properties", "annotations"}]
    yield f"--- {number}".encode()
    for name, value in shown:
        yield _line(f"{name.replace('_', '-')}: {_shown(value)}")
    for kind in ("properties", "annotations"):
        for key, value in getattr(message, kind).items():
            if str(key).startswith(JMS_PREFIX):  # what kind of message it is: the rest says that to people
                continue
            is_time = isinstance(value, Timestamp) or (isinstance(value, int) and str(key).startswith(_TIMES))
            yield _line(f"{key} = {moment(value / 1000) if is_time else _plain(value)}")
    yield body_bytes(message)


def _line(text: str) -> bytes:
    """One fact, which cannot look like two."""
    return f"{_INDENT}{on_one_line(text)}".encode()


def _facts(message: Message) -> Iterator[tuple[str, Any]]:
    for name in ("message_id", "correlation_id", "type", "content_type", "group_id", "group_sequence", "user_id"):
        if (value := getattr(message, name)) is not None:
            yield name, value
    if message.reply_to is not None:
        yield "reply_to", message.reply_to.name
    for name in ("timestamp", "expiration", "delivery_time"):
        if (seconds := getattr(message, name)) is not None:
            yield name, moment(seconds)
    yield "priority", message.priority
    yield "persistent", message.persistent
    if message.redelivered:
        yield "delivery_count", message.delivery_count
    if message.properties:
        yield "properties", message.properties
    if message.annotations:
        yield "annotations", message.annotations
    yield "body", message.body


def _shown(value: Any) -> Any:
    return ("yes" if value else "no") if isinstance(value, bool) else _plain(value)


def _plain(value: Any) -> Any:
    """A value as JSON has it; bytes that are no text are in hexadecimal."""
    match value:
        case bytes():
            try:
                return value.decode()
            except UnicodeDecodeError:
                return value.hex()
        case dict():
            return {str(key): _plain(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
        case uuid.UUID():
            return str(value)
        case bool() | int() | float() | str() | None:
            return value
    return str(value)
