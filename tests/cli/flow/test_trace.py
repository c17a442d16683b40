"""`helio flow trace`: every step of a message, and what has changed."""

import io
import sys
from pathlib import Path

import pytest

from cli.queue_server import helio
from heliograph.cli.main import main
from small_flows import write_flow

FLOW = """
flow: test
parameters: {factor: 2}
nodes:
  in: {type: QueueInput, queue: Q, domain: XMLNSC}
  work: {type: Compute, esql: work.esql}
  show: {type: Trace, pattern: "n is ${CAST(Root.XMLNSC.a.n AS CHARACTER)}"}
  out: {type: QueueOutput, queue: R}
  bad: {type: QueueOutput, queue: BAD}
connections:
  - in.out -> work
  - work.out -> show
  - show.out -> out
  - work.failure -> bad
"""
ESQL = """
CREATE COMPUTE MODULE Work
  DECLARE factor EXTERNAL INTEGER 1;
  CREATE FUNCTION Main() RETURNS BOOLEAN
  BEGIN
    SET OutputRoot = InputRoot;
    SET Environment.seen = 'yes';
    SET OutputRoot.XMLNSC.a.n = CAST(InputBody.a.n AS INTEGER) * factor;
    RETURN TRUE;
  END;
END MODULE;
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "m.xml").write_text("<a><n>21</n></a>")
    (tmp_path / "bad.xml").write_text("<a><n>many</n></a>")
    return write_flow(
        tmp_path, FLOW, work__esql=ESQL, tests___c__yaml="input: <a><n>1</n></a>\nexpect: {queues: {R: x}}\n"
    )


def traced(*words: str) -> list[str]:
    status, out, err = helio("flow", "trace", *words)
    assert (status, err) == (0, "")
    return out.splitlines()


def test_the_first_step_shows_the_message_and_others_what_is_different(folder: Path) -> None:
    lines = traced(str(folder), "--input", str(folder / "m.xml"))
    assert lines[0] == f"{folder / 'm.xml'}: 16 bytes"
    assert lines[1:3] == ["in.out -> work (Compute)", "  Message:"]
    assert "          (0x3000000)n = '21'" in lines
    at = lines.index("  work.out -> show (Trace)")
    assert "      -     (0x3000000)n = '21'" in lines[at:]
    assert "      +     (0x3000000)n = 42" in lines[at:]
    assert lines[lines.index("    Environment:") + 1] == "      + (0x1000000)seen = 'yes'"


def test_what_is_traced_and_sent_is_told_where_it_happens(folder: Path) -> None:
    lines = traced(str(folder), "--input", str(folder / "m.xml"))
    assert lines[-4:] == [
        "    # trace: n is 42",
        "    show.out -> out (QueueOutput)",
        "      * put on R: 16 bytes, <a><n>42</n></a>",
        "done",
    ]


def test_a_failure_path_shows_the_exception_list(folder: Path) -> None:
    lines = traced(str(folder), "--input", str(folder / "bad.xml"))
    at = lines.index("  work.failure -> bad (QueueOutput)")
    assert "    ExceptionList:" in lines[at:]
    assert any("work.esql:8" in line for line in lines[at:])


def test_an_exception_that_nobody_catches_is_told_where_it_comes_from(folder: Path) -> None:
    (folder / "flow.yaml").write_text(
        FLOW.replace("  - work.failure -> bad\n", "").replace("  bad: {type: QueueOutput, queue: BAD}\n", "")
    )
    status, out, _ = helio("flow", "trace", str(folder), "--input", str(folder / "bad.xml"))
    lines = out.splitlines()
    assert status == 1
    assert sum(line.startswith("  ! RecoverableException 2230 in test.work") for line in lines) == 1
    assert lines[-2].startswith("! dead letter: ")
    assert lines[-1].startswith("* dead letter on SYSTEM.DEAD.LETTER.QUEUE: ")


def test_attempts_after_a_backout_are_told(folder: Path) -> None:
    text = FLOW.replace("  - work.failure -> bad\n", "").replace("  bad: {type: QueueOutput, queue: BAD}\n", "")
    (folder / "flow.yaml").write_text(text.replace("queue: Q,", "queue: Q, backout_threshold: 2,"))
    _, out, _ = helio("flow", "trace", str(folder), "--input", str(folder / "bad.xml"))
    assert "backed out; attempt 2" in out.splitlines()


def test_a_body_that_cannot_be_read_is_no_end_of_the_trace(folder: Path) -> None:
    (folder / "odd.xml").write_text("<a><n>")
    lines = traced(str(folder), "--input", str(folder / "odd.xml"))
    assert any("XMLNSC (cannot be read: " in line for line in lines)
    assert any("put on BAD: 6 bytes, <a><n>" in line for line in lines)


def test_steps_can_be_limited_to_a_node(folder: Path) -> None:
    lines = traced(str(folder), "--input", str(folder / "m.xml"), "--node", "out")
    assert [line.strip() for line in lines if " -> " in line] == ["show.out -> out (QueueOutput)"]


def test_a_node_that_is_not_there(folder: Path) -> None:
    status, _, err = helio("flow", "trace", str(folder), "--input", str(folder / "m.xml"), "--node", "wrok")
    assert (status, err) == (
        1,
        "helio flow: there is no node wrok (did you mean work?); there are: bad, in, out, show, work\n",
    )


def test_messages_of_a_test_case_and_parameters(folder: Path) -> None:
    lines = traced(str(folder), "--case", "c", "--set", "factor=7")
    assert lines[0] == "c, 1: 15 bytes"
    assert "    # trace: n is 7" in lines


def test_standard_input(folder: Path) -> None:
    status, out, _ = helio("flow", "trace", str(folder), "--input", "-", stdin=b"<a><n>4</n></a>")
    assert (status, out.splitlines()[0]) == (0, "-: 15 bytes")
    assert "n is 8" in out


def test_labels_are_named_as_such(tmp_path: Path) -> None:
    text = """
nodes:
  in: {type: QueueInput, queue: Q}
  send: {type: Compute, esql: send.esql}
  here: {type: Label}
  out: {type: QueueOutput, queue: R}
connections:
  - in.out -> send
  - here.out -> out
"""
    esql = "SET OutputRoot = InputRoot; PROPAGATE TO LABEL 'here'; RETURN FALSE;"
    folder = write_flow(tmp_path, text, send__esql=esql)
    (tmp_path / "m").write_text("m")
    assert "  send.label -> here (Label)" in traced(str(folder), "--input", str(tmp_path / "m"))


def test_terminals_get_colours(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(sys, "stdout", screen := Terminal())
    main(["flow", "trace", str(folder), "--input", str(folder / "m.xml")])
    assert "\x1b[32m      +     (0x3000000)n = 42\x1b[0m" in screen.getvalue()
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(sys, "stdout", screen := Terminal())
    main(["flow", "trace", str(folder), "--input", str(folder / "m.xml")])
    assert "\x1b" not in screen.getvalue()


def test_a_case_says_itself_where_its_messages_go(folder: Path) -> None:
    status, _, err = helio("flow", "trace", str(folder), "--case", "c", "--into", "in")
    assert (status, err.startswith("helio flow: --into goes with --input")) == (1, True)


@pytest.mark.parametrize("action", ["trace", "profile"])
def test_a_file_that_is_not_there(folder: Path, action: str) -> None:
    status, _, err = helio("flow", action, str(folder), "--input", "gone.xml")
    assert (status, err) == (1, "helio flow: gone.xml cannot be read: No such file or directory\n")


# -- profile ----------------------------------------------------------------------------------------------------------


def profiled(*words: str) -> list[list[str]]:
    status, out, err = helio("flow", "profile", *words)
    assert (status, err) == (0, "")
    return [line.split() for line in out.splitlines()]


def test_profile_has_every_node_that_was_called_and_shares_that_make_a_whole(folder: Path) -> None:
    lines = profiled(str(folder), "--input", str(folder / "m.xml"), "--messages", "40")
    assert lines[0] == ["NODE", "TYPE", "CALLS", "FAILED", "OWN", "us", "WITH", "BEHIND", "us", "SHARE", "%"]
    rows = {line[0]: line[1:] for line in lines[1:5]}
    assert rows.keys() == {"in", "work", "show", "out"}
    assert {row[1] for row in rows.values()} == {"40"}
    assert sum(float(row[5]) for row in rows.values()) == pytest.approx(100, abs=0.5)
    own = [float(line[4]) for line in lines[1:5]]
    assert own == sorted(own, reverse=True)
    assert float(rows["in"][4]) >= float(rows["work"][4]) >= float(rows["out"][4])


def test_profile_tells_the_rate_and_what_formats_take(folder: Path) -> None:
    lines = [" ".join(line) for line in profiled(str(folder), "--input", str(folder / "m.xml"), "--messages", "40")]
    assert lines[-2].startswith("40 messages, ")
    assert lines[-2].endswith(" messages a second")
    assert lines[-1].startswith("XMLNSC as a whole, for comparison: read ")


def test_profile_tells_of_messages_that_fail(folder: Path) -> None:
    (folder / "flow.yaml").write_text(
        FLOW.replace("  - work.failure -> bad\n", "").replace("  bad: {type: QueueOutput, queue: BAD}\n", "")
    )
    lines = profiled(str(folder), "--input", str(folder / "m.xml"), str(folder / "bad.xml"), "--messages", "10")
    assert " ".join(lines[0]).startswith("message 2 fails (dead letter): ")
    rows = {line[0]: line[1:] for line in lines if len(line) == 7}
    assert rows["work"][1:3] == ["10", "5"]


def test_profile_sends_messages_of_a_case_into_one_input(folder: Path) -> None:
    (folder / "flow.yaml").write_text(
        FLOW.replace("  work:", "  other: {type: QueueInput, queue: O}\n  work:") + "  - other.out -> out\n"
    )
    case = "input: [{body: x, node: other}, {body: <a><n>1</n></a>, node: in}]\nexpect: {queues: {R: x}}\n"
    (folder / "tests" / "c.yaml").write_text(case)
    lines = profiled(str(folder), "--case", "c", "--messages", "10")
    assert " ".join(lines[0]) == "only messages into other are sent; the case has 1 for other inputs"
    assert {line[0] for line in lines if len(line) == 7} == {"other", "out"}
