"""`helio queue` against a server: queues are defined and changed, messages put, got and looked at."""

import json
import time
from pathlib import Path

import pytest

from cli.queue_server import QueueServer, helio, write
from heliograph.amqp.codec.values import Timestamp
from heliograph.client import Acknowledge, Message, Queue, connect


@pytest.fixture
def server(queue_server: QueueServer) -> QueueServer:
    """The server with nothing in its queues."""
    queue_server.done("queue", "purge", "orders")
    queue_server.done("queue", "purge", "SYSTEM.DEAD.LETTER.QUEUE")
    return queue_server


# -- what there is ----------------------------------------------------------------------------------------------------


def test_list_is_a_table_for_people(server: QueueServer) -> None:
    server.done("queue", "put", "orders", "one")
    lines = server.done("queue", "list").splitlines()
    assert lines[0].split() == [
        *("NAME", "KIND", "DEPTH", "IN", "FLIGHT", "CONSUMERS", "PUT", "GOT", "OLDEST", "DESCRIPTION")
    ]
    (orders,) = (line for line in lines if line.startswith("orders "))
    assert orders.split()[1:5] == ["local", "1", "0", "0"]
    assert orders.endswith("what customers want")
    (alias,) = (line for line in lines if line.startswith("ORDERS "))
    assert alias.endswith("-> orders")


def test_list_can_be_narrowed_and_is_json_for_programs(server: QueueServer) -> None:
    found = json.loads(server.done("queue", "list", "ord*", "--json"))
    assert [one["name"] for one in found] == ["orders"]
    assert found[0]["max_depth"] == 5000


def test_show_tells_attributes_and_figures(server: QueueServer) -> None:
    server.done("queue", "put", "orders", "one")
    lines = [line.split(None, 1) for line in server.done("queue", "show", "orders").splitlines()]
    shown = {line[0]: line[1] if len(line) > 1 else "" for line in lines}
    assert shown["description"] == "what customers want"
    assert shown["put_enabled"] == "yes"
    assert shown["depth"] == "1"
    assert json.loads(server.done("queue", "show", "orders", "--json"))["depth"] == 1


def test_a_queue_that_is_not_there_is_a_problem(server: QueueServer) -> None:
    assert server.problem("queue", "show", "nobody") == "helio queue: there is no queue nobody"


def test_a_server_that_is_not_there_is_a_problem() -> None:
    status, out, err = helio("queue", "list", "--url", "amqp://127.0.0.1:1")
    assert (status, out) == (1, "")
    assert err.startswith("helio queue: amqp://127.0.0.1:1: cannot connect")


# -- changes ----------------------------------------------------------------------------------------------------------


def test_a_queue_is_defined_altered_and_deleted(server: QueueServer) -> None:
    assert server.done("queue", "define", "work", "--max-depth", "3", "--max-ttl", "1.5", "--exclusive") == (
        "work defined\n"
    )
    server.done("queue", "alter", "work", "--no-put-enabled", "--order", "fifo")
    shown = json.loads(server.done("queue", "show", "work", "--json"))
    wanted = {"max_depth": 3, "max_ttl": 1.5, "exclusive": True, "put_enabled": False, "order": "fifo"}
    assert {key: shown[key] for key in wanted} == wanted
    assert server.done("queue", "delete", "work") == "work deleted\n"
    assert "there is no queue work" in server.problem("queue", "show", "work")


def test_a_name_that_is_taken_is_a_problem_unless_the_queue_is_replaced(server: QueueServer) -> None:
    server.done("queue", "define", "twice")
    assert server.problem("queue", "define", "twice") == "helio queue: there is a queue twice already"
    assert server.done("queue", "define", "twice", "--replace", "--like", "orders") == "twice replaced\n"
    assert json.loads(server.done("queue", "show", "twice", "--json"))["description"] == "what customers want"
    server.done("queue", "delete", "twice")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("define", "a b"), "expected a queue name of 1 to 255 letters"),
        (("define", "a", "--max-depth", "0"), "--max-depth: expected an integer from 1 to 999999999, found 0"),
        (("define", "a", "--kind", "alias"), "target: expected the name of a queue, which an alias needs, found none"),
        (("put", "orders", "x", "--priority", "10"), "--priority: expected a number from 0 to 9, found 10"),
        (("put", "orders", "x", "--ttl", "0"), "--ttl is more than 0 seconds"),
        (("put", "orders", "x", "-p", "size"), "--property: expected NAME=VALUE, found size"),
        (("put", "orders", "-f", "/no/such/file"), "cannot read /no/such/file: No such file or directory"),
        (("put", "nobody", "x"), "there is no queue nobody"),
        (("get", "nobody"), "there is no queue nobody"),
        (("get", "orders", "-s", "size >"), "selector"),
    ],
)
def test_mistakes_are_problems(server: QueueServer, words: tuple[str, ...], said: str) -> None:
    assert said in server.problem("queue", *words)


def test_a_queue_with_messages_is_deleted_only_with_purge(server: QueueServer) -> None:
    server.done("queue", "define", "full")
    server.done("queue", "put", "full", "x")
    assert "has 1 messages" in server.problem("queue", "delete", "full")
    assert server.done("queue", "delete", "full", "--purge") == "full deleted with 1 message\n"


def test_purge_tells_how_many_it_has_forgotten(server: QueueServer) -> None:
    server.done("queue", "put", "orders", "-l", stdin=b"a\nb\n")
    assert server.done("queue", "purge", "orders") == "orders: 2 messages forgotten\n"


# -- messages ---------------------------------------------------------------------------------------------------------


def test_what_is_put_can_be_got_in_order(server: QueueServer) -> None:
    server.done("queue", "put", "orders", "one")
    server.done("queue", "put", "ORDERS", "two")
    assert server.done("queue", "get", "orders") == "one\n"
    assert server.done("queue", "get", "orders") == "two\n"


def test_messages_come_from_a_file_from_standard_input_or_from_its_lines(server: QueueServer, tmp_path: Path) -> None:
    server.done("queue", "put", "orders", "-f", write(tmp_path, "body", b"from a\nfile"))
    server.done("queue", "put", "orders", stdin=b"all of it")
    server.done("queue", "put", "orders", "-l", stdin=b"line 1\nline 2")
    assert server.done("queue", "get", "orders", "-n", "0") == "from a\nfile\nall of it\nline 1\nline 2\n"


def test_everything_on_a_message_is_in_its_json(server: QueueServer) -> None:
    options = [
        "-p",
        "size=3",
        "-p",
        "urgent=true",
        "-p",
        "weight=1.5",
        "-p",
        "name=x",
        "--priority",
        "7",
        "--persistent",
    ]
    server.done(
        "queue", "put", "orders", "body", *options, "--correlation-id", "c1", "--reply-to", "back", "--ttl", "60"
    )
    found = json.loads(server.done("queue", "get", "orders", "--json"))
    assert found["body"] == "body"
    assert found["properties"] == {"size": 3, "urgent": True, "weight": 1.5, "name": "x"}
    assert (found["priority"], found["persistent"], found["correlation_id"]) == (7, True, "c1")
    assert found["reply_to"].endswith("back")
    assert "expiration" in found


def test_a_queue_without_messages_gives_none_and_says_so_by_its_status(server: QueueServer) -> None:
    assert server.helio("queue", "get", "orders") == (1, "", "")


def test_get_takes_those_that_a_selector_or_a_correlation_id_names(server: QueueServer) -> None:
    server.done("queue", "put", "orders", "small", "-p", "size=1", "--correlation-id", "it's one")
    server.done("queue", "put", "orders", "large", "-p", "size=9", "--correlation-id", "two")
    assert server.done("queue", "get", "orders", "-s", "size > 5") == "large\n"
    assert server.helio("queue", "get", "orders", "--correlation-id", "two")[0] == 1
    assert server.done("queue", "get", "orders", "--correlation-id", "it's one") == "small\n"


def test_get_waits_as_long_as_it_is_told_to(server: QueueServer) -> None:
    began = time.monotonic()
    assert server.helio("queue", "get", "orders", "--timeout", "0.3")[0] == 1
    assert time.monotonic() - began >= 0.3


def test_a_delayed_message_is_not_there_before_its_time(server: QueueServer) -> None:
    server.done("queue", "put", "orders", "later", "--delay", "1")
    assert server.helio("queue", "get", "orders")[0] == 1
    assert server.done("queue", "get", "orders", "--wait") == "later\n"


def test_browse_shows_messages_and_leaves_them(server: QueueServer) -> None:
    server.done("queue", "put", "orders", "first", "-p", "size=3", "--correlation-id", "c")
    server.done("queue", "put", "orders", "second")
    shown = server.done("queue", "browse", "orders").splitlines()
    assert shown[0] == "--- 1"
    assert "    correlation-id: c" in shown
    assert "    size = 3" in shown
    assert shown.index("first") < shown.index("--- 2") < shown.index("second")
    assert not any("x-opt-jms" in line for line in shown)
    assert server.done("queue", "browse", "orders", "-n", "1").count("---") == 1
    assert json.loads(server.done("queue", "browse", "orders", "-s", "size = 3", "--json"))["body"] == "first"
    assert server.done("queue", "get", "orders", "-n", "0") == "first\nsecond\n"


def test_dead_letters_are_sent_back_by_redrive(server: QueueServer) -> None:
    server.done("queue", "define", "poison", "--backout-threshold", "1")
    server.done("queue", "put", "poison", "bad")
    with connect(server.url) as connection, connection.session(Acknowledge.TRANSACTED) as session:
        assert session.consumer("poison").receive(10) is not None
        session.rollback()
    assert "x-opt-dead-letter-queue = poison" in server.done("queue", "browse", "SYSTEM.DEAD.LETTER.QUEUE")
    told = server.done("queue", "redrive", "SYSTEM.DEAD.LETTER.QUEUE", "--origin", "poison")
    assert told == "SYSTEM.DEAD.LETTER.QUEUE: 1 message sent back\n"
    assert server.done("queue", "get", "poison") == "bad\n"
    server.done("queue", "delete", "poison")


def test_dead_letters_that_cannot_go_back_are_told_with_the_reason(server: QueueServer) -> None:
    server.done("queue", "put", "SYSTEM.DEAD.LETTER.QUEUE", "from nowhere")
    told = server.done("queue", "redrive", "SYSTEM.DEAD.LETTER.QUEUE").splitlines()
    assert told[1] == "SYSTEM.DEAD.LETTER.QUEUE: 1 message left: it does not say where it came from"


# -- what a message does not say -------------------------------------------------------------------------------------


def test_a_message_has_the_defaults_of_its_queue_for_what_it_does_not_say(server: QueueServer) -> None:
    server.done("queue", "define", "safe", "--default-persistence", "--default-priority", "7")
    for options in ([], ["--priority", "5"], ["--priority", "4"], ["--persistent"], ["--ttl", "60"]):
        server.done("queue", "put", "safe", " ".join(["with", *options]), *options)
    found = [json.loads(line) for line in server.done("queue", "browse", "safe", "--json").splitlines()]
    assert {one["body"]: (one["persistent"], one["priority"]) for one in found} == {
        "with": (True, 7),
        "with --priority 5": (True, 5),
        "with --priority 4": (True, 4),
        "with --persistent": (True, 7),
        "with --ttl 60": (True, 7),
    }
    server.done("queue", "delete", "safe", "--purge")


def test_in_a_queue_without_defaults_messages_are_as_the_standard_has_it(server: QueueServer) -> None:
    server.done("queue", "put", "orders", "x")
    server.done("queue", "put", "orders", "y", "--priority", "5")
    shown = server.done("queue", "browse", "orders")
    assert shown.count("persistent: no") == 2
    assert "priority: 4" in shown
    assert "priority: 5" in shown


def test_empty_input_is_a_mistake_and_an_empty_text_is_not(server: QueueServer, tmp_path: Path) -> None:
    said = "helio queue: standard input is empty; to put an empty message, give '' as its text"
    assert server.problem("queue", "put", "orders") == said
    file = write(tmp_path, "empty", b"")
    assert server.problem("queue", "put", "orders", "-f", file).startswith(f"helio queue: {file} is empty")
    server.done("queue", "put", "orders", "")
    assert json.loads(server.done("queue", "show", "orders", "--json"))["depth"] == 1


def test_a_queue_manager_that_is_not_there_gets_nothing(server: QueueServer) -> None:
    status, out, err = server.helio("queue", "put", "orders", "x", url=f"{server.url}/?hostname=PAYMENTS")
    assert (status, out) == (1, "")
    assert "there is no queue manager PAYMENTS, only heliograph" in err
    assert json.loads(server.done("queue", "show", "orders", "--json"))["depth"] == 0
    status, _, err = server.helio("queue", "put", "orders", "x", url=f"{server.url}/?hostname=heliograph")
    assert (status, err) == (0, "")


def test_times_on_dead_letters_are_for_people_and_impossible_ones_are_no_crash(server: QueueServer) -> None:
    with connect(server.url) as connection, connection.session() as session:
        producer = session.producer(Queue("orders"))
        far_away = {"at": Timestamp(2**62), "noon": Timestamp(1_800_000_000_000)}
        producer.send(Message("x", properties=far_away))
    shown = server.done("queue", "browse", "orders")
    assert "noon = 2027-01-15T08:00:00.000Z" in shown
    assert "at = 4611686018427388.000 s after 1970" in shown
