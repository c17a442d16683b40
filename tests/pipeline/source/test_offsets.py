"""How messages are shared out among micro-batches and tasks."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.errors import Problem
from heliograph.pipeline.errors import DataLoss
from heliograph.pipeline.source.data_loss import beginning_of, readable_from
from heliograph.pipeline.source.offsets import (
    FEWEST_MESSAGES,
    SMALLEST_PIECE,
    admitted,
    cut,
    identity_in,
    is_another,
    offset_json,
    offsets_in,
    shared_out,
)

RANGES = st.dictionaries(st.integers(0, 8), st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), max_size=6)


def ends_of(ranges: dict[int, tuple[int, int]]) -> tuple[dict[int, int], dict[int, int]]:
    return {p: lo for p, (lo, _) in ranges.items()}, {p: lo + n for p, (lo, n) in ranges.items()}


@settings(deadline=None)
@given(RANGES, st.integers(1, 16))
def test_pieces_are_all_of_a_range_once_and_in_order(ranges: dict[int, tuple[int, int]], tasks: int) -> None:
    start, end = ends_of(ranges)
    pieces = cut(start, end, tasks)
    assert pieces == cut(start, end, tasks)
    for p in ranges:
        at = start[p]
        for piece in pieces:
            if piece.partition == p:
                assert piece.first == at < piece.end
                at = piece.end
        assert at == end[p]


def test_one_partition_is_cut_so_that_all_tasks_have_work() -> None:
    assert [piece.end - piece.first for piece in cut({0: 0}, {0: 100_000}, 4)] == [25_000] * 4


def test_what_is_not_worth_a_task_is_not_cut() -> None:
    assert len(cut({0: 7}, {0: 7 + SMALLEST_PIECE}, 16)) == 1


def test_a_partition_that_is_new_is_read_from_its_beginning() -> None:
    assert cut({0: 5}, {0: 5, 1: 3}, 2) == [(1, 0, 3)]


@settings(deadline=None)
@given(RANGES, st.integers(1, 10**6))
def test_no_more_is_admitted_than_allowed_and_always_something(ranges: dict[int, tuple[int, int]], most: int) -> None:
    start, latest = ends_of(ranges)
    end = admitted(start, latest, most)
    total = sum(n for _, n in ranges.values())
    assert sum(end[p] - start[p] for p in ranges) == min(most, total)
    assert all(start[p] <= end[p] <= latest[p] for p in ranges)


def test_partitions_get_shares_by_what_waits_in_them() -> None:
    assert admitted({0: 10, 1: 0}, {0: 40, 1: 10}, 8) == {0: 16, 1: 2}


def test_an_offset_of_another_stream_is_refused() -> None:
    kept = offset_json("plant", {0: 5, 1: 7}, 2)
    assert offsets_in(kept, "plant") == {0: 5, 1: 7}
    with pytest.raises(Problem, match='that of stream "plant", but the query reads stream "other"'):
        offsets_in(kept, "other")


def test_messages_that_are_gone_are_a_failure_unless_they_may_be_lost() -> None:
    with pytest.raises(DataLoss, match=r"offsets 5 to 9 were deleted by retention .* earliest one left is 10"):
        readable_from("plant", {0: 5}, [(10, 20)], fail=True)
    assert readable_from("plant", {0: 5}, [(10, 20)], fail=False) == {0: 10}


def test_a_stream_that_is_shorter_than_it_was_is_another_one() -> None:
    with pytest.raises(DataLoss, match=r"ends at 20: the server's data was thrown away.* new checkpointLocation"):
        readable_from("plant", {0: 50}, [(0, 20)], fail=True)
    assert readable_from("plant", {0: 50}, [(0, 20)], fail=False) == {0: 0}


def test_a_stream_of_the_same_name_is_another_one_if_its_identity_is() -> None:
    kept = offset_json("plant", {0: 5}, 2, "one")
    assert identity_in(kept) == "one"
    assert is_another("one", "two")
    assert not is_another("one", "one")
    with pytest.raises(DataLoss, match=r"is not the one that was read before: .*thrown away and made anew"):
        beginning_of("plant", [(3, 20)], fail=True)
    assert beginning_of("plant", [(3, 20), (0, 0)], fail=False) == {0: 3, 1: 0}


def test_a_checkpoint_without_an_identity_fits_any_stream() -> None:
    old = offset_json("plant", {0: 5}, 2)
    assert old == {"stream": "plant", "partitions": {"0": 5}, "tasks": 2}
    assert not is_another(identity_in(old), "two")
    assert not is_another("one", "")  # a server that does not know of identities


def test_a_stream_never_has_fewer_partitions_than_before() -> None:
    with pytest.raises(Problem, match="expected partitions 1 as before"):
        readable_from("plant", {0: 0, 1: 0}, [(0, 20)], fail=False)


def test_small_pieces_of_many_partitions_are_one_task() -> None:
    pieces = cut({}, dict.fromkeys(range(16), 60), 2)
    assert shared_out(pieces) == [tuple(pieces)]


def test_pieces_that_are_large_enough_have_a_task_of_their_own() -> None:
    pieces = cut({}, {0: FEWEST_MESSAGES, 1: FEWEST_MESSAGES + 5}, 2)
    assert shared_out(pieces) == [(piece,) for piece in pieces]


def test_no_piece_gets_lost_when_they_are_shared_out() -> None:
    pieces = cut({}, {p: 137 * p for p in range(40)}, 2)
    assert [piece for share in shared_out(pieces) for piece in share] == pieces
    assert shared_out([]) == []
