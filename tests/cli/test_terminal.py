"""Escape sequences that clients and servers send are shown on a terminal, not obeyed; pipes get every byte."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cli.queue_server import QueueServer, helio, write
from cli.terminals import OnTerminal, on_terminal
from heliograph.client import Message, Queue, connect
from heliograph.mqtt import ConnAck, Reason
from small_flows import write_flow

ATTACK = "\x1b]0;owned\x07\x1b[2J\u202e\x9b31m"
SHOWN = rb"\x1b]0;owned\x07\x1b[2J\u202e\x9b31m"

FLOW = """
nodes:
  in: {type: QueueInput, queue: Q, domain: JSON}
  show: {type: Trace, pattern: "${CAST(Root.JSON.Data.a AS CHARACTER)}"}
  out: {type: QueueOutput, queue: R}
connections: [in.out -> show, show.out -> out]
"""
CASE = """
input: '{"a": "\\u001b[2Jx"}'
expect: {queues: {R: y}}
"""


@pytest.fixture
def server(queue_server: QueueServer) -> QueueServer:
    return queue_server


@pytest.fixture
def attacked(server: QueueServer) -> QueueServer:
    """The server with one message in its queue, all of which is an attack on whoever looks at it."""
    server.done("queue", "purge", "orders")
    with connect(server.url) as connection, connection.session() as session:
        message = Message(
            ATTACK, properties={"p": f"{ATTACK}\n    persistent: yes"}, correlation_id=ATTACK, type=ATTACK
        )
        session.producer(Queue("orders"), persistent=False).send(message)
    return server


def seen_of(*words: str) -> bytes:
    """What a command shows on a terminal, which must not steer it."""
    with on_terminal(*words) as terminal:
        status, seen = terminal.end()
    assert status == 0, seen
    assert_harmless(seen)
    return seen


def assert_harmless(seen: bytes) -> None:
    for steering in ("\x1b", "\x07", "\u202e", "\x9b"):
        assert steering.encode() not in seen, seen


@contextmanager
def subscribed(server: QueueServer, *options: str) -> Iterator[OnTerminal]:
    port = str(server.server.port)
    with on_terminal("sub", "-h", "127.0.0.1", "-p", port, "-t", "screen/#", *options) as terminal:
        terminal.wait_for(b"\n")  # the retained message that says that it is subscribed
        terminal.seen = b""
        yield terminal


def publish(server: QueueServer, payload: str, *options: str) -> None:
    where = ("-h", "127.0.0.1", "-p", str(server.server.port))
    assert helio("pub", *where, "-t", "screen/a", "-m", payload, *options) == (0, "", "")


@pytest.mark.parametrize("options", [[], ["-v"], ["-F", "%t %p"], ["-F", "%j"], ["-F", "%P", "-V", "5"]])
def test_sub(server: QueueServer, options: list[str]) -> None:
    publish(server, "ready", "-r")
    with subscribed(server, *options) as terminal:
        properties = ("-V", "5", "-D", "publish", "user-property", "p", ATTACK)
        publish(server, f"{ATTACK} end", *properties)
        seen = terminal.wait_for(b"\n")
        assert_harmless(seen)
        if options != ["-F", "%j"]:  # JSON has escapes of its own
            assert SHOWN in seen


def test_a_format_of_the_users_own_may_steer_the_terminal(server: QueueServer) -> None:
    publish(server, "ready", "-r")
    with subscribed(server, "-F", r"\e[31m%p\e[0m") as terminal:
        publish(server, "\x1b[2J")
        assert rb"[31m\x1b[2J" + b"\x1b[0m" in terminal.wait_for(b"\n")


def test_queue_browse(attacked: QueueServer) -> None:
    seen = seen_of("queue", "browse", "orders", "--url", attacked.url)
    assert seen.count(SHOWN) == 4
    assert b"\n    persistent: yes" not in seen  # a property that tries to look like two facts
    seen_of("queue", "browse", "orders", "--json", "--url", attacked.url)


def test_queue_get(attacked: QueueServer) -> None:
    assert SHOWN in seen_of("queue", "get", "orders", "--url", attacked.url)


def test_descriptions_of_queues(server: QueueServer, tmp_path: Path) -> None:
    server.done("queue", "define", "SCREEN", "--description", f"{ATTACK}\nSECOND LINE")
    for words in (("queue", "list"), ("queue", "show", "SCREEN")):
        seen = seen_of(*words, "--url", server.url)
        assert SHOWN + rb"\nSECOND LINE" in seen
    script = write(tmp_path, "script", b"DISPLAY QLOCAL(SCREEN) DESCR\n")
    assert SHOWN in seen_of("mqsc", script, "--url", server.url)


def test_a_pipe_gets_every_byte(attacked: QueueServer) -> None:
    assert attacked.done("queue", "get", "orders") == f"{ATTACK}\n"


def test_errors_that_a_server_made_up(scripted_server) -> None:
    refusal = ConnAck(reason=Reason.NOT_AUTHORIZED, properties={"reason_string": ATTACK})
    other = scripted_server(lambda packet: [refusal])
    with on_terminal("sub", "-V", "5", "-h", "127.0.0.1", "-p", str(other.port), "-t", "a") as terminal:
        status, seen = terminal.end()
    assert (status, SHOWN in seen) == (1, True)
    assert_harmless(seen)


def test_flows_in_colours(tmp_path: Path) -> None:
    folder = write_flow(tmp_path, FLOW, tests___c__yaml=CASE)
    message = write(tmp_path, "message", b'{"a": "\\u001b[2Jx"}')
    for words in (("flow", "trace", str(folder), "--input", message), ("flow", "test", str(folder))):
        with on_terminal(*words, NO_COLOR="") as terminal:
            _, seen = terminal.end()
        assert b"\x1b[2J" not in seen
        assert (words[1] == "test") or rb"\x1b[2Jx" in seen  # the difference of a test has JSON's own escapes
        assert b"\x1b[3" in seen  # a colour of our own
