"""Runs of transfers are what a client that sends and reads them one by one would have made of them."""

import pytest

from heliograph.amqp.composite import resolve
from heliograph.amqp.decoding import decode
from heliograph.amqp.messages.message import Data, decode_message
from heliograph.amqp.performatives import TransactionalState
from heliograph.lab.transfers import FRAME, MARK, Template, body, length_of_run, run_of_marks


def frames(run: bytes) -> list[tuple[object, bytes]]:
    """Every transfer and its payload."""
    found, at = [], 0
    while at < len(run):
        stop = at + int.from_bytes(run[at : at + 4], "big")
        transfer, end = decode(run, at + 8)
        found.append((resolve(transfer), run[end:stop]))
        at = stop
    return found


@pytest.mark.parametrize("count", [1, 4, 5, 300])
def test_every_message_of_a_run_has_its_numbers(count):
    run = bytes(Template(body(64, persistent=True), 300).run(70_000, 258, 65_500, count))
    for index, (transfer, payload) in enumerate(frames(run)):
        assert (transfer.delivery_id, transfer.settled, transfer.more) == (70_000 + index, False, False)
        assert transfer.delivery_tag == (70_000 + index).to_bytes(4, "big")
        message = decode_message(payload)
        assert message.durable
        assert message.body == Data(b"." * 56 + MARK.pack(258, 65_500 + index))
    assert index == count - 1


def test_a_large_message_is_cut_into_frames_that_are_not_too_long():
    template = Template(body(200_000, persistent=False), 2)
    pieces = frames(bytes(template.run(7, 0, 0, 2)))
    assert template.frames == 4
    assert [transfer.delivery_id for transfer, _ in pieces] == [7, None, None, None, 8, None, None, None]
    assert [transfer.more for transfer, _ in pieces] == [True, True, True, False] * 2
    assert max(len(payload) for _, payload in pieces) < FRAME
    message = decode_message(b"".join(payload for _, payload in pieces[:4]))
    assert message.body == Data(b"." * (200_000 - 8) + MARK.pack(0, 0))


def test_messages_of_a_unit_of_work_name_it():
    [(transfer, _)] = frames(bytes(Template(body(64, persistent=True), 1, b"unit").run(0, 0, 0, 1)))
    assert transfer.state == TransactionalState(b"unit")


def test_properties_can_be_selected_by():
    message = decode_message(body(64, persistent=False, properties={"colour": "c1"}))
    assert message.application_properties == {"colour": "c1"}


def test_a_run_ends_where_the_length_changes():
    run = bytes(Template(body(64, persistent=False), 5).run(0, 300, 10, 5))
    size = len(run) // 5
    other = bytes(Template(body(65, persistent=False), 1).run(5, 300, 15, 1))
    assert length_of_run(run + other, 0, size, len(run + other)) == 5
    assert length_of_run(run, 0, size, len(run) - 1) == 4


@pytest.mark.parametrize(("publisher", "sequence", "same"), [(300, 10, True), (300, 11, False), (44, 10, False)])
def test_a_run_is_recognised_by_all_its_marks(publisher, sequence, same):
    run = bytes(Template(body(64, persistent=False), 5).run(0, 300, 10, 5))
    size = len(run) // 5
    assert run_of_marks(run, size, size, 5, publisher, sequence) is same
