"""The bodies of the log's own small records."""

from hypothesis import given
from hypothesis import strategies as st

from heliograph.log import log_kinds
from heliograph.log.log_kinds import MOVED_HEAD, MOVED_RUN, MovedRun, decode_moved

U64 = st.integers(0, 2**64 - 1)
RUNS = st.lists(st.builds(MovedRun, st.integers(0, 2**32 - 1), U64, U64, U64, U64, U64), max_size=5)


@given(gone_from=U64, gone_to=U64, runs=RUNS)
def test_a_move_is_read_as_it_was_written(gone_from, gone_to, runs) -> None:
    body = MOVED_HEAD.pack(gone_from, gone_to) + b"".join(MOVED_RUN.pack(*run) for run in runs)
    assert decode_moved(body) == (gone_from, gone_to, runs)


def test_the_numbers_never_change() -> None:
    names = "MESSAGES ACKS CURSOR CURSOR_DELETED MESSAGES_MOVED CHECKPOINT CHECKPOINT_COMPLETE GROUP"
    assert [getattr(log_kinds, name) for name in names.split()] == [*range(1, 9)]
    assert log_kinds.FIRST_APPLICATION_KIND == 32
