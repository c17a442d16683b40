"""Messages that are made from a template are the messages that `encoded.write` makes one by one."""

from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.amqp.messages import encoded
from heliograph.amqp.messages.template import MessageTemplate

FULL: dict[str, Any] = {
    "to": "topic://plant/1",
    "to_kind": 1,
    "text": True,
    "persistent": False,
    "priority": 7,
    "ttl": 5000,
    "properties": {"a": "b", "n": 3},
    "annotations": {"x-opt-retain-message": True},
    "user_id": b"me",
    "subject": "kind",
    "reply_to": "queue://answers",
    "correlation_id": b"\xff\x00",
    "content_type": "text/plain",
    "created": 1_700_000_000_000,
    "group_id": "g",
    "group_sequence": 4,
}


@pytest.mark.parametrize("message_id", ["short", "x" * 300, b"\x00\xff", 17, UUID(int=5), None])
@pytest.mark.parametrize("size", [0, 255, 256, 70_000])
def test_a_filled_template_is_the_message(message_id: Any, size: int) -> None:
    body = b"x" * size
    assert MessageTemplate(**FULL).fill(message_id, body) == encoded.write(body, message_id=message_id, **FULL)


def test_a_template_with_nothing_but_a_destination_is_the_message() -> None:
    assert MessageTemplate(to="queue://q").fill("1", b"body") == encoded.write(b"body", message_id="1", to="queue://q")


def test_messages_may_have_no_ids() -> None:
    bodies = [b"", b"a", b"x" * 300]
    assert MessageTemplate(**FULL).fill_all(bodies) == [encoded.write(body, **FULL) for body in bodies]


@given(st.integers(0, 1200), st.lists(st.binary(max_size=300), max_size=30), st.sampled_from(["p/", "p" * 250]))
def test_a_run_has_ids_that_are_counted_up(first: int, bodies: list[bytes], prefix: str) -> None:
    expected = [
        encoded.write(body, message_id=f"{prefix}{number}", to="topic://t", to_kind=1)
        for number, body in enumerate(bodies, first)
    ]
    assert MessageTemplate(to="topic://t", to_kind=1).fill_run(prefix.encode(), first, bodies) == expected
