"""`helio log`: what an operator sees of a log's files."""

import json
import shutil
from pathlib import Path

import pytest

from broker.queue_scenes import Scene
from configurations import PLAIN
from heliograph.broker.queues.consumer import FAILED
from heliograph.broker.storage import record_kinds
from heliograph.cli.main import main
from heliograph.log import log_kinds
from heliograph.log.queue_messages import QueueMessages
from heliograph.log.segment import segment_files
from heliograph.log.streams.stream_reader import StreamReader
from heliograph.mqtt import Publish
from log.recording_logs import RecordingLog
from log.test_mixed_messages import mixed
from log.watched_log import WatchedLog
from plain_client import PlainClient
from running import servers


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    log = WatchedLog(tmp_path / "log", segment_size=200)
    for number in range(6):
        log.append(number % 2 + 50, b"message %d" % number, offset=number, count=1)
        log.flush()
    log.append(52, b"\xff\xfe", count=2)
    log.close()
    return log.directory


def test_info_lists_the_segments(directory: Path, capsys) -> None:
    assert main(["log", "info", str(directory)]) == 0
    shown = capsys.readouterr().out
    assert all(path.name in shown for path in segment_files(directory))
    assert len(segment_files(directory)) > 1


def test_info_tells_what_was_deleted_and_check_takes_it_for_granted(directory: Path, capsys) -> None:
    first, second, third = [int(path.stem) for path in segment_files(directory)[:3]]
    segment_files(directory)[1].unlink()
    assert main(["log", "info", str(directory)]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[1] == f"  a server that starts reads from position {first} on"
    assert shown[3] == f"  {third - second:,} bytes deleted"
    assert main(["log", "check", str(directory)]) == 0
    assert main(["log", "dump", str(directory)]) == 0


def test_check_counts_what_is_whole(directory: Path, capsys) -> None:
    assert main(["log", "check", str(directory)]) == 0
    assert "ok, 7 records (kind 50: 3, kind 51: 3, kind 52: 1), 8 messages" in capsys.readouterr().out


@pytest.fixture
def grouped(tmp_path: Path) -> Path:
    recorded = RecordingLog(tmp_path / "grouped")
    cursor = recorded.message_log.new_cursor()
    recorded.store([cursor], [b"alone"])
    with recorded.message_log.group():
        messages = QueueMessages.of([b"text", b"\xff\xfe"], [4, 9], [0, 1], [0, 5000], [7000, 0])
        recorded.message_log.store(messages, [cursor], [0])
        recorded.message_log.acknowledge(cursor, 0, 1)
    recorded.close()
    return recorded.directory


def test_check_looks_inside_groups(grouped: Path, capsys) -> None:
    assert main(["log", "check", str(grouped)]) == 0
    assert "ok, 5 records (messages: 2, acks: 1, cursor: 1, group: 1), 3 messages" in capsys.readouterr().out


def test_dump_shows_groups_and_messages_of_queues(grouped: Path, capsys) -> None:
    assert main(["log", "dump", str(grouped)]) == 0
    *_, group = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert group["kind"] == "group"
    messages, acks = group["records"]
    assert messages["messages"] == [
        {"priority": 4, "flags": 0, "deliver_at": 7000, "message": "text"},
        {"priority": 9, "flags": 1, "expires": 5000, "message_base64": "//4="},
    ]
    assert messages["receivers"] == [{"cursor": 1, "offset": 1}]
    assert acks["acks"] == [{"cursor": 1, "from": 0, "to": 1}]


def test_dump_shows_the_topic_of_each_message_if_they_differ(tmp_path: Path, capsys) -> None:
    recorded = RecordingLog(tmp_path / "mixed")
    cursors = [recorded.message_log.new_cursor(), recorded.message_log.new_cursor()]
    rows = [(b"a/1", b"text", b"\1\1", 5, 7), ("ü".encode(), b"\xff", b"", 6, 0)]
    recorded.message_log.store(mixed(rows, 2, True), cursors, [9, 0])
    recorded.store_mixed(cursors[:1], [b"one", b"more"])
    recorded.close()
    assert main(["log", "dump", str(recorded.directory)]) == 0
    *_, first, second = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert first["qos"] == 2
    assert first["messages"] == [
        {"topic": "a/1", "payload": "text", "properties": "0101", "publisher": 7},
        {"topic": "ü", "payload_base64": "/w=="},
    ]
    assert first["receivers"] == [{"cursor": 1, "offset": 0, "identifier": 9}, {"cursor": 2, "offset": 0}]
    assert [message["topic"] for message in second["messages"]] == ["topic/0", "topic/1"]
    assert second["receivers"] == [{"cursor": 1, "offset": 2}]


def test_check_ends_with_1_at_damage_and_says_where(directory: Path, capsys) -> None:
    path = segment_files(directory)[0]
    raw = bytearray(path.read_bytes())
    raw[-12] ^= 1
    path.write_bytes(raw)
    assert main(["log", "check", str(directory)]) == 1
    told = capsys.readouterr().err
    assert str(path) in told
    assert "damaged at byte" in told


def test_check_tells_of_an_unfinished_batch_and_leaves_it_alone(directory: Path, capsys) -> None:
    path = segment_files(directory)[-1]
    whole = path.read_bytes()
    path.write_bytes(whole + b"half a batch")
    assert main(["log", "check", str(directory)]) == 0
    assert "unfinished at the end: 12 bytes" in capsys.readouterr().out
    assert path.read_bytes() == whole + b"half a batch"


def test_dump_prints_records_as_json(directory: Path, capsys) -> None:
    assert main(["log", "dump", str(directory)]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [record["kind"] for record in records] == ["kind 50", "kind 51"] * 3 + ["kind 52"]
    assert records[0]["body"] == "message 0"
    assert records[6]["body_base64"] == "//4="
    main(["log", "dump", str(directory), "--from", str(records[2]["position"]), "--limit", "2"])
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == records[2:4]


def test_dump_shows_records_that_make_no_sense_as_they_are(tmp_path: Path, capsys) -> None:
    log = WatchedLog(tmp_path / "log")
    for kind, body in ((record_kinds.MOVES, b"x"), (record_kinds.SESSION, b"[" * 100_000), (log_kinds.CURSOR, b"xx")):
        log.append(kind, body, when=2**62)
    log.close()
    assert main(["log", "dump", str(log.directory)]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [record["body"] for record in records] == ["x", "[" * 100_000, "xx"]
    assert {record["time"] for record in records} == {"4611686018427388.000 s after 1970"}


def test_what_is_no_log_is_refused(tmp_path: Path, capsys) -> None:
    assert main(["log", "info", str(tmp_path)]) == 1
    assert "expected the directory of a log, found no segments there" in capsys.readouterr().err


STREAM = """
[[stream]]
name = "plant"
filter = "plant/#"
"""


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log of a server that has stopped, with a stream and a session that is away."""
    folder = tmp_path_factory.mktemp("used")
    with servers(folder) as serve:
        server = serve(PLAIN + STREAM)
        with PlainClient(server.port).connected("away", properties={"session_expiry_interval": 600}) as client:
            client.subscribe("plant/#", qos=1)
        with PlainClient(server.port).connected() as client:
            for n in range(5):
                client.publish("plant/a", b"%d" % n)
            client.send(Publish("plant/b", "grüße".encode()), Publish("plant/b", b"\xff"))
            client.publish("elsewhere")
        # While the server has it, all can be looked at and nothing can be changed.
        for action, status in (("info", 0), ("check", 0), ("dump", 0), ("compact", 1)):
            assert main(["log", action, str(folder / "server-0-data")]) == status
    return folder / "server-0-data"


def test_info_lists_streams_and_subscriptions(used: Path, capsys) -> None:
    assert main(["log", "info", str(used)]) == 0
    shown = capsys.readouterr().out
    assert (
        "stream plant: plant/#, kept at most 1,073,741,824 bytes\n  partition 0: 7 messages, offsets 0 to 6, " in shown
    )
    assert "durable: 1 subscriptions of 1 sessions, 5 messages pending\n  away plant/#: 5 messages, " in shown


def test_dump_decodes_what_it_knows(used: Path, capsys) -> None:
    assert main(["log", "dump", str(used)]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    by_kind = {record["kind"]: record for record in records}
    assert by_kind["stream"]["fact"]["filter"] == "plant/#"
    assert by_kind["session"]["fact"]["client"] == "away"
    assert by_kind["complete"]["checkpoint"] == by_kind["checkpoint"]["position"]
    (first, *_) = [record for record in records if record["kind"] == "messages"]
    assert (first["topic"], first["qos"], first["payloads"]) == ("plant/a", 1, ["0"])
    assert sorted(receiver["offset"] for receiver in first["receivers"]) == [0, 0]
    (together,) = [record for record in records if record["kind"] == "messages" and "messages" in record]
    assert [message["topic"] for message in together["messages"]] == ["plant/b", "plant/b"]
    assert together["messages"][0]["payload"] == "grüße"
    assert together["messages"][1]["payload_base64"] == "/w=="


def test_queues_are_listed_and_their_facts_decoded(tmp_path: Path, capsys) -> None:
    scene = Scene(tmp_path)
    queue = scene.queue("ORDERS")
    scene.put(queue, "a", "b", durable=True)
    queue.settle(scene.consumer(queue, credit=1).entries, FAILED)
    scene.turn()
    scene.close()
    assert main(["log", "info", str(scene.log)]) == 0
    assert "queue ORDERS: 2 messages, offsets 0 to 1, " in capsys.readouterr().out
    assert main(["log", "dump", str(scene.log)]) == 0
    by_kind = {record["kind"]: record for record in map(json.loads, capsys.readouterr().out.splitlines())}
    assert by_kind["queue"]["fact"]["definition"]["name"] == "ORDERS"
    assert by_kind["deliveries"]["deliveries"] == [{"cursor": 1, "offset": 0, "failed": 1}]


def test_compact_gives_room_back_and_keeps_what_is_needed(used: Path, tmp_path: Path, capsys) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(used, copy)
    main(["log", "info", str(copy)])
    before = capsys.readouterr().out.partition("stream plant")[2]
    assert main(["log", "compact", str(copy)]) == 0
    told = capsys.readouterr().out
    assert "bytes before" in told
    assert len(segment_files(copy)) <= 3
    main(["log", "info", str(copy)])
    assert "7 messages, offsets 0 to 6" in before
    assert "7 messages, offsets 0 to 6" in capsys.readouterr().out
    with StreamReader(copy, "plant") as reader:
        assert [m.offset for m in reader.messages(0, 0)] == list(range(7))
