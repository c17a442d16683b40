"""What becomes of sets of requests, as Spark's workers see them; called here without Spark."""

from datetime import UTC, datetime, timedelta
from itertools import combinations
from pathlib import Path

import pyarrow as pa
import pytest

from heliograph.flow.loading.flow_loading import load_flow
from heliograph.pipeline.flows.aggregation.collecting import CollectJob
from heliograph.pipeline.flows.aggregation_requests import KEY, deadline_queue, kind_of, topics_of
from heliograph.pipeline.flows.processing import FlowJob
from pipeline.flows.stream_rows import as_rows, stream_rows

EXAMPLE = Path(__file__).parents[3] / "examples" / "flows" / "aggregation"
WANTED = b"<Wanted><Article>chair</Article></Wanted>"


@pytest.fixture(scope="module")
def definition():
    return load_flow(EXAMPLE)


@pytest.fixture(scope="module")
def asked(definition, tmp_path_factory):
    """What the fan-out makes of a message."""
    return as_rows(FlowJob.of(definition, "in", str(tmp_path_factory.mktemp("state")))(iter([stream_rows([WANTED])])))


@pytest.fixture(scope="module")
def replied(asked):
    """A reply: who, which price, which identifier."""
    requests = {row["destination"]: row for row in asked if row["destination"].startswith("SUPPLIER")}

    def reply(name, price, message_id):
        request = requests[f"SUPPLIER.{name}"]
        return {
            "topic": request["reply_to"].removeprefix("topic://"),
            "payload": f"<Quote><Price>{price}</Price></Quote>".encode(),
            "correlation": bytes.fromhex(request["message_id"].removeprefix("ID:AMQP_BINARY:")),
            "message_id": message_id,
        }

    return reply


@pytest.fixture(scope="module")
def note(asked):
    (row,) = [row for row in asked if row["kind"] == "topic"]
    return {"topic": row["destination"], "payload": row["payload"]}


@pytest.fixture(scope="module")
def deadline(asked):
    (row,) = [row for row in asked if row["destination"] == deadline_queue("QUOTES")]
    return {"topic": row["payload"].decode(), "payload": b""}


@pytest.fixture(scope="module")
def collect(definition, tmp_path_factory):
    job = CollectJob.of(definition, "replies", str(tmp_path_factory.mktemp("state")), node="collect")

    def run(history, cuts=()):
        """What comes of messages that come in several batches, which begin at the cuts."""
        found = []
        for end in (*cuts, len(history)):
            seen = [
                datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=sum(at >= cut for cut in cuts))
                for at in range(end)
            ]
            rows = stream_rows(history[:end]).append_column("seen", pa.array(seen, pa.timestamp("us", "UTC")))
            backwards = rows.take(pa.array(range(end - 1, -1, -1)))  # Spark collects in any order
            sets = pa.ListArray.from_arrays(pa.array([0, end], pa.int32()), backwards.to_struct_array())
            found += as_rows(job(iter([pa.RecordBatch.from_arrays([sets], ["messages"])])))
        return [(row["destination"], row["payload"].decode()) for row in found]

    return run


BEST = ("QUOTES.BEST", '<Best replies="3"><Price>47.5</Price><Supplier>West</Supplier></Best>')
PARTIAL = ("QUOTES.PARTIAL", '<Best replies="2"><Price>47.5</Price><Supplier>West</Supplier></Best>')
STRAY = ("QUOTES.STRAY", "<Quote><Price>120</Price></Quote>")


class TestFanOut:
    def test_requests_say_that_replies_go_to_a_topic_of_their_set(self, asked):
        requests = [row for row in asked if row["destination"].startswith("SUPPLIER")]
        (reply_to,) = {row["reply_to"] for row in requests}
        assert reply_to.startswith("topic://heliograph/aggregation/QUOTES/replies/")
        assert [row["payload"] for row in requests] == [WANTED] * 3

    def test_a_note_and_a_deadline_of_the_same_set_go_with_them(self, note, deadline):
        assert kind_of(note["topic"])[0] == "requests"
        assert kind_of(deadline["topic"]) == ("deadlines", kind_of(note["topic"])[1])
        assert note["topic"].startswith(topics_of("QUOTES").removesuffix("#"))

    def test_what_looks_like_neither_is_a_reply(self):
        assert kind_of("a/requests/1") == kind_of("requests") == kind_of("") == ("replies", b"")
        assert KEY.endswith("$")


class TestFanIn:
    @pytest.fixture
    def replies(self, replied):
        return [replied("NORTH", "49.90", "r1"), replied("WEST", "47.5", "r2"), replied("SOUTH", "120", "r3")]

    def test_the_last_reply_completes_a_set_and_its_deadline_does_nothing(self, collect, note, replies, deadline):
        assert collect([note, *replies, deadline]) == [BEST]

    def test_the_replies_of_a_set_whose_time_is_over_have_to_do_and_the_late_one_is_unknown(
        self, collect, note, replies, deadline
    ):
        assert collect([note, *replies[:2], deadline, replies[2]]) == [PARTIAL, STRAY]

    def test_nobody_replies(self, collect, note, deadline):
        assert collect([note, deadline]) == [("QUOTES.PARTIAL", '<Best replies="0"/>')]

    def test_a_reply_without_a_set_is_unknown(self, collect, replies):
        assert collect(replies[2:]) == [STRAY]

    def test_the_same_reply_twice_counts_once(self, collect, note, replies, deadline):
        assert collect([note, *replies[:2], replies[1], deadline]) == [PARTIAL]
        assert collect([note, *replies, replies[1], replies[2]]) == [BEST]

    def test_replies_need_no_identifier(self, collect, note, replies):
        nameless = [{name: value for name, value in one.items() if name != "message_id"} for one in replies]
        assert collect([note, *nameless]) == [BEST]

    def test_another_reply_to_the_same_request_is_unknown(self, collect, note, replied, deadline):
        history = [note, replied("WEST", "47.5", "r1"), replied("WEST", "120", "r2"), replied("NORTH", "50", "r3")]
        assert collect([*history, deadline]) == [STRAY, PARTIAL]

    def test_a_deadline_that_comes_twice_counts_once(self, collect, note, replies, deadline):
        assert collect([note, *replies[:2], deadline, deadline]) == [PARTIAL]

    def test_a_set_that_cannot_be_sent_on_takes_the_catch_path(self, collect, note, replied, replies, deadline):
        found = collect([note, *replies[:2], replied("SOUTH", "dear", "r3"), deadline])
        assert found == [("QUOTES.USELESS", "<Useless><Reason>'dear' is not a DECIMAL</Reason></Useless>")]

    def test_it_does_not_matter_how_messages_are_cut_into_batches(self, collect, note, replies, deadline):
        history = [note, *replies[:2], replies[1], deadline, replies[2], deadline]
        inner = range(1, len(history))
        for number in (1, 2, len(inner)):
            for cuts in combinations(inner, number):
                assert collect(history, cuts) == [PARTIAL, STRAY], cuts
