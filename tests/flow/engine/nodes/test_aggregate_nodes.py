"""Aggregation: requests are recorded, replies are collected, and nothing is lost or told twice when something dies."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from heliograph.flow.engine.aggregation_store import SqliteAggregationStore
from heliograph.flow.engine.compiled_flow import CompiledFlow, compile_flow
from heliograph.flow.engine.outcome import Outcome, Put, Result
from heliograph.flow.engine.run import Resources
from heliograph.flow.formats.envelope import Envelope
from heliograph.flow.loading.flow_loading import load_flow
from small_flows import JOIN_PRICES, write_flow

NOON = datetime(2026, 1, 1, 12, 0, 0)

FAN_OUT = """flow: out
nodes:
  in: {type: QueueInput, queue: Q, backout_threshold: 3}
  control: {type: AggregateControl, aggregate: PRICES, timeout: 60}
  ask_a: {type: QueueOutput, queue: A, new_message_id: true, reply_to: REPLIES}
  asked_a: {type: AggregateRequest, folder: First}
  ask_b: {type: QueueOutput, queue: B, new_message_id: true, reply_to: REPLIES}
  asked_b: {type: AggregateRequest, folder: Second}
CONTROLconnections:
  - in.out -> control
  - control.out -> ask_a
  - ask_a.out -> asked_a
  - control.out -> ask_b
  - ask_b.out -> asked_b
"""
WITH_CONTROL = FAN_OUT.replace("CONTROL", "  launch: {type: QueueOutput, queue: CONTROL, new_message_id: true}\n", 1)
WITH_CONTROL += "  - control.control -> launch\n"
FAN_OUT = FAN_OUT.replace("CONTROL", "", 1)

FAN_IN = """flow: back
nodes:
  in: {type: QueueInput, queue: REPLIES, domain: XMLNSC, backout_threshold: 3}
  control: {type: QueueInput, queue: CONTROL}
  reply: {type: AggregateReply, aggregate: PRICES, unknown_timeout: UNKNOWN}
  join: {type: Compute, esql: join.esql}
  all: {type: QueueOutput, queue: ALL}
  late: {type: Compute, esql: join.esql}
  some: {type: QueueOutput, queue: SOME}
  unknown: {type: QueueOutput, queue: UNKNOWN}
connections:
  - in.out -> reply
  - control.out -> reply.control
  - reply.out -> join
  - join.out -> all
  - reply.timeout -> late
  - late.out -> some
  - reply.unknown -> unknown
"""


class Broker:
    """Two flows that share a store, and can be killed between two steps."""

    def __init__(self, folder: Path, fan_out: str = FAN_OUT, unknown: int = 0) -> None:
        (folder / "out").mkdir()
        (folder / "back").mkdir()
        self.out = compile_flow(load_flow(write_flow(folder / "out", fan_out)))
        text = FAN_IN.replace("unknown_timeout: UNKNOWN", f"unknown_timeout: {unknown}")
        self.back = compile_flow(load_flow(write_flow(folder / "back", text, join__esql=JOIN_PRICES)))
        self._file = folder / "aggregation.db"
        self.now = NOON
        self.store = SqliteAggregationStore(self._file)

    def kill(self) -> None:
        """What is not committed is gone."""
        self.store.close()
        self.store = SqliteAggregationStore(self._file)

    def process(self, flow: CompiledFlow, node: str, envelope: Envelope, *, commit: bool = True) -> Outcome:
        (outcome,) = flow.process(node, [envelope], Resources(aggregation=self.store), self.now)
        if commit and outcome.result is Result.DONE:
            self.store.commit()
        elif commit:
            self.store.rollback()
        return outcome

    def ask(self, name: bytes = b"order", *, commit: bool = True) -> dict[str, Envelope]:
        """The requests, by queue."""
        return puts(self.process(self.out, "in", Envelope(b"<Ask/>", message_id=name, persistent=True), commit=commit))

    def reply(self, request: Envelope, price: int, *, commit: bool = True) -> dict[str, bytes]:
        envelope = Envelope(
            b"<Price>%d</Price>" % price,
            message_id=b"reply to " + request.message_id,
            correlation_id=request.message_id,
            expiry=100,
        )
        return bodies(self.process(self.back, "in", envelope, commit=commit))

    def wait(self, seconds: float, *, commit: bool = True) -> list[dict[str, bytes]]:
        self.now += timedelta(seconds=seconds)
        resources = Resources(aggregation=self.store)
        found = []
        for timer in self.back.due(self.now, resources):
            outcome = self.back.expire(timer, self.now, resources)
            assert outcome.result is Result.DONE, outcome.logged
            found.append(bodies(outcome))
            if commit:
                self.store.commit()
        return found


def puts(outcome: Outcome) -> dict[str, Envelope]:
    assert outcome.result is Result.DONE, outcome.logged
    return {effect.queue: effect.envelope for effect in outcome.effects if isinstance(effect, Put)}


def bodies(outcome: Outcome) -> dict[str, bytes]:
    return {queue: envelope.body for queue, envelope in puts(outcome).items()}


BOTH = {"ALL": b"<All><First>1</First><Second>2</Second></All>"}


def test_requests_ask_for_replies(tmp_path: Path) -> None:
    asked = Broker(tmp_path).ask()
    assert {(envelope.reply_to, envelope.message_type, envelope.body) for envelope in asked.values()} == {
        ("REPLIES", 1, b"<Ask/>")
    }
    assert asked["A"].message_id != asked["B"].message_id


def test_the_last_reply_brings_them_all_in_the_order_of_requests(tmp_path: Path) -> None:
    broker = Broker(tmp_path)
    asked = broker.ask()
    assert broker.reply(asked["B"], 2) == {}
    assert broker.reply(asked["A"], 1) == BOTH


def test_aggregations_do_not_mix(tmp_path: Path) -> None:
    broker = Broker(tmp_path)
    one, two = broker.ask(b"1"), broker.ask(b"2")
    assert broker.reply(one["A"], 1) == broker.reply(two["B"], 4) == {}
    assert broker.reply(two["A"], 3) == {"ALL": b"<All><First>3</First><Second>4</Second></All>"}
    assert broker.reply(one["B"], 2) == BOTH


def test_a_timeout_sends_what_there_is(tmp_path: Path) -> None:
    broker = Broker(tmp_path)
    broker.reply(broker.ask()["A"], 1)
    assert broker.wait(59) == []
    assert broker.wait(1) == [{"SOME": b"<All><First>1</First></All>"}]
    assert broker.wait(100) == []


def test_a_timeout_without_any_reply_sends_an_empty_body(tmp_path: Path) -> None:
    broker = Broker(tmp_path)
    broker.ask()
    assert broker.wait(60) == [{"SOME": b"<All/>"}]


def test_a_reply_after_the_timeout_is_unknown(tmp_path: Path) -> None:
    broker = Broker(tmp_path)
    asked = broker.ask()
    broker.wait(60)
    assert broker.reply(asked["A"], 1) == {"UNKNOWN": b"<Price>1</Price>"}


def test_a_timeout_of_zero_is_never(tmp_path: Path) -> None:
    broker = Broker(tmp_path, FAN_OUT.replace("timeout: 60", "timeout: 0"))
    asked = broker.ask()
    assert broker.wait(10**6) == []
    broker.reply(asked["A"], 1)
    assert broker.reply(asked["B"], 2) == BOTH


def test_a_reply_that_nobody_waits_for_is_unknown_at_once(tmp_path: Path) -> None:
    assert Broker(tmp_path).reply(Envelope(b"", message_id=b"x"), 1) == {"UNKNOWN": b"<Price>1</Price>"}


def test_an_unknown_reply_is_kept_for_a_while(tmp_path: Path) -> None:
    broker = Broker(tmp_path, unknown=10)
    assert broker.reply(Envelope(b"", message_id=b"x"), 1) == {}
    assert broker.wait(9) == []
    assert broker.wait(1) == [{"UNKNOWN": b"<Price>1</Price>"}]
    assert broker.wait(10) == []


def test_an_unknown_reply_that_becomes_known_counts_when_its_time_is_over(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    asked = Broker(elsewhere).ask()  # identifiers are the same every time
    broker = Broker(tmp_path, unknown=10)
    assert broker.reply(asked["A"], 1) == {}
    assert broker.ask() == asked
    assert broker.reply(asked["B"], 2) == {}
    assert broker.wait(10) == [BOTH]


def test_replies_may_overtake_the_control_message(tmp_path: Path) -> None:
    broker = Broker(tmp_path, WITH_CONTROL)
    asked = broker.ask()
    assert broker.reply(asked["A"], 1) == broker.reply(asked["B"], 2) == {}
    assert bodies(broker.process(broker.back, "control", asked["CONTROL"])) == BOTH


def test_a_control_message_before_the_replies(tmp_path: Path) -> None:
    broker = Broker(tmp_path, WITH_CONTROL)
    asked = broker.ask()
    assert bodies(broker.process(broker.back, "control", asked["CONTROL"])) == {}
    broker.reply(asked["A"], 1)
    assert broker.reply(asked["B"], 2) == BOTH


def test_a_control_message_that_comes_again_brings_the_same(tmp_path: Path) -> None:
    broker = Broker(tmp_path, WITH_CONTROL)
    asked = broker.ask()
    broker.reply(asked["A"], 1)
    broker.reply(asked["B"], 2)
    for _ in range(2):
        assert bodies(broker.process(broker.back, "control", asked["CONTROL"])) == BOTH


# Death


def test_a_fan_out_that_died_before_its_commit_has_not_been(tmp_path: Path) -> None:
    broker = Broker(tmp_path)
    asked = broker.ask(commit=False)
    broker.kill()
    assert broker.reply(asked["A"], 1) == {"UNKNOWN": b"<Price>1</Price>"}


def test_a_fan_out_that_died_before_its_messages_were_sent_is_done_again(tmp_path: Path) -> None:
    broker = Broker(tmp_path)
    asked = broker.ask()
    broker.kill()
    assert broker.ask() == asked
    assert broker.reply(asked["A"], 1) == {}
    assert broker.reply(asked["B"], 2) == BOTH


def test_a_reply_that_died_before_its_commit_comes_again(tmp_path: Path) -> None:
    broker = Broker(tmp_path)
    asked = broker.ask()
    broker.reply(asked["A"], 1, commit=False)
    broker.kill()
    assert broker.reply(asked["A"], 1) == {}
    assert broker.reply(asked["B"], 2) == BOTH


def test_the_last_reply_whose_result_was_not_sent_brings_it_again(tmp_path: Path) -> None:
    broker = Broker(tmp_path)
    asked = broker.ask()
    broker.reply(asked["A"], 1)
    assert broker.reply(asked["B"], 2) == BOTH
    broker.kill()
    assert broker.reply(asked["B"], 2) == BOTH


def test_an_earlier_reply_that_comes_again_brings_nothing(tmp_path: Path) -> None:
    broker = Broker(tmp_path)
    asked = broker.ask()
    for _ in range(3):
        assert broker.reply(asked["A"], 1) == {}
    assert broker.reply(asked["B"], 2) == BOTH
    assert broker.reply(asked["A"], 1) == {}


def test_a_second_reply_to_one_request_is_unknown(tmp_path: Path) -> None:
    broker = Broker(tmp_path)
    asked = broker.ask()
    broker.reply(asked["A"], 1)
    second = Envelope(b"<Price>9</Price>", message_id=b"another", correlation_id=asked["A"].message_id)
    assert bodies(broker.process(broker.back, "in", second)) == {"UNKNOWN": b"<Price>9</Price>"}


def test_a_timeout_that_died_before_its_commit_is_due_again(tmp_path: Path) -> None:
    broker = Broker(tmp_path)
    broker.ask()
    assert broker.wait(60, commit=False) == [{"SOME": b"<All/>"}]
    broker.kill()
    assert broker.wait(0) == [{"SOME": b"<All/>"}]


def test_what_has_ended_is_remembered_until_it_is_to_be_forgotten(tmp_path: Path) -> None:
    broker = Broker(tmp_path)
    asked = broker.ask()
    broker.reply(asked["A"], 1)
    assert broker.reply(asked["B"], 2) == BOTH
    broker.store.forget(NOON.timestamp())
    assert broker.reply(asked["B"], 2) == BOTH
    broker.store.forget(NOON.timestamp() + 1)
    assert broker.reply(asked["B"], 2) == {"UNKNOWN": b"<Price>2</Price>"}


def test_what_has_not_ended_is_not_forgotten(tmp_path: Path) -> None:
    broker = Broker(tmp_path)
    asked = broker.ask()
    broker.store.forget(NOON.timestamp() + 1)
    broker.reply(asked["A"], 1)
    assert broker.reply(asked["B"], 2) == BOTH


def test_replies_that_are_kept_do_not_expire(tmp_path: Path) -> None:
    broker = Broker(tmp_path)
    broker.reply(broker.ask()["A"], 1)
    (expired,) = broker.store.due("PRICES", NOON.timestamp() + 60)
    aggregate = broker.store.expire(expired.key, b"late")
    assert aggregate is not None
    assert [(each.folder, each.reply and each.reply.expiry) for each in aggregate.replies] == [
        ("First", -1),
        ("Second", None),
    ]


# Mistakes


def test_a_request_needs_a_control_before_it(tmp_path: Path) -> None:
    broker = Broker(
        tmp_path, FAN_OUT.replace("  - in.out -> control\n", "  - in.out -> ask_a\n  - in.failure -> control\n")
    )
    outcome = broker.process(broker.out, "in", Envelope(b"", message_id=b"m", backout_count=2))
    assert outcome.exception is not None
    assert "ComIbmAggregateControlNode is missing" in outcome.exception.describe()


def test_an_aggregation_without_requests_fails(tmp_path: Path) -> None:
    text = FAN_OUT.replace("  - ask_a.out -> asked_a\n", "").replace("  - ask_b.out -> asked_b\n", "")
    text = text.replace("  asked_a: {type: AggregateRequest, folder: First}\n", "")
    text = text.replace("  asked_b: {type: AggregateRequest, folder: Second}\n", "")
    broker = Broker(tmp_path, text)
    outcome = broker.process(broker.out, "in", Envelope(b"", message_id=b"m"))
    assert outcome.result is Result.BACKOUT
    assert outcome.exception is not None
    assert "no AggregateRequest was reached" in outcome.exception.describe()


@pytest.mark.parametrize(
    ("catch", "expected"), [("  - reply.catch -> join\n", Result.DONE), ("", Result.BACKOUT)], ids=["catch", "no catch"]
)
def test_an_exception_behind_a_timeout_goes_to_catch_or_stays_due(tmp_path: Path, catch: str, expected: Result) -> None:
    broker = Broker(tmp_path)
    broker.ask()
    text = FAN_IN.replace("unknown_timeout: UNKNOWN", "unknown_timeout: 0")
    text = text.replace("late: {type: Compute, esql: join.esql}", "late: {type: Throw}")
    text = text.replace("late.out -> some", "join.out1 -> some") + catch
    broker.back = compile_flow(load_flow(write_flow(tmp_path / "back", text, join__esql=JOIN_PRICES)))
    later = NOON + timedelta(seconds=60)
    resources = Resources(aggregation=broker.store)
    (timer,) = broker.back.due(later, resources)
    outcome = broker.back.expire(timer, later, resources)
    assert outcome.result is expected
    if expected is Result.DONE:
        assert bodies(outcome) == {"ALL": b"<All/>"}
    broker.store.rollback()
    assert broker.back.due(later, resources) == [timer]
