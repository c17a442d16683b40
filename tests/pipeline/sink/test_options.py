"""What a user can say when writing, and what is answered to mistakes."""

import pytest

from heliograph.errors import Problem
from heliograph.pipeline.sink.options import SinkOptions, sink_options


def test_options_of_spark_are_not_ours() -> None:
    assert sink_options({"checkpointlocation": "/tmp/x", "topic": "t"}, streaming=True) == SinkOptions(topic="t")


def test_names_of_options_are_read_in_any_case() -> None:
    assert sink_options({"Queue": "orders"}, streaming=False).queue == "orders"


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"topics": "t"}, 'unknown option "topics".*did you mean topic?'),
        ({"colour": "red"}, 'unknown option "colour".*options are: server, user'),
        ({"topic": "t", "queue": "q"}, 'one of topic and queue, found both: "t" and "q"'),
        ({"topic": ""}, "expected a name as option topic, found nothing"),
        ({"server": "/var/lib/heliograph"}, 'expected an address .* as option server, found "/var/lib/heliograph"'),
        ({"password": "x"}, "the option password needs the option user"),
        ({"job": "no spaces"}, 'expected at most 36 letters.*found "no spaces"'),
        ({"job": "x" * 37}, "expected at most 36 letters"),
    ],
)
def test_a_mistake_is_named(given: dict[str, str], text: str) -> None:
    with pytest.raises(Problem, match=text):
        sink_options(given, streaming=False)


def test_a_streaming_query_has_no_job() -> None:
    with pytest.raises(Problem, match="known by its checkpoint"):
        sink_options({"job": "nightly"}, streaming=True)


def test_the_user_goes_into_the_address() -> None:
    options = SinkOptions(user="a@b", password="p:w")
    assert options.with_user("amqp://host:5672") == "amqp://a%40b:p%3Aw@host:5672"


def test_a_password_is_not_shown() -> None:
    assert "secret" not in repr(SinkOptions(user="me", password="secret"))
