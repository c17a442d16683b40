"""What users can say about a stream to read, and what they hear if it is not right."""

from datetime import UTC, datetime

import pytest

from heliograph.errors import Problem
from heliograph.pipeline.source.access import stream_name
from heliograph.pipeline.source.options import SourceOptions, source_options
from heliograph.pipeline.source.positions import EARLIEST, LATEST, milliseconds, position_of


def refused(**options: str) -> str:
    with pytest.raises(Problem) as problem:
        source_options(options, streaming=False)
    return str(problem.value)


def test_a_stream_is_all_that_has_to_be_named() -> None:
    found = source_options({"stream": "plant", "minPartitions": "3"}, streaming=True)
    assert found == SourceOptions(server="http://127.0.0.1:15880", stream="plant", start=LATEST, end=LATEST, tasks=3)


def test_a_batch_begins_with_the_earliest_message_and_a_query_with_the_next() -> None:
    assert source_options({"stream": "plant"}, streaming=False).start == EARLIEST
    assert source_options({"stream": "plant"}, streaming=True).start == LATEST


def test_upper_and_lower_case_do_not_matter_in_names() -> None:
    found = source_options({"STREAM": "plant", "failondataloss": "False", "maxmessagespertrigger": "7"}, streaming=True)
    assert (found.fail_on_data_loss, found.most) == (False, 7)


def test_an_unknown_option_is_refused_with_a_suggestion() -> None:
    assert refused(strem="plant").startswith('unknown option "strem", did you mean "stream"?; options are: server, ')
    assert "load() without a path" in refused(path="/data", stream="plant")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({}, 'expected option "stream" (the name of one) or "topic" (a topic filter), found neither'),
        ({"stream": "a", "topic": "b"}, "found both"),
        ({"stream": "a", "server": "amqp://host"}, "server: expected the URL of the server's pages"),
        ({"stream": "a", "minPartitions": "0"}, 'minPartitions: expected a whole number of at least 1, found "0"'),
        ({"stream": "a", "failOnDataLoss": "no"}, 'failOnDataLoss: expected true or false, found "no"'),
        ({"stream": "a", "format": "xml"}, 'format: expected binary or text, found "xml"'),
        (
            {"stream": "a", "startingOffsets": "soon"},
            "startingOffsets: expected earliest, latest, offsets by partition",
        ),
        ({"stream": "a", "startingOffsets": '{"0": -5}'}, "for partition 0, found -5"),
        ({"stream": "a", "startingOffsets": "latest"}, "leaves nothing to read in a batch"),
        ({"stream": "a", "endingOffsets": "earliest"}, "leaves nothing to read"),
        ({"stream": "a", "maxMessagesPerTrigger": "5"}, "is for streaming reads (spark.readStream)"),
    ],
)
def test_what_does_not_fit_is_told(options: dict[str, str], told: str) -> None:
    assert told in refused(**options)


def test_a_streaming_read_may_have_an_end_too() -> None:
    assert source_options({"stream": "a", "endingOffsets": "7"}, streaming=True).end == position_of("x", "7")


def test_a_position_is_a_word_offsets_or_a_time() -> None:
    assert position_of("x", " Earliest ") == EARLIEST
    assert position_of("x", '{"1": "latest", "0": 5}').offsets == ((0, 5), (1, "latest"))
    assert position_of("x", "1700000000123").time == 1700000000123
    assert position_of("x", "2023-11-14T22:13:20.123Z").time == 1700000000123
    assert position_of("x", "2023-11-14T23:13:20+01:00") == position_of("x", "2023-11-14 22:13:20")


def test_a_time_between_two_milliseconds_is_the_later_one() -> None:
    assert milliseconds(datetime(1970, 1, 1, 0, 0, 1, 1, UTC)) == 1001
    assert milliseconds(datetime(1969, 1, 1, tzinfo=UTC)) == 0


def test_a_topic_filter_has_a_stream_with_a_name_of_its_own() -> None:
    name, other = (stream_name(SourceOptions(topic=topic)) for topic in ("plant/+/temp", "plant/#/temp"))
    assert name.startswith("topic-plant-temp-")
    assert name != other
    assert stream_name(SourceOptions(topic="#")).startswith("topic-")
    assert stream_name(SourceOptions(stream="plant")) == "plant"
