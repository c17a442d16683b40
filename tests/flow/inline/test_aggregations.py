"""Aggregation with a server: fan-out and fan-in are flows of their own, and share a folder for their state."""

import re
import sqlite3
import threading
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from heliograph.client import Message
from heliograph.client.management import management
from running_flows import PATIENCE, QueueFixture, soon, text_of
from small_flows import JOIN_PRICES

ASK = """
in: {type: QueueInput, queue: IN}
control: {type: AggregateControl, aggregate: PRICES, timeout: TIMEOUT}
ask_a: {type: QueueOutput, queue: A, new_message_id: true, reply_to: REPLIES}
asked_a: {type: AggregateRequest, folder: First}
ask_b: {type: QueueOutput, queue: B, new_message_id: true, reply_to: REPLIES}
asked_b: {type: AggregateRequest, folder: Second}
"""
ASK_WIRES = """
in.out -> control
control.out -> ask_a
ask_a.out -> asked_a
control.out -> ask_b
ask_b.out -> asked_b
"""
JOIN = """
in: {type: QueueInput, queue: REPLIES, domain: XMLNSC}
control: {type: QueueInput, queue: CONTROL}
reply: {type: AggregateReply, aggregate: PRICES, unknown_timeout: UNKNOWN_TIMEOUT}
join: {type: Compute, esql: join.esql}
all: {type: QueueOutput, queue: ALL}
late: {type: Compute, esql: join.esql}
some: {type: QueueOutput, queue: SOME}
unknown: {type: QueueOutput, queue: UNKNOWN}
"""
JOIN_WIRES = """
in.out -> reply
control.out -> reply.control
reply.out -> join
join.out -> all
reply.timeout -> late
late.out -> some
reply.unknown -> unknown
"""
FILES = {"join.esql": JOIN_PRICES}
SETTINGS = "commit_count: 10"


def asking(timeout: float = 0) -> tuple[str, str, str]:
    return ASK.replace("TIMEOUT", str(timeout)), ASK_WIRES, SETTINGS


def joining(unknown: float = 0) -> tuple[str, str, str]:
    return JOIN.replace("UNKNOWN_TIMEOUT", str(unknown)), JOIN_WIRES, SETTINGS


def answer(queue_fixture: QueueFixture, queue: str, request: Message) -> None:
    reply = Message(f"<Price>{text_of(request)}{queue}</Price>", correlation_id=request.message_id)
    queue_fixture.put(request.reply_to.name, reply)


def whole(number: int) -> str:
    return f"<All><First>{number}A</First><Second>{number}B</Second></All>"


@contextmanager
def responder(url: str):
    """Answers requests in A and B while the block lasts."""
    over = threading.Event()

    def serve() -> None:
        queue_fixture = QueueFixture(url)
        consumers = {queue: queue_fixture.session.consumer(queue) for queue in "AB"}
        while not over.is_set():
            for queue, consumer in consumers.items():
                request = consumer.receive(0.01)
                while request is not None:
                    answer(queue_fixture, queue, request)
                    request = consumer.receive_nowait()
        queue_fixture.close()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(PATIENCE)


def wait_until_taken(queue_fixture: QueueFixture, queue: str) -> None:
    def taken() -> bool:
        state = management(queue_fixture.session, "queue-show", name=queue)
        return not state["depth"] and not state["in_flight"]

    soon(taken)


def let_time_pass(tmp_path: Path) -> None:
    """Time is over for all aggregations."""
    with closing(sqlite3.connect(tmp_path / "state/aggregations.db")) as store, store:
        store.execute("UPDATE aggregate SET deadline = 0")


def test_replies_of_several_come_as_one_message(flow, queue_fixture, url):
    queue_fixture.put("IN", *map(str, range(20)))
    with flow(*asking(), name="ask"), flow(*joining(), name="join", files=FILES), responder(url):
        assert sorted(queue_fixture.bodies("ALL", 20)) == sorted(map(whole, range(20)))
    assert (queue_fixture.rest("ALL"), queue_fixture.rest("SOME"), queue_fixture.rest("UNKNOWN")) == ([], [], [])


def test_a_control_message_may_come_behind_all_replies(flow, queue_fixture):
    nodes, wires, settings = asking()
    nodes += "launch: {type: QueueOutput, queue: HELD, new_message_id: true}\n"
    wires += "control.control -> launch\n"
    queue_fixture.put("IN", "1")
    with flow(nodes, wires, settings, name="ask"), flow(*joining(), name="join", files=FILES):
        (control,) = queue_fixture.get("HELD")
        for queue in "AB":
            answer(queue_fixture, queue, queue_fixture.get(queue)[0])
        wait_until_taken(queue_fixture, "REPLIES")
        assert queue_fixture.rest("ALL") == []
        queue_fixture.put("CONTROL", text_of(control))
        assert queue_fixture.bodies("ALL") == [whole(1)]


def test_what_has_come_when_time_is_over_goes_to_timeout_and_the_rest_is_unknown(flow, queue_fixture, tmp_path):
    queue_fixture.put("IN", "1")
    with flow(*asking(3600), name="ask"), flow(*joining(), name="join", files=FILES):
        answer(queue_fixture, "A", queue_fixture.get("A")[0])
        wait_until_taken(queue_fixture, "REPLIES")
        let_time_pass(tmp_path)
        assert queue_fixture.bodies("SOME") == ["<All><First>1A</First></All>"]
        answer(queue_fixture, "B", queue_fixture.get("B")[0])
        assert queue_fixture.bodies("UNKNOWN") == ["<Price>1B</Price>"]
    assert (queue_fixture.rest("SOME"), queue_fixture.rest("ALL")) == ([], [])


def test_a_reply_that_nobody_waits_for_is_kept_for_a_while(flow, queue_fixture):
    with flow(*joining(0.1), name="join", files=FILES):
        queue_fixture.put("REPLIES", Message("<Price>1</Price>", correlation_id="nobody"))
        assert queue_fixture.bodies("UNKNOWN") == ["<Price>1</Price>"]
    assert queue_fixture.rest("UNKNOWN") == []


def test_a_time_out_that_cannot_be_sent_is_tried_again(flow, queue_fixture):
    nodes, wires, settings = joining()
    queue_fixture.put("SMALL", "1", "2", "3")
    queue_fixture.put("IN", "1")
    with (
        flow(*asking(0.1), name="ask"),
        flow(nodes.replace("queue: SOME", "queue: SMALL"), wires, settings, name="join", files=FILES),
    ):
        wait_until_taken(queue_fixture, "IN")
        queue_fixture.get("SMALL", 3)
        assert queue_fixture.bodies("SMALL") == ["<All/>"]


# Kills

COMMIT = "heliograph.flow.inline.units_of_work.UnitsOfWork._commit_messages"
"""When this is called, the store is committed, and the messages are not."""


@pytest.mark.parametrize(
    ("victim", "moment"), [("ask", "before"), ("join", "before"), ("time-out", "before"), ("time-out", "after")]
)
def test_a_flow_that_dies_beside_its_commit_asks_and_tells_once(
    flow, flow_process, url, queue_fixture, monkeypatch, victim, moment
):
    monkeypatch.setenv("FLOW_DIES", f"{COMMIT} {moment}")
    ask, join = asking(0.2 if victim == "time-out" else 0), joining()
    queue_fixture.put("IN", "1")
    if victim == "ask":
        dying = flow_process(url, *ask, name="ask")
    else:
        with flow(*ask, name="ask"):
            requests = queue_fixture.get("A") + queue_fixture.get("B")
        if victim == "join":
            for queue, request in zip("AB", requests, strict=True):
                answer(queue_fixture, queue, request)
        dying = flow_process(url, *join, FILES, name="join")
    assert dying.process.wait(PATIENCE) != 0
    with flow(*ask, name="ask"), flow(*join, name="join", files=FILES):
        if victim == "time-out":
            assert queue_fixture.bodies("SOME") == ["<All/>"]
        elif victim == "ask":
            for queue in "AB":
                answer(queue_fixture, queue, queue_fixture.get(queue)[0])
        if victim != "time-out":
            assert queue_fixture.bodies("ALL") == [whole(1)]
    rest = {queue: queue_fixture.rest(queue) for queue in ("A", "B", "ALL", "SOME", "UNKNOWN", "IN", "REPLIES")}
    assert not any(rest.values()), rest


def test_flows_that_are_killed_in_the_middle_lose_and_double_nothing(flow_process, url, queue_fixture):
    count = 60
    queue_fixture.put("IN", *map(str, range(count)))
    start = {
        "ask": lambda: flow_process(url, *asking(), name="ask"),
        "join": lambda: flow_process(url, *joining(), FILES, name="join"),
    }
    flows = {name: begin() for name, begin in start.items()}
    with responder(url):
        for number, name in enumerate(("ask", "join"), 1):
            least = number * count // 5
            soon(lambda least=least: management(queue_fixture.session, "queue-show", name="ALL")["depth"] >= least)
            flows[name].kill()
            flows[name] = start[name]()
        bodies = queue_fixture.bodies("ALL", count)
    assert sorted(int(re.findall(r"\d+", body)[0]) for body in bodies) == list(range(count))
    rest = {queue: queue_fixture.rest(queue) for queue in ("ALL", "SOME", "UNKNOWN", "SYSTEM.DEAD.LETTER.QUEUE")}
    assert not any(rest.values()), rest
