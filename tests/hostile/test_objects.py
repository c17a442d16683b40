"""Objects that a client makes durable: none may keep the server from starting again.

What is wrong is refused at the door; and where an older server let it into the log, it is set aside at the start.
"""

import json
import math
import urllib.request
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest

from broker.queue_scenes import WALL
from configurations import BOTH
from faults.amqp_peer import AmqpPeer
from heliograph.amqp import Source, Target
from heliograph.amqp.codec.performatives import Attach, Detach, Durability, ExpiryPolicy
from heliograph.amqp.codec.values import Described, Symbol, ULong
from heliograph.broker.amqp.filters import SELECTOR_CODE
from heliograph.broker.core.timers import Clock
from heliograph.broker.storage import record_kinds
from heliograph.broker.storage.offline_sessions import OfflineSession, OfflineSubscription
from heliograph.broker.storage.store import Store
from heliograph.cli.main import main
from heliograph.client import Message as ClientMessage
from heliograph.client import connect
from heliograph.log.log import LogOptions
from heliograph.log.messages import Receivers, UniformMessages, encode_uniform_messages
from heliograph.mqtt import PubAck, Publish
from hostile.bystander import Bystander
from plain_client import PlainClient
from running import PATIENCE, RunningServer, Serve

CONFIG = f"""{BOTH}
[storage]
directory = "data"
[limits]
topic_levels = 1000
"""


def put(server: RunningServer, name: str, body: str) -> tuple[int, str]:
    request = urllib.request.Request(f"{server.url('http').rstrip('/')}/streams/{name}", body.encode(), method="PUT")
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as error:
        with error:
            return error.code, error.read().decode()


BAD_STREAMS = {
    "a long name": ("x" * 300, '{"filter": "a"}'),
    "half of a surrogate pair": ("half", '{"filter": "\\ud800"}'),
    "20,000 levels": ("deep", json.dumps({"filter": "/".join("a" * 20_000)})),
    "a filter of 70 KB": ("wide", json.dumps({"filter": "a" * 70_000})),
    "endless retention": ("large", '{"filter": "a", "retention_bytes": 1' + "0" * 32 + "}"),
    "more digits than Python reads": ("digits", '{"filter": "a", "retention_bytes": 1' + "0" * 5000 + "}"),
    "no age at all": ("nan", '{"filter": "a", "retention_age": NaN}'),
    "an endless age": ("inf", '{"filter": "a", "retention_age": Infinity}'),
    "a large age": ("age", '{"filter": "a", "retention_age": 1e300}'),
}


def test_streams_that_could_not_be_opened_again_are_refused(serve: Serve, tmp_path: Path) -> None:
    server = serve(CONFIG)
    with Bystander(server.port, pid=server.process.pid):
        for why, (name, body) in BAD_STREAMS.items():
            status, told = put(server, name, body)
            assert status in {400, 413}, (why, told)
            assert len(told) < 1000
        assert put(server, "x" * 200, '{"filter": "a"}')[0] == 201
    server.stop()
    server = serve(CONFIG)
    assert [stream["name"] for stream in server.stats()["streams"]] == ["x" * 200]
    assert server.stats()["storage"]["objects_set_aside"] == 0


BAD_QUEUES: dict[str, dict[str, Any]] = {
    "a long name": {"name": "x" * 300},
    "a name of the server's own": {"name": "$x"},
    "U+0000 in the description": {"name": "q", "description": "a\0b"},
    "a long description": {"name": "q", "description": "x" * 60_000},
    "a long name of another": {"name": "q", "backout_queue": "x" * 300},
    "a large number": {"name": "q", "max_depth": ULong(2**64 - 1)},
    "an endless number": {"name": "q", "max_ttl": math.inf},
    "no number": {"name": "q", "max_ttl": math.nan},
    "a list for a name": {"name": ["q"]},
    "a list to be like": {"name": "q", "like": [[]]},
    "a map for a kind": {"name": "q", "kind": {}},
    "an unknown attribute": {"name": "q", "x" * 60_000: 1},
}
DEEP = "/".join("a" * 20_000)
BAD_SUBSCRIPTIONS: dict[str, tuple[str, str, str | None]] = {
    "a long name": ("n" * 3000, "topic://a", None),
    "U+0000 in the name": ("a\0b", "topic://a", None),
    "20,000 levels": ("levels", f"topic://{DEEP}", None),
    "a filter of 70 KB": ("wide", "topic://" + "a" * 70_000, None),
    "no filter": ("none", "topic://a/#/b", None),
    "a long selector": ("selector", "topic://a", "x = '" + "a" * 70_000 + "'"),
    "no selector": ("wrong", "topic://a", "x ="),
}


def test_queues_that_could_not_be_opened_again_are_refused(serve: Serve) -> None:
    server = serve(CONFIG)
    with (
        Bystander(server.port, pid=server.process.pid),
        connect(server.url("amqp")) as connection,
        connection.session() as session,
    ):
        for why, arguments in BAD_QUEUES.items():
            for operation in ("queue-define", "queue-alter"):
                if operation == "queue-alter" and isinstance(arguments["name"], str):
                    arguments = {**arguments, "name": "SYSTEM.DEFAULT.MODEL.QUEUE"}
                request = ClientMessage(arguments, properties={"operation": operation})
                answer = session.request("$management", request, PATIENCE)
                changes = arguments.keys() - {"name", "like"}
                assert answer.properties["status"] in {400, 409} or not changes, (why, answer.body)
                assert len(str(answer.body)) < 1000, why
    assert_same_after_restart(serve, server)


def test_subscriptions_that_could_not_be_opened_again_are_refused(serve: Serve) -> None:
    server = serve(CONFIG)
    with Bystander(server.port, pid=server.process.pid):
        for why, (name, address, selector) in BAD_SUBSCRIPTIONS.items():
            filters = {Symbol("s"): Described(SELECTOR_CODE, selector)} if selector else None
            source = Source(address, Durability.UNSETTLED_STATE, ExpiryPolicy.NEVER, filter=filters)
            with AmqpPeer(server.port_of("amqp")).opened(Attach(name, 0, True, source=source, target=Target())) as peer:
                assert peer.wait_for(Detach).error is not None, why
    assert_same_after_restart(serve, server)


def test_sessions_and_retained_messages_at_their_limits_can_be_opened_again(serve: Serve) -> None:
    """The longest that MQTT has for each of them; what is longer, its own rules refuse."""
    server = serve(CONFIG)
    longest = "x" * 65_535
    levels = "/".join("a" * 1000)
    with Bystander(server.port, pid=server.process.pid):
        with (
            PlainClient(server.port).connected(
                longest, clean_start=False, properties={"session_expiry_interval": 2**32 - 1}
            ) as client,
            PlainClient(server.port).connected("publisher") as publisher,
        ):
            share = "$share/" + "g" * 60_000 + "/a"
            assert [client.subscribe(one, qos=2)[0] for one in (longest, levels, share)] == [2, 2, 2]
            properties = {"user_property": [(longest, longest)], "content_type": longest}
            publisher.send(Publish(longest, b"retained", qos=1, retain=True, packet_id=1, properties=properties))
            assert isinstance(publisher.receive(), PubAck)
            publisher.send(Publish(levels, b"retained", qos=1, retain=True, packet_id=2))
            assert isinstance(publisher.receive(), PubAck)
        with PlainClient(server.port).connected("deep") as client:
            assert client.subscribe(DEEP)[0] >= 0x80
    assert_same_after_restart(serve, server)
    server = serve(CONFIG)
    with PlainClient(server.port) as client:
        assert client.connect(longest, clean_start=False).session_present
        topics = {packet.topic for packet in (client.receive(), client.receive()) if isinstance(packet, Publish)}
        assert topics == {longest, levels}
    with PlainClient(server.port).connected() as client:
        for topic in (longest, levels):
            client.subscribe(topic)
            message = client.receive()
            assert isinstance(message, Publish)
            assert (message.topic, message.retain) == (topic, True)


def assert_same_after_restart(serve: Serve, server: RunningServer) -> None:
    """Stopped and started again, a server has all that it had, and nothing that it cannot open."""
    names = [queue["name"] for queue in server.stats()["queues"]["named"]]
    server.stop()
    server = serve(CONFIG)
    assert server.stats()["storage"]["objects_set_aside"] == 0
    assert [queue["name"] for queue in server.stats()["queues"]["named"]] == names
    assert "q" not in names
    server.stop()


# -- what an older server let into the log ----------------------------------------------------------------------------

_STREAM = {"filter": "a/#", "retention_bytes": 0, "retention_age": 0, "made": True, "identity": "i"}
_SESSION = {
    "session": 7,
    "client": "c",
    "expiry": 3600,
    "away": None,
    "will": None,
    "will_due": None,
    "received": [],
    "next_id": 1,
    "sent": [],
    "released": [],
    "subscriptions": [],
    "retired": [],
}
_SUBSCRIPTION = {"filter": "a", "qos": 1, "no_local": False, "retain_as_published": False, "extra": "", "cursor": 1}
_QUEUE = {"queue": "Q", "cursor": 1, "definition": {"name": "Q"}, "bindings": []}
_BINDING = {"filter": "a", "selector": "", "no_local": ""}


def _retained(topic: bytes) -> bytes:
    messages = UniformMessages(topic, b"payload", 1, 0, 0, 0, False, True, False, True, b"", 0, 0)
    return encode_uniform_messages(messages, Receivers((), (), ())) + messages.data


def _away(topic_filter: str) -> OfflineSession:
    return OfflineSession(7, "c", 3600, 0, 1, [OfflineSubscription(topic_filter, 1, 1, b"")])


def _json(fact: dict[str, Any]) -> bytes:
    return json.dumps(fact).encode()


BAD_FACTS: dict[str, tuple[int, bytes, str]] = {
    "stream, long name": (record_kinds.STREAM, _json({**_STREAM, "stream": "x" * 300, "cursors": [1]}), "at most 200"),
    "stream, surrogate": (
        record_kinds.STREAM,
        _json({**_STREAM, "stream": "s", "cursors": [1], "filter": "\ud800"}),
        "no text that UTF-8 has",
    ),
    "stream, levels": (
        record_kinds.STREAM,
        _json({**_STREAM, "stream": "s", "cursors": [1], "filter": "/".join("a" * 20_000)}),
        "at most 1024 levels",
    ),
    "stream, bytes": (
        record_kinds.STREAM,
        _json({**_STREAM, "stream": "s", "cursors": [1], "retention_bytes": 10**32}),
        "retention_bytes: expected an integer",
    ),
    "stream, no cursor": (
        record_kinds.STREAM,
        _json({**_STREAM, "stream": "s", "cursors": [99]}),
        "expected cursor 99",
    ),
    "stream, keys": (record_kinds.STREAM, _json({"stream": "s", "cursors": [1]}), "KeyError"),
    "stream, a number for a name": (
        record_kinds.STREAM,
        _json({**_STREAM, "stream": 5, "cursors": [1]}),
        "expected a string",
    ),
    "stream, no JSON": (record_kinds.STREAM, b"{", "JSONDecodeError"),
    "stream, nested JSON": (record_kinds.STREAM, b"[" * 100_000, "RecursionError"),
    "queue, name": (record_kinds.QUEUE, _json({**_QUEUE, "definition": {"name": "x" * 300}}), "1 to 255"),
    "queue, number": (record_kinds.QUEUE, _json({**_QUEUE, "definition": {"name": "Q", "max_depth": 0}}), "max_depth"),
    "queue, unknown attribute": (
        record_kinds.QUEUE,
        _json({**_QUEUE, "definition": {"name": "Q", "x": 0}}),
        "TypeError",
    ),
    "queue, no cursor": (record_kinds.QUEUE, _json({**_QUEUE, "cursor": 99}), "expected cursor 99"),
    "queue, a list and no cursor": (
        record_kinds.QUEUE,
        _json({**_QUEUE, "cursor": []}),
        "expected the number of a cursor",
    ),
    "queue, no cursor in its keys": (record_kinds.QUEUE, _json({"queue": "Q"}), "KeyError"),
    "queue, filter": (
        record_kinds.QUEUE,
        _json({**_QUEUE, "bindings": [{**_BINDING, "filter": "a/#/b"}]}),
        "topic filter",
    ),
    "queue, selector": (
        record_kinds.QUEUE,
        _json({**_QUEUE, "bindings": [{**_BINDING, "selector": "a ="}]}),
        "selector",
    ),
    "session, filter": (
        record_kinds.SESSION,
        _json({**_SESSION, "subscriptions": [_SUBSCRIPTION, {**_SUBSCRIPTION, "filter": "b/\ud800", "cursor": 0}]}),
        "no text that UTF-8 has",
    ),
    "session, share": (
        record_kinds.SESSION,
        _json({**_SESSION, "subscriptions": [_SUBSCRIPTION, {**_SUBSCRIPTION, "filter": "$share/g", "cursor": 0}]}),
        "GROUP/FILTER",
    ),
    "session, qos": (record_kinds.SESSION, _json({**_SESSION, "subscriptions": [{**_SUBSCRIPTION, "qos": 9}]}), "QoS"),
    "session, client": (
        record_kinds.SESSION,
        _json({**_SESSION, "client": "\ud800", "subscriptions": [_SUBSCRIPTION]}),
        "text that UTF-8 has",
    ),
    "session, will": (
        record_kinds.SESSION,
        _json({**_SESSION, "subscriptions": [_SUBSCRIPTION], "will": {"topic": "w"}}),
        "KeyError",
    ),
    "session, expiry": (
        record_kinds.SESSION,
        _json({**_SESSION, "subscriptions": [_SUBSCRIPTION], "expiry": "soon"}),
        "TypeError",
    ),
    "session, numbers": (
        record_kinds.SESSION,
        _json({**_SESSION, "subscriptions": [_SUBSCRIPTION], "sent": [["x"]]}),
        "ValueError",
    ),
    "session, keys": (record_kinds.SESSION, _json({"session": 7, "subscriptions": [_SUBSCRIPTION]}), "KeyError"),
    "session, no JSON": (record_kinds.SESSION, b"session?", "JSONDecodeError"),
    "session, packed, filter": (record_kinds.AWAY, _away("a/#/b").encode(), "not the whole last level"),
    "session, packed, cut short": (record_kinds.AWAY, _away("a/b").encode()[:-1], "ValueError"),
    "session, packed, wrong inside": (
        record_kinds.AWAY,
        _away("a/b").encode().replace(b"a/b", b"a/\xff"),
        "UnicodeDecodeError",
    ),
    "retained, topic": (record_kinds.RETAINED, _retained(b"a/\xff"), "ill-formed UTF-8"),
    "retained, wildcard": (record_kinds.RETAINED, _retained(b"a/#"), "contains a wildcard"),
    "retained, short": (record_kinds.RETAINED, b"\0\0\0", "error"),
    "moves": (record_kinds.MOVES, b"123", "error"),
    "presence": (record_kinds.PRESENCE, b"{", "JSONDecodeError"),
    "deliveries": (record_kinds.DELIVERIES, b"1", "error"),
    "queue gone": (record_kinds.QUEUE_GONE, b"[]", "TypeError"),
}
WITH_MESSAGES = [name for name in BAD_FACTS if name.partition(",")[0] in {"stream", "queue", "session"}]


def write_log(directory: Path, kind: int, body: bytes) -> None:
    """A log with a cursor that has two messages, and a fact as an older server may have written it."""
    store = Store(directory, Clock(lambda: 0.0, lambda: WALL), lambda: None, LogOptions(force=False))
    cursor = store.ledger.new_cursor()
    assert cursor.number == 1
    for payload in (b"one", b"two"):
        packet = b"\x30\x06\x00\x01a" + payload
        messages = UniformMessages(b"a", packet, 1, 5, 0, 0, False, False, True, False, b"", 0, 0)
        store.ledger.store(messages, [cursor], [0])
    store.ledger.append_record(kind, body)
    store.ledger.wait()
    store.ledger.close()


@pytest.mark.parametrize("name", BAD_FACTS)
def test_what_cannot_be_opened_is_set_aside(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    """Started again and again, by way of checkpoints; it is seen, it stays, and it can be exported and forgotten."""
    kind, body, why = BAD_FACTS[name]
    log = tmp_path / "data"
    write_log(log, kind, body)
    assert main(["log", "check", str(log)]) == 1
    assert why in capsys.readouterr().out
    for _ in range(2):  # each writes a checkpoint
        assert main(["log", "compact", str(log)]) == 0
        capsys.readouterr()
        assert main(["log", "check", str(log)]) == 1
        (line,) = [one for one in capsys.readouterr().out.splitlines() if one.startswith("  1. ")]
        assert why in line
        assert main(["log", "info", str(log)]) == 0
        assert line in capsys.readouterr().out
    exported = tmp_path / "exported"
    assert main(["log", "repair", str(log), "--export", str(exported)]) == 0
    first, *records = [json.loads(line) for line in exported.read_text().splitlines()]
    assert why in first["why"]
    assert [payload for record in records for payload in record["payloads"]] == (
        ["one", "two"] if name in WITH_MESSAGES and "no cursor" not in name else []
    )
    assert main(["log", "repair", str(log), "--drop", "1"]) == 1, "there is nobody to ask"
    assert main(["log", "repair", str(log), "--drop", "1", "--yes"]) == 0
    assert main(["log", "check", str(log)]) == 0
    assert main(["log", "repair", str(log)]) == 0
    assert "everything can be opened" in capsys.readouterr().out


def test_a_server_starts_with_all_of_it(serve: Serve, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "data"
    for kind, body, _ in BAD_FACTS.values():
        write_more(log, kind, body)
    server = serve(CONFIG)
    number = server.stats()["storage"]["objects_set_aside"]
    assert number > 10  # those of one name replace each other
    assert f"heliograph_objects_set_aside {number}" in server.page("/metrics")
    told = server.log.wait_for("an object in the log cannot be opened")
    assert f"helio log repair {log}" in told
    with Bystander(server.port, pid=server.process.pid):
        # Whoever had the names can have them again.
        assert put(server, "s", '{"filter": "a/#"}')[0] == 201
        with PlainClient(server.port).connected(
            "c", clean_start=False, properties={"session_expiry_interval": 3600}
        ) as client:
            client.subscribe("a/b", qos=1)
            client.send(Publish("a/b", b"new", qos=1, packet_id=1))
            answers = [client.receive(), client.receive()]
            assert [one.payload for one in answers if isinstance(one, Publish)] == [b"new"]
    server.kill()  # no checkpoint: what was set aside must not be mistaken for what is new
    server = serve(CONFIG)
    assert server.stats()["storage"]["objects_set_aside"] == number
    assert [(one["name"], one["filter"]) for one in server.stats()["streams"]] == [("s", "a/#")]
    server.stop()
    assert main(["log", "repair", str(log), "--drop", "all", "--yes"]) == 0
    server = serve(CONFIG)
    assert server.stats()["storage"]["objects_set_aside"] == 0
    assert [(one["name"], one["filter"]) for one in server.stats()["streams"]] == [("s", "a/#")]


def write_more(directory: Path, kind: int, body: bytes) -> None:
    store = Store(directory, Clock(lambda: 0.0, lambda: WALL), lambda: None, LogOptions(force=False))
    if not store.ledger.cursors:
        store.ledger.new_cursor()
    store.ledger.append_record(kind, body)
    store.ledger.wait()
    store.ledger.close()


def test_what_can_be_opened_again_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Something is in the way of a stream's folder; when it is gone, the stream is there again with its messages."""
    log = tmp_path / "data"
    write_log(log, record_kinds.STREAM, _json({**_STREAM, "stream": "plant", "cursors": [1]}))
    (log / "streams").mkdir()
    (log / "streams" / "plant").write_text("in the way")
    assert main(["log", "compact", str(log)]) == 0
    assert main(["log", "repair", str(log)]) == 0
    assert 'stream "plant"' in capsys.readouterr().out
    (log / "streams" / "plant").unlink()
    assert main(["log", "repair", str(log)]) == 0
    assert "everything can be opened" in capsys.readouterr().out
    assert main(["log", "info", str(log)]) == 0
    assert "partition 0: 2 messages" in capsys.readouterr().out
