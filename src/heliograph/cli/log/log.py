"""Look at the files of a log, even while a server writes them (`info`, `check`, `dump`); `compact` or `repair` them."""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from heliograph.broker import LogContents, SetAsides, UnknownRecordKind
from heliograph.cli.log.objects import Reader, add_repair_arguments, opened, repair, replay, tell, try_to_open
from heliograph.cli.log.records import as_json, kind_name
from heliograph.common.terminal import steer
from heliograph.errors import InvalidInput, Problem
from heliograph.log import (
    GROUP,
    Cursor,
    CursorTable,
    LogReader,
    Record,
    RecoveryResult,
    find_segments,
    records_in,
    recover,
    segment_files,
    segment_spans,
)

_SHOWN = 20
"""Subscriptions listed: those with most messages waiting."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `helio log`."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, text in (
        ("info", "print what the log holds: segments, streams, and subscriptions with messages waiting"),
        ("check", "verify the checksum of every record, and open every object; exit status 1 if something is damaged"),
        ("dump", "print records as JSON, one per line"),
        ("compact", "free all disk space that is not needed; the server must be stopped"),
        ("repair", "list objects that a server cannot open, export or drop them; the server must be stopped"),
    ):
        action = actions.add_parser(name, help=text, description=text)
        action.add_argument("directory", type=Path, help="the log's directory")
        if name == "dump":
            action.add_argument("--from", dest="start", type=int, metavar="POSITION", help="position of the first one")
            action.add_argument("--limit", type=int, metavar="N", help="print at most this many")
        if name == "repair":
            add_repair_arguments(action)


def run(args: argparse.Namespace) -> int:
    """Run `helio log`; a damaged log is a Problem."""
    if not args.directory.is_dir() or not segment_files(args.directory):
        raise InvalidInput(f"{args.directory}: expected the directory of a log, found no segments there")
    if args.action == "info":
        _info(args.directory)
    elif args.action == "check":
        return _check(args.directory)
    elif args.action == "repair":
        repair(args)
    elif args.action == "compact":
        _compact(args.directory)
    else:
        _dump(args.directory, args.start, args.limit)
    return 0


def _info(directory: Path) -> None:
    found = recover(find_segments(directory))
    newest = found.segments[-1]
    print(f"{directory}: positions {found.segments[0].base} to {found.end}, {len(found.segments)} segments")
    print(f"  a server that starts reads from position {newest.replay} on")
    expected = found.segments[0].base
    for segment, (start, end) in zip(found.segments, segment_spans(found.segments, found.end), strict=True):
        if start > expected:
            print(f"  {start - expected:,} bytes deleted")
        print(f"  {segment.path.name}  {end - start:>12,} bytes  epoch {segment.epoch}")
        expected = end
    _tell_torn(found)
    try:
        account, _ = replay(directory, newest.replay, found.end)
        contents, readers, objects = try_to_open(directory, newest.replay, found.end)
    except Problem as problem:
        print(f"no server could start with it: {problem}")
        return
    _tell_streams(account, contents)
    _tell_queues(account, contents)
    _tell_subscriptions(account, readers)
    _tell_objects(objects)


def _tell_objects(objects: SetAsides) -> None:
    if len(objects):
        print(f"{len(objects)} set aside, because no server can open it (`helio log repair` exports or forgets it):")
        tell(objects)


def _tell_streams(account: CursorTable, contents: LogContents) -> None:
    for name, record in sorted(contents.streams.items()):
        fact = json.loads(record.body)
        size, age = fact["retention_bytes"], fact["retention_age"]
        limits = [f"at most {size:,} bytes"] * bool(size) + [f"for {age:g} seconds"] * bool(age)
        print(f"stream {name}: {fact['filter']}, kept {', '.join(limits) or 'without limits'}")
        for partition, number in enumerate(fact["cursors"]):
            if cursor := account.cursors.get(number):
                print(f"  partition {partition}: {_contents(cursor)}")


def _tell_queues(account: CursorTable, contents: LogContents) -> None:
    for name in sorted(contents.queues.names()):
        _, number = contents.queues.definition(name)
        if cursor := account.cursors.get(number):
            print(f"queue {name}: {_contents(cursor)}")


def _contents(cursor: Cursor) -> str:
    if not cursor.pending:
        return f"empty, the next message gets offset {cursor.next}"
    return f"{cursor.pending} messages, offsets {cursor.first} to {cursor.next - 1}, {cursor.bytes:,} bytes"


def _tell_subscriptions(account: CursorTable, readers: list[Reader]) -> None:
    waiting = [
        (account.cursors[number], client, topic_filter)
        for client, topic_filter, number in readers
        if number in account.cursors
    ]
    if not waiting:
        return
    sessions = len({client for _, client, _ in waiting})
    pending = sum({cursor.number: cursor.pending for cursor, _, _ in waiting}.values())
    print(f"durable: {len(waiting)} subscriptions of {sessions} sessions, {pending} messages pending")
    waiting.sort(key=lambda one: -one[0].pending)
    for cursor, client, topic_filter in waiting[:_SHOWN]:
        print(f"  {client} {topic_filter}: {cursor.pending} messages, {cursor.bytes:,} bytes (cursor {cursor.number})")
    if len(waiting) > _SHOWN:
        print(f"  and {len(waiting) - _SHOWN} more")


def _check(directory: Path) -> int:
    found = recover(find_segments(directory))
    kinds: Counter[int] = Counter()
    messages = 0
    position = found.segments[0].base
    for number, record in enumerate(_whole_log(directory, found), 1):
        kinds[record.kind] += 1
        messages += record.count
        if record.kind == GROUP:
            kinds.update(member.kind for member in records_in(record))
        if sys.stderr.isatty() and not number % 10_000:
            done = (record.position - position) / max(found.end - position, 1)
            steer(sys.stderr, f"\r{done:.0%} ")
    by_kind = ", ".join(f"{kind_name(kind)}: {count}" for kind, count in sorted(kinds.items())) or "none"
    print(f"{directory}: ok, {sum(kinds.values())} records ({by_kind}), {messages} messages")
    _tell_torn(found)
    try:
        objects = try_to_open(directory, found.segments[-1].replay, found.end).failed
    except UnknownRecordKind as problem:
        print(f"not opened: {problem}")
        return 0
    _tell_objects(objects)
    return 1 if len(objects) else 0


def _whole_log(directory: Path, found: RecoveryResult) -> Iterator[Record]:
    """All records that have not been deleted."""
    reader = LogReader(directory)
    for start, end in segment_spans(found.segments, found.end):
        yield from reader.records(start, end)


def _tell_torn(found: RecoveryResult) -> None:
    if found.torn is not None:
        # A living server may be just writing that batch; one that starts cuts it off.
        print(f"unfinished at the end: {found.torn.lost} bytes from position {found.torn.position} on")


def _dump(directory: Path, start: int | None, limit: int | None) -> None:
    found = recover(find_segments(directory))
    records = _whole_log(directory, found) if start is None else LogReader(directory).records(start)
    for number, record in enumerate(records):
        if number == limit:
            return
        print(json.dumps(as_json(record), ensure_ascii=False))


def _compact(directory: Path) -> None:
    before = _size(directory)
    with opened(directory) as store:
        store.upkeep.compact()
    after = _size(directory)
    print(f"{directory}: {before:,} bytes before, {after:,} bytes now")


def _size(directory: Path) -> int:
    return sum(path.stat().st_size for path in segment_files(directory))
