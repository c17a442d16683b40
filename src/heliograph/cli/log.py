"""Look at the files of a log, also while a server writes to them (`info`, `check`, `dump`), or `compact` them."""

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from heliograph.broker.broker import Broker
from heliograph.broker.limits import Limits
from heliograph.broker.revival import Revival
from heliograph.broker.store import Clock, Store
from heliograph.broker.streams import options_of
from heliograph.cli.log_records import as_json, kind_name
from heliograph.errors import Problem
from heliograph.log.account import Account
from heliograph.log.cursor import Cursor
from heliograph.log.group import records_in
from heliograph.log.kinds import GROUP
from heliograph.log.log import LogOptions
from heliograph.log.reader import LogReader
from heliograph.log.record import Record
from heliograph.log.recovery import Recovered, find_segments, recover, segment_spans
from heliograph.log.segment import segment_files
from heliograph.terminal import steer

_SHOWN = 20
"""Subscriptions listed: those with most messages waiting."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `helio log`."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, text in (
        ("info", "print what the log holds: segments, streams, and subscriptions with messages waiting"),
        ("check", "verify the check sum of every record; exit status 1 at the first that is damaged"),
        ("dump", "print records as JSON, one a line"),
        ("compact", "give back all the room that is not needed; no server must be running"),
    ):
        action = actions.add_parser(name, help=text, description=text)
        action.add_argument("directory", type=Path, help="the log's directory")
        if name == "dump":
            action.add_argument("--from", dest="start", type=int, metavar="POSITION", help="position of the first one")
            action.add_argument("--limit", type=int, metavar="N", help="print at most so many")


def run(args: argparse.Namespace) -> int:
    """Run `helio log`; a damaged log is a Problem."""
    if not args.directory.is_dir() or not segment_files(args.directory):
        raise Problem(f"{args.directory}: expected the directory of a log, found no segments there")
    if args.action == "info":
        _info(args.directory)
    elif args.action == "check":
        _check(args.directory)
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
        account, revival = _replay(directory, newest.replay, found.end)
    except Problem as problem:
        print(f"no server could start with it: {problem}")
        return
    _tell_streams(account, revival)
    _tell_queues(account, revival)
    _tell_subscriptions(account, revival)


def _replay(directory: Path, start: int, end: int) -> tuple[Account, Revival]:
    """What a server that starts would know, without taking the log from one that has it."""
    revival = Revival(Clock(time.monotonic, time.time))
    account = Account(revival.take_fact, revival.take_messages)
    for record in LogReader(directory).records(start, end):
        account.replay(record)
    return account, revival


def _tell_streams(account: Account, revival: Revival) -> None:
    for name, fact in sorted(revival.streams.items()):
        size, age = fact["retention_bytes"], fact["retention_age"]
        limits = [f"at most {size:,} bytes"] * bool(size) + [f"for {age:g} seconds"] * bool(age)
        print(f"stream {name}: {fact['filter']}, kept {', '.join(limits) or 'without limits'}")
        for partition, number in enumerate(fact["cursors"]):
            if cursor := account.cursors.get(number):
                print(f"  partition {partition}: {_contents(cursor)}")


def _tell_queues(account: Account, revival: Revival) -> None:
    for definition, number in sorted(revival.queues.definitions(), key=lambda pair: pair[0].name):
        if cursor := account.cursors.get(number):
            print(f"queue {definition.name}: {_contents(cursor)}")


def _contents(cursor: Cursor) -> str:
    if not cursor.pending:
        return f"empty, the next message gets offset {cursor.next}"
    return f"{cursor.pending} messages, offsets {cursor.first} to {cursor.next - 1}, {cursor.bytes:,} bytes"


def _tell_subscriptions(account: Account, revival: Revival) -> None:
    waiting = [
        (account.cursors[number], client, topic_filter)
        for client, topic_filter, number in revival.readers()
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


def _check(directory: Path) -> None:
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


def _whole_log(directory: Path, found: Recovered) -> Iterator[Record]:
    """All records that have not been deleted."""
    reader = LogReader(directory)
    for start, end in segment_spans(found.segments, found.end):
        yield from reader.records(start, end)


def _tell_torn(found: Recovered) -> None:
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
    store = Store(directory, Clock(time.monotonic, time.time), lambda: None, LogOptions())
    # As if a server were started and stopped, with nothing refused or thrown away: a will may be due.
    most = sys.maxsize
    limits = Limits(retained_messages=most, retained_bytes=most, max_messages=most, max_bytes=most)
    streams = [options_of(fact) for fact in store.revival.streams.values() if not fact.get("made")]
    try:
        broker = Broker(limits, time.monotonic, lambda: "", None, store, streams)
        broker.end_turn()
        store.upkeep.compact()
    finally:
        store.close()
    after = _size(directory)
    print(f"{directory}: {before:,} bytes before, {after:,} bytes now")


def _size(directory: Path) -> int:
    return sum(path.stat().st_size for path in segment_files(directory))
