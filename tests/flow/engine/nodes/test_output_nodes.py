"""What output nodes want done, and input nodes for files and requests."""

from pathlib import Path

import pytest

from heliograph.flow.engine.compiled_flow import compile_flow
from heliograph.flow.engine.outcome import Put, Result, WriteFile
from heliograph.flow.engine.run import Resources
from heliograph.flow.formats.envelope import Envelope
from heliograph.flow.loading.flow_loading import load_flow
from heliograph.flow.testing import FlowUnderTest
from heliograph.flow.testing.flow_under_test import NOON
from small_flows import flow_under_test, write_flow

FLOW = """
nodes:
  in: {type: QueueInput, queue: Q, INPUT}
  out: {type: QueueOutput, OUTPUT}
  next: {type: Trace, pattern: "${LocalEnvironment.WrittenDestination.MQ}"}
  failed: {type: QueueOutput, queue: FAILED}
connections:
  - in.out -> out
  - out.out -> next
  - out.failure -> failed
"""


def flow(folder: Path, output: str, given: str = "priority: 0", **options: object) -> FlowUnderTest:
    text = FLOW.replace(", INPUT", "" if given == "priority: 0" else f", {given}").replace("OUTPUT", output)
    return flow_under_test(folder, text, options=dict(options))


def put(folder: Path, output: str, **fields: object) -> Envelope:
    with flow(folder, output) as under_test:
        assert under_test.send("m", **fields) is Result.DONE
        ((message,),) = under_test.queues.values()
        return message


def test_a_message_that_nothing_changed_is_put_as_it_came(tmp_path: Path) -> None:
    came = Envelope(
        b"m", "MQSTR", 819, 273, b"id", b"cid", "R", True, 7, 50, 1, "u", 1.5, 0, "t", "text/plain", {"a": 1}
    )
    with flow(tmp_path, "queue: OUT") as under_test:
        under_test.send(came)
        assert under_test.queue("OUT") == [came]


@pytest.mark.parametrize(
    ("output", "fields", "attribute", "expected"),
    [
        ("queue: OUT, persistence: yes", {"persistent": False}, "persistent", True),
        ("queue: OUT, persistence: no", {"persistent": True}, "persistent", False),
        ("queue: OUT", {"persistent": True}, "persistent", True),
        ("queue: OUT", {"message_id": b"id"}, "message_id", b"id"),
        ("queue: OUT", {"backout_count": 0}, "backout_count", 0),
        ("queue: OUT, reply_to: BACK", {}, "reply_to", "BACK"),
        ("queue: OUT, reply_to: BACK", {}, "message_type", 1),
    ],
)
def test_a_property_of_queue_output(
    tmp_path: Path, output: str, fields: dict[str, object], attribute: str, expected: object
) -> None:
    assert getattr(put(tmp_path, output, **fields), attribute) == expected


def test_new_identifiers_are_new_and_the_same_if_the_message_comes_again(tmp_path: Path) -> None:
    output = "queue: OUT, new_message_id: true, new_correlation_id: true"
    first, again, other = (put(tmp_path, output, message_id=name) for name in (b"a", b"a", b"b"))
    assert first == again
    assert len({b"a", first.message_id, first.correlation_id, other.message_id, other.correlation_id}) == 5
    assert len(first.message_id) == 24


def test_destination_reply(tmp_path: Path) -> None:
    with flow(tmp_path, "destination: reply") as under_test:
        under_test.send("m", reply_to="R1")
        under_test.send("m")
        assert list(under_test.queues) == ["R1", "FAILED"]


LIST = """
from heliograph.flow.tree import Element

def process(message):
    queues = message.local_environment.ensure("Destination").ensure("MQ")
    for name in message.body.first("BLOB").value.decode().split():
        queues.append(Element("DestinationData")).append(Element("queueName", name))
    return message
"""


def test_destination_list_puts_on_all_queues_or_on_none(tmp_path: Path) -> None:
    text = FLOW.replace(", INPUT", "").replace("OUTPUT", "destination: list")
    text = text.replace("in.out -> out", "in.out -> list\n  - list.out -> out").replace(
        "connections:", "  list: {type: Python, file: list.py}\nconnections:"
    )
    with flow_under_test(tmp_path, text, list__py=LIST, options={"refuse": {("out", "C"): "full"}}) as under_test:
        under_test.send("A B")
        under_test.send("A C")
        under_test.send("")
        counts = {name: len(messages) for name, messages in under_test.queues.items()}
        assert counts == {"A": 1, "B": 1, "FAILED": 2}


def test_a_put_that_was_refused_fails_the_node(tmp_path: Path) -> None:
    with flow(tmp_path, "queue: OUT", refuse={("out", "OUT"): "queue is full"}) as under_test:
        assert under_test.send("m") is Result.DONE
        assert list(under_test.queues) == ["FAILED"]


def test_what_was_written_is_noted_for_nodes_behind(tmp_path: Path) -> None:
    with flow(tmp_path, "queue: OUT") as under_test:
        under_test.send("m", message_id=b"\x01", correlation_id=b"\x02")
        assert "queueName = 'OUT'" in under_test.trace
        assert "msgId = X'01'" in under_test.trace
        assert "correlId = X'02'" in under_test.trace


@pytest.mark.parametrize(
    ("transaction", "output", "expected"),
    [("yes", "automatic", True), ("no", "automatic", False), ("yes", "no", False), ("no", "yes", True)],
)
def test_puts_are_in_the_unit_of_work_of_the_input_unless_they_say_otherwise(
    tmp_path: Path, transaction: str, output: str, expected: bool
) -> None:
    text = FLOW.replace("INPUT", f"transaction: {transaction}").replace("OUTPUT", f"queue: OUT, transaction: {output}")
    compiled = compile_flow(load_flow(write_flow(tmp_path, text)))
    (outcome,) = compiled.process("in", [Envelope(b"m")], Resources(), NOON)
    (effect,) = outcome.effects
    assert isinstance(effect, Put)
    assert effect.transactional is expected


def test_what_is_outside_of_the_unit_of_work_is_put_even_if_that_fails(tmp_path: Path) -> None:
    text = """
nodes:
  in: {type: QueueInput, queue: Q}
  log: {type: QueueOutput, queue: LOG, transaction: no}
  out: {type: QueueOutput, queue: OUT}
  bad: {type: Throw}
connections:
  - in.out -> log
  - log.out -> out
  - out.out -> bad
"""
    with flow_under_test(tmp_path, text) as under_test:
        assert under_test.send("m") is Result.DEAD_LETTER
        assert list(under_test.queues) == ["LOG"]


def test_a_reply_refers_to_its_request(tmp_path: Path) -> None:
    text = """
nodes:
  in: {type: QueueInput, queue: Q}
  out: {type: QueueReply}
connections:
  - in.out -> out
"""
    with flow_under_test(tmp_path, text) as under_test:
        under_test.send("m", message_id=b"request", correlation_id=b"old", reply_to="BACK")
        (reply,) = under_test.queue("BACK")
        assert (reply.correlation_id, reply.message_type, reply.reply_to) == (b"request", 2, "")
        assert reply.message_id not in (b"request", b"")


FILES = """
nodes:
  in: {type: FileInput, directory: in}
  out: {type: FileOutput, directory: out, OUTPUT}
  show: {type: Trace, pattern: "${LocalEnvironment.File} ${Root.UserProperties}"}
connections:
  - in.out -> out
  - out.out -> show
"""


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("name: a.txt", b"2"),
        ("name: a.txt, mode: append", b"12"),
        ("name: a.txt, mode: append, record: line", b"1\n2\n"),
    ],
)
def test_file_output(tmp_path: Path, output: str, expected: bytes) -> None:
    with flow_under_test(tmp_path, FILES.replace("OUTPUT", output)) as under_test:
        under_test.send("1")
        under_test.send("2")
        assert under_test.files == {"out/a.txt": expected}


def test_a_file_can_be_named_by_the_message(tmp_path: Path) -> None:
    name = """
def process(message):
    message.local_environment.ensure("Destination").ensure("File").ensure("Name").set_value("b.txt")
    return message
"""
    text = FILES.replace(", OUTPUT", "").replace("in.out -> out", "in.out -> name\n  - name.out -> out")
    text = text.replace("connections:", "  name: {type: Python, file: name.py}\nconnections:")
    with flow_under_test(tmp_path, text, name__py=name) as under_test:
        under_test.send("1")
        assert under_test.files == {"out/b.txt": b"1"}


def test_facts_of_a_file_are_in_the_local_environment_and_no_properties(tmp_path: Path) -> None:
    with flow_under_test(tmp_path, FILES.replace("OUTPUT", "name: a.txt")) as under_test:
        under_test.send("1", properties={"Name": "in.txt", "Record": 1})
        assert "Name = 'in.txt'" in under_test.trace
        assert "Record = 1" in under_test.trace
        assert under_test.trace.rstrip().endswith("NULL")


def test_a_file_effect_is_outside_of_the_unit_of_work_of_a_file(tmp_path: Path) -> None:
    compiled = compile_flow(load_flow(write_flow(tmp_path, FILES.replace("OUTPUT", "name: a.txt"))))
    (outcome,) = compiled.process("in", [Envelope(b"m")], Resources(), NOON)
    assert outcome.effects == [WriteFile("out", "a.txt", b"m", False, "out", False)]


HTTP = """
nodes:
  in: {type: HttpInput, path: /orders}
  work: {type: Python, file: work.py}
  out: {type: HttpReply, PROPERTIES}
connections:
  - in.out -> work
  - work.out -> out
"""
WORK = """
def process(message):
    body = message.body.first("BLOB").value
    if body == b"bad":
        raise ValueError("cannot")
    if body == b"gone":
        message.local_environment.first("Destination").first("HTTP").ensure("ReplyStatusCode").set_value(404)
    method = message.local_environment.first("HTTP").first("Input").first("Method").value
    message.body.first("BLOB").set_value(method.encode() + b" " + body)
    return message
"""


@pytest.mark.parametrize(
    ("body", "properties", "status", "content_type", "answer"),
    [
        ("m", "status: 201", 201, "text/plain", b"PUT m"),
        ("m", "content_type: text/html", 200, "text/html", b"PUT m"),
        ("gone", "status: 201", 404, "text/plain", b"PUT gone"),
        ("bad", "status: 201", 500, "text/plain; charset=utf-8", b"The flow test failed: ValueError: cannot\n"),
    ],
)
def test_an_http_request_is_answered(
    tmp_path: Path, body: str, properties: str, status: int, content_type: str, answer: bytes
) -> None:
    with flow_under_test(tmp_path, HTTP.replace("PROPERTIES", properties), work__py=WORK) as under_test:
        under_test.send(body, message_id=b"request 1", properties={"Method": "PUT"}, content_type="text/plain")
        (response,) = under_test.responses
        assert response.request == b"request 1"
        assert (response.status, response.headers["Content-Type"], response.body) == (status, content_type, answer)


def test_a_request_that_has_its_answer_gets_no_other(tmp_path: Path) -> None:
    text = HTTP.replace("PROPERTIES", "status: 202").replace("connections:", "  bad: {type: Throw}\nconnections:")
    with flow_under_test(tmp_path, text + "  - out.out -> bad\n", work__py=WORK) as under_test:
        assert under_test.send("m", message_id=b"1", properties={"Method": "PUT"}) is Result.DISCARDED
        assert [response.status for response in under_test.responses] == [202]


def test_the_bytes_are_read_anew_behind_reset_content_descriptor(tmp_path: Path) -> None:
    text = """
nodes:
  in: {type: QueueInput, queue: Q}
  reset: {type: ResetContentDescriptor, domain: XMLNSC}
  show: {type: Trace, pattern: "${FIELDVALUE(Body.a.b)}"}
  out: {type: QueueOutput, queue: OUT}
connections:
  - in.out -> reset
  - reset.out -> show
  - show.out -> out
"""
    with flow_under_test(tmp_path, text) as under_test:
        under_test.send("<a><b>1</b></a>")
        assert under_test.trace == "1\n"
        assert under_test.queue("OUT")[0].body == b"<a><b>1</b></a>"
