"""Whatever forms the records of a stream have, its files, its pages and the log's own tool tell the same messages."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from heliograph.cli.log.records import as_json
from heliograph.log import log_kinds
from heliograph.log.reader import LogReader
from heliograph.log.streams import remote_stream_reader, stream_parts
from heliograph.log.streams.remote_stream_reader import RemoteStreamReader
from heliograph.log.streams.stream_index import PartitionIndexWriter, write_description
from heliograph.log.streams.stream_parts import BodyPiece, FilePart
from heliograph.log.streams.stream_reader import StreamReader
from heliograph.log.streams.stream_span import StreamMessage
from heliograph.server.http.stream_pages import StreamPages
from log.recording_logs import RecordingLog, unforced

PARTITIONS = 2
NAME = "s"
Stored = tuple[str, bytes]
"""Topic and payload."""


def bytes_of(piece: BodyPiece) -> bytes:
    if not isinstance(piece, FilePart):
        return bytes(piece)
    with open(f"/dev/fd/{piece.descriptor}", "rb") as file:
        file.seek(piece.place)
        return file.read(piece.size)


class Pages:
    """A server of the pages of one log, and later of another."""

    def __init__(self) -> None:
        self.directory = Path()
        pages = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                path, _, query = self.path.partition("?")
                answer = StreamPages(pages.directory).answer(path, query)
                body = b"".join(map(bytes_of, answer.pieces))
                answer.close()
                self.send_response(answer.status)
                for name, value in (*answer.headers, ("Content-Length", str(len(body)))):
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Not here."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()


@pytest.fixture(scope="module")
def pages() -> Iterator[Pages]:
    found = Pages()
    yield found
    found.server.shutdown()
    found.server.server_close()


class Log:
    """A log with a stream, and what is stored in it."""

    def __init__(self, directory: Path) -> None:
        self.recorded = RecordingLog(directory, segment_size=3000)
        self.cursors = [self.recorded.message_log.new_cursor() for _ in range(PARTITIONS)]
        self.other = self.recorded.message_log.new_cursor()
        about = {"name": NAME, "filter": "#", "partitions": PARTITIONS, "retention_bytes": 0, "retention_age": 0}
        write_description(directory, NAME, about)
        self.writers = [PartitionIndexWriter(directory, NAME, p, cursor) for p, cursor in enumerate(self.cursors)]
        self.expected: list[list[Stored]] = [[] for _ in self.cursors]

    def store(self, partition: int | None, form: str, payloads: list[bytes]) -> None:
        """For a partition and perhaps for others, or for others alone."""
        mine = [self.other] if partition is None else [self.cursors[partition]]
        if form == "uniform":
            payloads = [payload.ljust(len(payloads[0]))[: len(payloads[0])] for payload in payloads]
            self.recorded.store(mine, payloads, topic="t")
        else:
            self.recorded.store_mixed([self.other, *mine] if partition is not None else mine, payloads)
        if partition is not None:
            topics = ["t" if form == "uniform" else f"topic/{number}" for number in range(len(payloads))]
            self.expected[partition] += zip(topics, payloads, strict=True)

    def finish(self) -> None:
        """Everything can be read."""
        self.recorded.message_log.wait()
        for writer in self.writers:
            writer.take()
            writer.write()


STORED = st.tuples(
    st.sampled_from([0, 0, 1, None]),
    st.sampled_from(["uniform", "mixed"]),
    st.lists(st.binary(max_size=300), min_size=1, max_size=6),
)
STEPS = st.lists(st.lists(STORED, min_size=1, max_size=4), min_size=1, max_size=12)
"""Each is something alone, or some things in a group."""


def told(message: StreamMessage) -> Stored:
    return message.topic, message.payload


def dumped(directory: Path, cursor: int) -> list[Stored]:
    """What `helio log dump` shows of the messages of a cursor."""
    found: list[Stored] = []
    for record in LogReader(directory).records(0):
        shown = json.loads(json.dumps(as_json(record)))
        for one in shown["records"] if record.kind == log_kinds.GROUP else [shown]:
            if one["kind"] != "messages" or cursor not in [receiver["cursor"] for receiver in one["receivers"]]:
                continue
            if "topic" in one:
                payloads = one.get("payloads") or one.get("payloads_base64")
                found += [(one["topic"], payload) for payload in payloads]
            else:
                found += [(each["topic"], each.get("payload", each.get("payload_base64"))) for each in one["messages"]]
    return found


LIVES = count()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(STEPS, st.sampled_from([300, 16 << 10]), st.sampled_from([0, 700, 64 << 10]), st.data())
def test_all_tell_the_same(
    tmp_path: Path, pages: Pages, steps: list, window: int, worth: int, data: st.DataObject
) -> None:
    directory = pages.directory = tmp_path / str(next(LIVES))
    with unforced():
        log = Log(directory)
        for step in steps:
            if len(step) == 1:
                log.store(*step[0])
                continue
            with log.recorded.message_log.group():
                for one in step:
                    log.store(*one)
        log.finish()
        log.recorded.close()
    with (
        mock.patch.object(stream_parts, "_WINDOW", window),
        mock.patch.object(stream_parts, "_WORTH_SENDING", worth),
        mock.patch.object(remote_stream_reader, "_MUCH", 2000),
        StreamReader(directory, NAME) as files,
        RemoteStreamReader(pages.url, NAME) as remote,
    ):
        for partition, expected in enumerate(log.expected):
            first = data.draw(st.integers(0, len(expected)))
            number = data.draw(st.integers(0, len(expected) - first)) or None
            found = list(files.messages(partition, first, number))
            assert list(remote.messages(partition, first, number)) == found
            assert [message.offset for message in found] == list(range(first, first + len(found)))
            assert [told(message) for message in found] == expected[first:][:number]
            shown = dumped(directory, log.cursors[partition].number)
            assert [topic for topic, _ in shown] == [topic for topic, _ in expected]
