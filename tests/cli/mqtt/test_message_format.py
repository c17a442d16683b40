"""Format strings of `helio sub -F`."""

import json
import re

import pytest

from heliograph.cli.mqtt.message_format import compile_format
from heliograph.errors import Problem
from heliograph.mqtt import Publish

MESSAGE = Publish("a/é", b'{"n": 1}', 1, True, False, 17)
RICH = Publish(
    "t",
    b"x",
    properties={
        "content_type": "text/plain",
        "response_topic": "r",
        "correlation_data": b"\xff\1",
        "message_expiry_interval": 9,
        "payload_format_indicator": 1,
        "subscription_identifier": [1, 2],
        "user_property": [("k", "v"), ("k", "w")],
    },
)


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("", b""),
        ("plain é", "plain é".encode()),
        ("%t", "a/é".encode()),
        ("%p", b'{"n": 1}'),
        ("%x", b"7b226e223a20317d"),
        ("%X", b"7B226E223A20317D"),
        ("%q %r %l %m", b"1 1 8 17"),
        ("100%%", b"100%"),
        (r"%q\n\t\r\\\0\e\a\v", b"1\n\t\r\\\0\x1b\a\v"),
        ("%C%R%D%E%F%S%P%A", b""),
    ],
)
def test_fields(text, printed):
    assert compile_format(text)(MESSAGE) == printed


def test_fields_of_properties():
    assert compile_format("%C|%R|%D|%E|%F|%S|%P")(RICH) == b"text/plain|r|\xff\1|9|1|1 2|k:v k:w"


def test_times():
    printed = compile_format("%I %U")(MESSAGE)
    assert re.fullmatch(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d{4} \d+\.\d{9}", printed)


def test_json_with_the_payload_as_text():
    facts = json.loads(compile_format("%j")(MESSAGE))
    assert facts.pop("tst").endswith("Z")
    assert facts == {"topic": "a/é", "qos": 1, "retain": 1, "payloadlen": 8, "mid": 17, "payload": '{"n": 1}'}


def test_json_with_the_payload_as_json():
    assert json.loads(compile_format("%J")(MESSAGE))["payload"] == {"n": 1}


def test_json_of_properties():
    properties = json.loads(compile_format("%j")(RICH))["properties"]
    assert properties["content-type"] == "text/plain"
    assert properties["user-property"] == [["k", "v"], ["k", "w"]]


def test_json_is_one_line_unless_it_is_to_be_pretty():
    assert b"\n" not in compile_format("%j")(RICH)
    assert b"\n" in compile_format("%j", pretty=True)(RICH)


def test_json_of_a_payload_that_is_not_json_is_refused():
    with pytest.raises(Problem, match="not JSON"):
        compile_format("%J")(RICH)


@pytest.mark.parametrize("text", ["%z", "%", r"\q", "\\"])
def test_a_wrong_format_is_refused(text):
    with pytest.raises(Problem, match="unknown"):
        compile_format(text)
