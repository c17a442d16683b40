"""What the log says of one session, fact by fact."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.durable_clients import session_fields, subscription_fields
from heliograph.broker.storage import offline_sessions, record_kinds
from heliograph.broker.storage.record_kinds import COMPLETED, ISSUED, RECEIVED, RELEASED, TAKEN, Move
from heliograph.broker.storage.recovered_session import RecoveredSession, apply, without_shared


def session(**changes):
    """What was read of a session whose client is away."""
    return RecoveredSession(session_fields(**{"away": 1000, **changes}), 400)


def test_a_session_is_told_as_it_was_read():
    kept = session(received=[3, 4], sent=[[1, 2, 1, 3, 0]], released=[[7, 2]], retired=[subscription_fields("b")])
    record = kept.record()
    assert (record.position, record.kind) == (400, record_kinds.SESSION)
    again = RecoveredSession(json.loads(record.body), 400)
    assert again.record() == record
    assert (again.received, again.issued, list(again.released)) == ({3, 4}, [(1, 2, 1, 3, 0)], [(7, 9)])


def test_packed_it_says_the_same():
    options = {"qos": 2, "no_local": True, "retain_as_published": True, "extra": "0b05"}
    kept = session(subscriptions=[subscription_fields(), subscription_fields("b", 4, **options)])
    unpacked = offline_sessions.decode(kept.packed())
    again = RecoveredSession(unpacked.fields(), 400)
    assert json.loads(again.record().body) == json.loads(kept.record().body)


@pytest.mark.parametrize(
    "changes",
    [
        {"away": None},
        {"will": {"topic": "a"}},
        {"received": [1]},
        {"sent": [[1, 1, 1, 3, 0]]},
        {"released": [[1, 1]]},
        {"retired": [subscription_fields("b")]},
        {"subscriptions": [subscription_fields("a/#/b")]},
        {"subscriptions": [subscription_fields(qos=3)]},
        {"subscriptions": [subscription_fields(cursor=-1)]},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_what_the_short_form_has_no_place_for_is_not_packed(changes):
    assert session(**changes).packed() is None


def test_moves_change_what_is_known():
    kept = session()
    apply(kept, Move(ISSUED, 2, 5, 3, 9, 3, 100))
    assert (kept.issued, kept.next_id) == ([(5, 3, 2, 3, 100)], 8)
    apply(kept, Move(RECEIVED, 0, 5, 3, 9))
    apply(kept, Move(COMPLETED, 0, 6, 1, 9))
    assert list(kept.released) == [(5, 6), (7, 8)]
    apply(kept, Move(TAKEN, 2, 20, 3, 9))
    apply(kept, Move(RELEASED, 0, 21, 1, 9))
    assert kept.received == {20, 22}


def test_behind_the_last_identifier_the_first_one_comes():
    kept = session()
    kept.issue(65_530, 5, 1, 3, 0)
    assert kept.next_id == 65_535
    kept.issue(65_535, 1, 1, 3, 5)
    assert kept.next_id == 1


@given(st.lists(st.tuples(st.integers(1, 20), st.integers(1, 5)), max_size=30))
def test_of_identifiers_that_were_used_again_only_the_last_use_is_remembered(uses):
    kept = session()
    for offset, (first, count) in enumerate(uses):
        kept.issue(first, count, 1, 3, offset)
    last = {one: offset for offset, (first, count) in enumerate(uses) for one in range(first, first + count)}
    kept.forget_used_again()
    assert [one[4] for one in kept.issued] == sorted(set(last.values()))


def test_what_sharers_had_at_qos_1_is_for_others_when_they_go():
    kept = session(
        subscriptions=[subscription_fields(), subscription_fields("$share/g/a", 4)],
        sent=[[1, 1, 1, 3, 0], [2, 1, 1, 4, 0], [3, 1, 2, 4, 1]],
    )
    assert [one[0] for one in without_shared(kept)] == [1, 3]
