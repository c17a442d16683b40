"""Look at the files of a log, also while a server is writing to them: `info`, `check` every record, or `dump` them."""

import argparse
import base64
import json
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from heliograph.errors import Problem
from heliograph.log.reader import LogReader
from heliograph.log.record import Record
from heliograph.log.recovery import Recovered, find_segments, recover, segment_spans
from heliograph.log.segment import segment_files


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `helio log`."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, text in (
        ("info", "print what the log holds, by segment"),
        ("check", "verify the check sum of every record; exit status 1 at the first that is damaged"),
        ("dump", "print records as JSON, one a line"),
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


def _check(directory: Path) -> None:
    found = recover(find_segments(directory))
    kinds: Counter[int] = Counter()
    messages = 0
    position = found.segments[0].base
    for record in _whole_log(directory, found):
        kinds[record.kind] += 1
        messages += record.count
        if sys.stderr.isatty() and not sum(kinds.values()) % 10_000:
            done = (record.position - position) / max(found.end - position, 1)
            print(f"\r{done:.0%} ", end="", file=sys.stderr, flush=True)
    by_kind = ", ".join(f"kind {kind}: {count}" for kind, count in sorted(kinds.items())) or "none"
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
        print(json.dumps(_as_json(record)))


def _as_json(record: Record) -> dict[str, object]:
    when = datetime.fromtimestamp(record.time / 1000, UTC).isoformat(timespec="milliseconds")
    fields = {
        "position": record.position,
        "kind": record.kind,
        "epoch": record.epoch,
        "offset": record.offset,
        "count": record.count,
        "time": when,
        "size": len(record.body),
    }
    try:
        return {**fields, "body": record.body.decode()}
    except UnicodeDecodeError:
        return {**fields, "body_base64": base64.b64encode(record.body).decode()}
