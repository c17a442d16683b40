"""List streams, print their messages, and delete streams that are no longer needed."""

import argparse
import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from heliograph.cli.shared.output import duration, moment, pairs, table
from heliograph.common.ports import PAGES_URL
from heliograph.errors import InvalidInput, StorageError
from heliograph.log.streams import (
    RemoteStreamReader,
    StreamMessage,
    StreamReader,
    StreamSource,
    decode_page,
    request_page,
)
from heliograph.server import StreamPages, stream_message_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `helio stream`."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")

    def action(name: str, text: str, *, stream: bool = True) -> argparse.ArgumentParser:
        made = actions.add_parser(name, help=text, description=text)
        if stream:
            made.add_argument("name", metavar="STREAM", help="the stream")
        reading = "" if name == "delete" else ", or the folder of its log"
        made.add_argument(
            "--server",
            default=PAGES_URL,
            metavar="URL",
            help=f"the server's HTTP pages{reading} (default: {PAGES_URL})",
        )
        return made

    for one in (action("list", "list streams", stream=False), action("show", "show a stream and its partitions")):
        one.add_argument("--json", action="store_true", help="print JSON")
    _add_choice(action("read", "print messages of a stream; they stay in it"))
    deleting = action("delete", "delete a stream; one that has messages only with --purge")
    deleting.add_argument("--purge", action="store_true", help="delete it with its messages")


def _add_choice(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--partition", type=int, metavar="N", help="only this partition (default: one after the other)")
    parser.add_argument(
        "--from",
        dest="begin",
        default="earliest",
        metavar="WHERE",
        help="earliest (default), an offset, or a time (2026-01-31T12:00:00Z)",
    )
    parser.add_argument("-n", "--count", type=int, default=0, metavar="N", help="at most so many (default: all)")
    parser.add_argument("--json", action="store_true", help="print a JSON object for each message")


def run(args: argparse.Namespace) -> int:
    """Do what the arguments ask for."""
    try:
        _ACTIONS[args.action](args)
    except PermissionError as error:  # of the folder of a log
        raise StorageError(f"{error.filename}: {error.strerror}") from None
    return 0


def _list(args: argparse.Namespace) -> None:
    streams = _ask(args.server, "/streams")
    if args.json:
        print(json.dumps(streams, indent=2))
        return
    rows = [
        (one["name"], one["filter"], len(one["partitions"]), _messages(one), _bytes(one), _kept(one), _state(one))
        for one in streams
    ]
    for line in table(("NAME", "FILTER", "PARTITIONS", "MESSAGES", "BYTES", "KEPT", "STATE"), rows):
        print(line)


def _show(args: argparse.Namespace) -> None:
    found = _ask(args.server, _path(args.name))
    if args.json:
        print(json.dumps(found, indent=2))
        return
    shown = {key: found[key] for key in ("name", "filter")}
    shown |= {"state": _state(found), "kept": _kept(found), "messages": _messages(found), "bytes": _bytes(found)}
    for line in pairs({**shown, "identity": found["identity"], "log": found["directory"]}):
        print(line)
    print()
    rows = [
        (number, one["earliest"], one["latest"], one["latest"] - one["earliest"], one["bytes"])
        for number, one in enumerate(found["partitions"])
    ]
    for line in table(("PARTITION", "EARLIEST", "NEXT", "MESSAGES", "BYTES"), rows):
        print(line)


def _state(stream: dict[str, Any]) -> str:
    if stream["configured"]:
        return "configured"
    return "made" if stream["made"] else "gets nothing new"


def _kept(stream: dict[str, Any]) -> str:
    size, age = stream["retention_bytes"], stream["retention_age"]
    limits = [f"{size:,} bytes"] * bool(size) + [duration(age)] * bool(age)
    return ", ".join(limits) or "all"


def _messages(stream: dict[str, Any]) -> int:
    return sum(one["latest"] - one["earliest"] for one in stream["partitions"])


def _bytes(stream: dict[str, Any]) -> int:
    return sum(one["bytes"] for one in stream["partitions"])


# Reading


def _read(args: argparse.Namespace) -> None:
    if args.count < 0:
        raise InvalidInput(f"--count: expected 0 or more, found {args.count}")
    with _reader(args.server, args.name) as reader:
        left = args.count or None
        for partition in _partitions(reader, args.partition):
            for message in reader.messages(partition, _begin(reader, partition, args.begin), left):
                line = _json(partition, message) if args.json else _line(partition, message)
                sys.stdout.buffer.write(line + b"\n")
                left = left and left - 1
            if left == 0:
                break
    sys.stdout.buffer.flush()


def _reader(server: str, name: str) -> StreamSource:
    return RemoteStreamReader(server, name) if "://" in server else StreamReader(_folder(server), name)


def _partitions(reader: StreamSource, wanted: int | None) -> Iterator[int]:
    number = reader.partitions
    if wanted is None:
        yield from range(number)
    elif 0 <= wanted < number:
        yield wanted
    else:
        raise InvalidInput(f"--partition: expected a number from 0 to {number - 1}, found {wanted}")


def _begin(reader: StreamSource, partition: int, where: str) -> int:
    if where == "earliest":
        return reader.earliest(partition)
    if where.isascii() and where.isdigit():
        return int(where)
    try:
        moment = datetime.fromisoformat(where)
    except ValueError:
        raise InvalidInput(
            f"--from: expected earliest, an offset or a time as in 2026-01-31T12:00:00Z, found {where}"
        ) from None
    return reader.offset_at(partition, max(0, round(_in_utc(moment).timestamp() * 1000)))


def _in_utc(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _json(partition: int, message: StreamMessage) -> bytes:
    return json.dumps({"partition": partition, **stream_message_json(message)}).encode()


def _line(partition: int, message: StreamMessage) -> bytes:
    """Where it is, when it came, its topic and its payload as it is."""
    return f"{partition}:{message.offset} {moment(message.time / 1000)} {message.topic} ".encode() + message.payload


# Deleting


def _delete(args: argparse.Namespace) -> None:
    if "://" not in args.server:
        raise InvalidInput(
            f"--server: expected the URL of a server, which alone can delete streams, found {args.server}"
        )
    answer = request_page(args.server, f"{_path(args.name)}?purge={'true' if args.purge else 'false'}", "DELETE")
    count = answer["messages"]
    print(f"{args.name} deleted" + (f" with {count} message{'' if count == 1 else 's'}" if count else ""))


_ACTIONS = {"list": _list, "show": _show, "read": _read, "delete": _delete}


# Asking


def _path(name: str) -> str:
    return f"/streams/{quote(name, safe='')}"


def _folder(server: str) -> Path:
    folder = Path(server)
    if not folder.is_dir():
        raise InvalidInput(f"--server: expected the URL of a server or the folder of its log, found {server}")
    return folder


def _ask(server: str, path: str) -> Any:
    """What the pages say, or the same from the files."""
    if "://" in server:
        return request_page(server, path)
    answer = StreamPages(_folder(server)).answer(path, "")
    assert isinstance(answer.body, bytes)
    return decode_page(answer.status, answer.body)
