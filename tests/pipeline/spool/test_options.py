"""What a user can say about a broker, and what is answered to mistakes."""

import pytest

from heliograph.errors import Problem
from heliograph.pipeline.spool.options import spool_options

GOOD = {"topic": "plant/#", "spool": "/data/plant"}


def test_a_topic_and_a_directory_are_enough() -> None:
    options = spool_options(GOOD)
    assert (options.server, options.qos, options.tls) == ("mqtt://127.0.0.1:1883", 1, False)


def test_the_port_follows_from_the_scheme() -> None:
    assert spool_options({**GOOD, "server": "mqtts://broker"}).server == "mqtts://broker:8883"


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"topik": "x"}, 'unknown option "topik", did you mean "topic"?'),
        ({"path": "/x"}, 'expected load\\(\\) without a path, and the option "spool"'),
        ({"topic": ""}, 'expected option "topic" \\(a topic filter\\), found none'),
        ({"spool": ""}, 'expected option "spool" \\(a directory\\), found none'),
        ({"topic": "a/#/b"}, 'topic: expected a topic filter, found "a/#/b"'),
        ({"qos": "3"}, 'qos: expected a whole number from 0 to 2, found "3"'),
        ({"server": "http://broker"}, "server: expected mqtt://host:1883 or mqtts://host:8883"),
        ({"server": "mqtt://broker:port"}, "server: expected mqtt://host:1883"),
        ({"password": "x"}, "the option password needs the option user"),
    ],
)
def test_a_mistake_is_named(given: dict[str, str], text: str) -> None:
    with pytest.raises(Problem, match=text):
        spool_options({**GOOD, **given})
