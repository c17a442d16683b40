"""Objects of a log that no server can open: found without touching the log, exported or forgotten by an operator."""

import argparse
import base64
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from heliograph.broker import Broker, Clock, Limits, LogContents, SetAside, SetAsides, Store, stream_options_of
from heliograph.cli.log.records import as_json, kind_name
from heliograph.errors import InvalidInput, StorageError
from heliograph.log import CursorTable, LogOptions, LogReader

_MOST = sys.maxsize
# Nothing is refused or thrown away, whatever the limits of the server are.
_LIMITS = Limits(retained_messages=_MOST, retained_bytes=_MOST, max_messages=_MOST, max_bytes=_MOST)


def replay(directory: Path, start: int, end: int) -> tuple[CursorTable, LogContents]:
    """What a server that starts would know, without taking the log from one that has it."""
    contents = LogContents()
    account = CursorTable(contents.take_record, contents.take_messages)
    for record in LogReader(directory).records(start, end):
        account.replay(record)
    return account, contents


Reader = tuple[str, str, int]
"""A client, what it is subscribed to, and the number of the cursor with its messages."""


class Tried(NamedTuple):
    """What a server would make of a log."""

    contents: LogContents
    """Streams and queues that can be opened."""
    readers: list[Reader]
    failed: SetAsides


def try_to_open(directory: Path, start: int, end: int) -> Tried:
    """Open all that a log has as a server would, but beside a log in a folder that is thrown away."""
    account, contents = replay(directory, start, end)
    with tempfile.TemporaryDirectory(prefix="heliograph-check-") as scratch:
        store = Store(Path(scratch), _clock(), lambda: None, LogOptions(force=False))
        try:
            store.ledger.cursors, store.ledger.last_number = account.cursors, account.last_number
            store.contents = contents
            broker = Broker(_LIMITS, time.monotonic, lambda: "", None, store)
        finally:
            store.ledger.close()
        return Tried(contents, list(_readers(broker)), store.set_aside)


def _readers(broker: Broker) -> Iterator[Reader]:
    for session in broker.sessions.values():
        for subscription in session.subscriptions.values():
            if subscription.spool is not None:
                yield session.client_id, subscription.filter, subscription.spool.cursor.number


def tell(objects: SetAsides) -> None:
    """List what is set aside, by the numbers that `helio log repair` takes."""
    for number, one in enumerate(objects, 1):
        print(f"  {number}. {one.name}, in the log at position {one.position}: {one.why}")


@contextmanager
def opened(directory: Path) -> Iterator[Store]:
    """A log as if a server were started and stopped; a Problem if one is running."""
    store = Store(directory, _clock(), lambda: None, LogOptions())
    streams = []
    for record in store.contents.streams.values():
        fact = json.loads(record.body)
        # Those that the configuration had stay as they are; others, and what cannot be opened, are no business of ours.
        if isinstance(fact, dict) and not fact.get("made"):
            try:
                streams.append(stream_options_of(fact))
            except Exception:  # noqa: S112  (it is set aside when it is opened)
                continue
    try:
        broker = Broker(_LIMITS, time.monotonic, lambda: "", None, store, streams)
        broker.turn.end()
        yield store
    finally:
        store.close()


def _clock() -> Clock:
    return Clock(time.monotonic, time.time)


# Repair


def add_repair_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `helio log repair`."""
    parser.add_argument("--export", type=Path, metavar="FILE", help="write all of it to a file, as JSON, one a line")
    parser.add_argument(
        "--drop",
        action="append",
        default=[],
        metavar="NUMBER",
        help="forget this one, and its messages: its number in the list, or all; repeatable",
    )
    parser.add_argument("--yes", action="store_true", help="do not ask before something is forgotten")


def repair(args: argparse.Namespace) -> None:
    """List what is set aside, and do with it what was asked for."""
    with opened(args.directory) as store:
        found = list(store.set_aside)
        if not found:
            print(f"{args.directory}: everything can be opened")
            return
        print(f"{args.directory}: set aside, because no server can open it:")
        tell(store.set_aside)
        if args.export:
            _export(store, found, args.export)
        if chosen := _chosen(found, args.drop):
            if not args.yes and not _confirmed(chosen):
                print("nothing was forgotten")
                return
            for one in chosen:
                _drop(store, one)
            store.upkeep.checkpoint()
            print(f"{len(chosen)} forgotten, {len(store.set_aside)} left")
        elif not args.export:
            print("--export FILE writes it to a file, --drop NUMBER forgets it")


def _chosen(found: list[SetAside], asked: list[str]) -> list[SetAside]:
    if "all" in asked:
        return found
    for word in asked:
        if not (word.isascii() and word.isdigit() and 1 <= int(word) <= len(found)):
            raise InvalidInput(f"--drop: expected a number from 1 to {len(found)}, or all, found {word}")
    return [found[number - 1] for number in sorted({int(word) for word in asked})]


def _confirmed(chosen: list[SetAside]) -> bool:
    if not sys.stdin.isatty():
        raise InvalidInput("expected --yes, since there is no terminal to ask at")
    names = ", ".join(one.name for one in chosen)
    return input(f"forget {names}, with all messages of it? [y/N] ").strip().lower() in {"y", "yes"}


def _drop(store: Store, one: SetAside) -> None:
    store.set_aside.remove(one)
    needed = {number for other in store.set_aside for number in other.cursors}
    for number in one.cursors:
        if number not in needed and (cursor := store.ledger.cursors.get(number)):
            store.ledger.drop_cursor(cursor)


def _export(store: Store, found: list[SetAside], path: Path) -> None:
    try:
        with path.open("x") as file:
            for one in found:
                for line in _lines(store, one):
                    print(json.dumps(line), file=file)
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror or error}") from None
    print(f"written to {path}")


def _lines(store: Store, one: SetAside) -> Iterator[dict[str, object]]:
    """An object: what it is, and then the records that have its messages, each once for each of its cursors."""
    yield {
        "object": one.name,
        "why": one.why,
        "kind": kind_name(one.kind),
        "position": one.position,
        "body_base64": base64.b64encode(one.body).decode(),
        "cursors": list(one.cursors),
    }
    for number in one.cursors:
        cursor = store.ledger.cursors[number]
        reading = store.ledger.cursor_reader(cursor)
        for lo, hi in cursor.pending_ranges():
            while lo < hi and (record := reading.find(lo)) is not None:
                yield {"object": one.name, "cursor": number, "offset": record.first, **as_json(record.record)}
                lo = record.next
