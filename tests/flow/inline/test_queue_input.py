"""Messages from queue to queue: units of work, order, and what happens to those that fail."""

import json

import pytest

from heliograph.client import Message, Queue
from heliograph.client.management import management
from running_flows import CHECK_PY, soon

PASS = "in: {type: QueueInput, queue: IN}\nout: {type: QueueOutput, queue: OUT}"


def test_messages_go_from_queue_to_queue_in_order(flow, queue_fixture):
    queue_fixture.put("IN", *map(str, range(300)))
    with flow(PASS, "in.out -> out") as running:
        assert queue_fixture.bodies("OUT", 300) == list(map(str, range(300)))
    assert (running.statistics.messages, running.statistics.done, running.statistics.sent) == (300, 300, 300)
    assert queue_fixture.rest("IN") == []


@pytest.mark.parametrize("transaction", ["yes", "no", "automatic"])
@pytest.mark.parametrize("persistent", [True, False])
def test_a_message_is_passed_on_whatever_the_transaction_mode(flow, queue_fixture, transaction, persistent):
    nodes = PASS.replace("queue: IN}", f"queue: IN, transaction: {transaction}}}")
    queue_fixture.put("IN", "x", persistent=persistent)
    with flow(nodes, "in.out -> out"):
        (message,) = queue_fixture.get("OUT")
    assert (message.body, message.persistent) == ("x", persistent)


def test_what_is_on_a_message_stays_on_it(flow, queue_fixture):
    letter = Message(b"\x00\xff", properties={"size": 3}, correlation_id="c-1", reply_to=Queue("REPLIES"))
    queue_fixture.put("IN", letter, priority=7, ttl=1000)
    with flow(PASS, "in.out -> out"):
        (message,) = queue_fixture.get("OUT")
    assert (message.body, message.properties, message.priority) == (b"\x00\xff", {"size": 3}, 7)
    assert (message.correlation_id, message.message_id) == ("c-1", letter.message_id)
    assert (message.reply_to, message.destination) == (Queue("REPLIES"), Queue("OUT"))
    assert message.expiration is not None


def test_a_reply_finds_the_one_who_asked(flow, queue_fixture):
    with flow("in: {type: QueueInput, queue: IN}\nback: {type: QueueReply}", "in.out -> back"):
        assert queue_fixture.session.request("IN", "how much?", 20).body == "how much?"


# What fails

CHECK = """
in: {type: QueueInput, queue: IN}
check: {type: Python, file: check.py}
out: {type: QueueOutput, queue: OUT}
"""
FILES = {"check.py": CHECK_PY}


def test_a_message_that_fails_does_not_take_its_neighbours_with_it(flow, queue_fixture):
    bodies = [f"{number}{' bad' if number % 10 == 7 else ''}" for number in range(50)]
    queue_fixture.put("IN", *bodies)
    with flow(CHECK, "in.out -> check\ncheck.out -> out", files=FILES) as running:
        assert queue_fixture.bodies("OUT", 45) == [body for body in bodies if "bad" not in body]
        assert queue_fixture.bodies("SYSTEM.DEAD.LETTER.QUEUE", 5) == [body for body in bodies if "bad" in body]
    assert (running.statistics.done, running.statistics.dead_letters) == (45, 5)
    assert queue_fixture.rest("IN") == []


@pytest.mark.parametrize("persistent", [True, False])
def test_what_was_put_ahead_is_there_once_when_a_message_fails_late_in_a_long_batch(flow, queue_fixture, persistent):
    nodes = CHECK.replace("queue: IN}", "queue: IN, transaction: automatic}")
    bodies = [f"{number}{' bad' if number == 290 else ''}" for number in range(300)]
    queue_fixture.put("IN", *bodies, persistent=persistent)
    with flow(nodes, "in.out -> check\ncheck.out -> out", files=FILES):
        assert queue_fixture.bodies("OUT", 299) == [body for body in bodies if "bad" not in body]
    assert queue_fixture.rest("OUT") == []
    assert queue_fixture.rest("IN") == []


def test_a_dead_letter_says_why(flow, queue_fixture):
    queue_fixture.put("IN", "bad")
    with flow(CHECK, "in.out -> check\ncheck.out -> out", files=FILES):
        (message,) = queue_fixture.get("SYSTEM.DEAD.LETTER.QUEUE")
    assert "this one is bad" in message.annotations["x-opt-dead-letter-reason"]
    assert message.annotations["x-opt-dead-letter-queue"] == "IN"
    assert message.annotations["x-opt-dead-letter-count"] == 1
    assert "check.py" in message.annotations["x-opt-dead-letter-exceptions"]


def test_a_dead_letter_of_a_flow_can_be_sent_back(flow, queue_fixture):
    queue_fixture.put("IN", "bad")
    with flow(CHECK, "in.out -> check\ncheck.out -> out", files=FILES):
        soon(lambda: queue_fixture.rest("SYSTEM.DEAD.LETTER.QUEUE"))
    assert management(queue_fixture.session, "queue-redrive", name="SYSTEM.DEAD.LETTER.QUEUE")["moved"] == 1
    assert queue_fixture.bodies("IN") == ["bad"]


def test_the_threshold_and_the_backout_queue_are_those_of_the_queue(flow, queue_fixture, caplog):
    queue_fixture.put("PATIENT", "first", "bad", "last")
    nodes = CHECK.replace("queue: IN", "queue: PATIENT")
    with flow(nodes, "in.out -> check\ncheck.out -> out", files=FILES) as running:
        assert queue_fixture.bodies("OUT", 2) == ["first", "last"]
        (message,) = queue_fixture.get("FAILED")
    assert (message.body, message.annotations["x-opt-dead-letter-count"]) == ("bad", 3)
    assert running.statistics.backed_out == 2


def test_a_failure_path_gets_a_message_that_was_backed_out_too_often(flow, queue_fixture):
    queue_fixture.put("PATIENT", "bad", "good")
    nodes = CHECK.replace("queue: IN", "queue: PATIENT") + "failed: {type: QueueOutput, queue: OTHER}"
    with flow(nodes, "in.out -> check\ncheck.out -> out\nin.failure -> failed", files=FILES):
        assert queue_fixture.bodies("OTHER") == ["bad"]
        assert queue_fixture.bodies("OUT") == ["good"]
    assert queue_fixture.rest("FAILED") == []


def test_a_failure_path_that_fails_is_tried_up_to_twice_the_threshold(flow, queue_fixture):
    queue_fixture.put("PATIENT", "bad")
    nodes = CHECK.replace("queue: IN", "queue: PATIENT") + "again: {type: Python, file: check.py}"
    with flow(nodes, "in.out -> check\ncheck.out -> out\nin.failure -> again", files=FILES) as running:
        (message,) = queue_fixture.get("FAILED")
    assert message.annotations["x-opt-dead-letter-count"] == 6
    assert running.statistics.backed_out == 5


def test_a_message_outside_of_units_of_work_is_discarded_when_it_fails(flow, queue_fixture, caplog):
    nodes = CHECK.replace("queue: IN}", "queue: IN, transaction: automatic}")
    queue_fixture.put("IN", "bad", "good", persistent=False)
    with flow(nodes, "in.out -> check\ncheck.out -> out", files=FILES) as running:
        assert queue_fixture.bodies("OUT") == ["good"]
    assert running.statistics.discarded == 1
    assert "this one is bad" in caplog.text
    assert queue_fixture.rest("SYSTEM.DEAD.LETTER.QUEUE") == []


def test_a_put_that_the_server_refuses_is_an_error_of_the_node(flow, queue_fixture):
    """The queue SMALL takes three messages."""
    nodes = """
in: {type: QueueInput, queue: IN}
small: {type: QueueOutput, queue: SMALL}
other: {type: QueueOutput, queue: OTHER}
"""
    queue_fixture.put("IN", *"abcde")
    with flow(nodes, "in.out -> small\nsmall.failure -> other"):
        assert queue_fixture.bodies("OTHER", 2) == ["d", "e"]
        assert queue_fixture.bodies("SMALL", 3) == ["a", "b", "c"]


@pytest.mark.parametrize("transaction", ["yes", "no"])
def test_a_put_to_a_queue_that_is_not_there_is_an_error_of_the_node(flow, queue_fixture, transaction):
    nodes = f"""
in: {{type: QueueInput, queue: IN, transaction: {transaction}}}
lost: {{type: QueueOutput, destination: reply}}
other: {{type: QueueOutput, queue: OTHER}}
"""
    queue_fixture.put("IN", *(Message(body, reply_to=Queue("NOWHERE")) for body in "ab"))
    with flow(nodes, "in.out -> lost\nlost.failure -> other"):
        assert queue_fixture.bodies("OTHER", 2) == ["a", "b"]


def test_what_does_not_belong_to_the_unit_of_work_is_sent_even_if_it_fails(flow, queue_fixture):
    nodes = CHECK + "audit: {type: QueueOutput, queue: AUDIT, transaction: no}\norder: {type: FlowOrder}"
    wires = "in.out -> order\norder.first -> audit\norder.second -> check\ncheck.out -> out"
    queue_fixture.put("IN", "bad")
    with flow(nodes, wires, files=FILES):
        assert queue_fixture.bodies("SYSTEM.DEAD.LETTER.QUEUE") == ["bad"]
    assert queue_fixture.rest("AUDIT") == ["bad"]


def test_something_that_is_no_message_is_put_away(flow, queue_fixture):
    queue_fixture.session.producer("IN").send_encoded([b"\x00\x53\x75garbage"]).refused(20)
    queue_fixture.put("IN", "good")
    with flow(PASS, "in.out -> out"):
        assert queue_fixture.bodies("OUT") == ["good"]
        assert queue_fixture.bodies("SYSTEM.DEAD.LETTER.QUEUE") == ["\x00Sugarbage"]


# How it is run


def test_a_unit_of_work_has_as_many_messages_as_the_flow_says(flow, queue_fixture):
    queue_fixture.put("IN", *map(str, range(20)))
    with flow(PASS, "in.out -> out", "commit_count: 5") as running:
        queue_fixture.get("OUT", 20)
    assert running.statistics.units >= 4


def test_a_unit_of_work_waits_for_more_messages(flow, queue_fixture):
    with flow(PASS, "in.out -> out", "commit_count: 3\ncommit_interval: 20") as running:
        queue_fixture.put("IN", "a")
        queue_fixture.put("IN", "b")
        assert queue_fixture.rest("OUT") == []
        queue_fixture.put("IN", "c")
        assert queue_fixture.bodies("OUT", 3) == ["a", "b", "c"]
    assert running.statistics.units == 1


def test_several_instances_share_the_work(flow, queue_fixture):
    queue_fixture.put("IN", *map(str, range(500)))
    with flow(PASS, "in.out -> out", "additional_instances: 3\ncommit_count: 10"):
        assert sorted(map(int, queue_fixture.bodies("OUT", 500))) == list(range(500))


@pytest.mark.parametrize("order", ["by-queue", "by-user"])
def test_order_is_kept_with_several_instances(flow, queue_fixture, order):
    queue_fixture.put("IN", *map(str, range(500)))
    nodes = PASS.replace("queue: IN}", f"queue: IN, order: {order}}}")
    with flow(nodes, "in.out -> out", "additional_instances: 3\ncommit_count: 10"):
        assert queue_fixture.bodies("OUT", 500) == list(map(str, range(500)))


def test_nodes_are_counted_and_timed_if_one_asks(flow, queue_fixture):
    queue_fixture.put("IN", "a", "b")
    with flow(PASS, "in.out -> out", measured=True) as running:
        queue_fixture.get("OUT", 2)
    assert running.statistics.nodes.nodes["out"].messages == 2
    line = json.loads(running.lines[-1])
    assert (line["flow"], line["messages"], line["nodes"]["out"]["messages"]) == ("tested", 2, 2)
    assert "out " in running.statistics.table()


def test_a_queue_that_is_not_there_is_told_with_the_place_in_the_file(flow):
    with flow(PASS.replace("IN", "MISSING"), "in.out -> out", check=False) as running:
        assert "flow.yaml:4" in str(running.problem)
        assert "MISSING" in str(running.problem)


@pytest.mark.parametrize(
    "settings", ["additional_instances: 300", "commit_count: 0", "commit_interval: 61", "coordinated: maybe"]
)
def test_a_setting_that_makes_no_sense_is_told(flow, settings):
    with flow(PASS, "in.out -> out", settings, check=False) as running:
        assert settings.split(":")[0] in str(running.problem)


@pytest.mark.parametrize(
    ("input_", "output", "said"),
    [
        ("queue: IN", "queue: NO.SUCH", "QueueOutput out cannot put to queue NO.SUCH"),
        ("queue: IN, backout_queue: NO.SUCH", "queue: OUT", "QueueInput in cannot put to queue NO.SUCH"),
    ],
)
def test_a_queue_to_put_to_that_is_not_there_is_told_before_the_first_message(flow, input_, output, said):
    nodes = f"in: {{type: QueueInput, {input_}}}\nout: {{type: QueueOutput, {output}}}"
    with flow(nodes, "in.out -> out", check=False) as running:
        assert running.problem is not None
        assert f"flow.yaml:{4 if 'backout' in input_ else 5}:3: {said}" in str(running.problem)


def test_queues_that_only_a_message_names_are_not_asked_for_at_the_start(flow):
    with flow(PASS.replace("queue: OUT", "destination: list"), "in.out -> out") as running:
        assert running.problem is None
