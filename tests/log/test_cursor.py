"""A cursor is the set of what has come and is not acknowledged, and knows where each of it lies."""

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from heliograph.log.cursor import CHUNK_SIZE, Chunk, Cursor, decode_cursor


class CursorIsASet(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.cursor = Cursor(7)
        self.pending = set()
        self.places = {}
        """Offset to the record that it is in: start and end."""
        self.next = 0
        self.position = 0

    @rule(count=st.integers(1, 5), skip=st.sampled_from([0, 0, 8, CHUNK_SIZE // 2]), size=st.integers(6, 4000))
    def messages_come(self, count, skip, size):
        start = self.position + skip
        end = start + size * 8
        self.cursor.add(count, start, end, 1000 + start, end - start)
        for offset in range(self.next, self.next + count):
            self.pending.add(offset)
            self.places[offset] = start, end
        self.next += count
        self.position = end

    @precondition(lambda self: self.next)
    @rule(data=st.data())
    def acknowledge(self, data):
        lo = data.draw(st.integers(0, self.next))
        hi = data.draw(st.integers(lo, self.next + 2))  # whoever replays a log may acknowledge more than has come
        self.cursor.acknowledge(lo, hi)
        self.pending.difference_update(range(lo, hi))

    @precondition(lambda self: self.pending)
    @rule(number=st.integers(1, 5))
    def acknowledge_the_oldest(self, number):
        lo = min(self.pending)
        self.cursor.acknowledge(lo, lo + number)
        self.pending.difference_update(range(lo, lo + number))

    @rule()
    def write_down_and_read(self):
        encoded = self.cursor.encode()
        self.cursor = decode_cursor(encoded)
        assert self.cursor.encode() == encoded

    @invariant()
    def is_the_same_set(self):
        cursor = self.cursor
        assert cursor.number == 7
        assert cursor.next == self.next
        assert cursor.first == min(self.pending, default=self.next)
        assert cursor.pending == len(self.pending)
        assert [o for lo, hi in cursor.pending_ranges() for o in range(lo, hi)] == sorted(self.pending)
        assert all(lo < hi for lo, hi in cursor.pending_ranges())
        for offset in range(-1, self.next + 2):
            assert cursor.is_pending(offset) == (offset in self.pending)
        middle = self.next // 2
        assert cursor.pending_within(0, middle) == len([o for o in self.pending if o < middle])
        assert cursor.pending_within(middle, self.next) == len([o for o in self.pending if o >= middle])

    @invariant()
    def knows_where_all_that_is_pending_lies(self):
        for offset in self.pending:
            chunk = self.cursor.chunk_of(offset)
            assert chunk is not None
            start, end = self.places[offset]
            assert chunk.start <= start
            assert end <= chunk.end
            assert chunk.end - chunk.start <= CHUNK_SIZE or chunk.end - chunk.start == end - start
        assert self.cursor.chunk_of(self.next) is None

    @invariant()
    def has_no_chunk_without_something_pending(self):
        for chunk in self.cursor.chunks:
            assert self.pending & set(range(chunk.first, chunk.next))
        assert self.cursor.bytes == sum(chunk.size for chunk in self.cursor.chunks)


TestCursorIsASet = CursorIsASet.TestCase


def test_a_long_backlog_costs_a_chunk_for_each_quarter_of_a_megabyte() -> None:
    cursor = Cursor(1)
    for n in range(10_000):
        cursor.add(100, n * 1000, n * 1000 + 1000, 0, 1000)
    assert cursor.pending == 1_000_000
    assert cursor.bytes == 10_000_000
    assert len(cursor.chunks) <= 10_000_000 // CHUNK_SIZE + 1


@given(
    number=st.integers(0, 2**32 - 1),
    gaps=st.lists(st.integers(1, 2**40), max_size=12),
    chunks=st.lists(st.tuples(st.integers(0, 2**60), st.integers(0, 2**31), *[st.integers(0, 2**63)] * 4), max_size=5),
)
def test_any_cursor_can_be_written_down(number, gaps, chunks) -> None:
    cursor = Cursor(number)
    bounds = [sum(gaps[: n + 1]) for n in range(len(gaps))]
    cursor.first, cursor.next = (bounds[0], bounds[-1] + 5) if bounds else (3, 8)
    for lo, hi in zip(bounds[1::2], bounds[2::2], strict=False):
        cursor.acknowledged.add(lo, hi)
    for first, count, start, end, size, time in chunks:
        cursor.chunks = [*cursor.chunks, Chunk(first, first + count, start, end, size, time)]
        cursor.bytes += size
    found = decode_cursor(cursor.encode())
    assert (found.number, found.first, found.next, found.bytes) == (number, cursor.first, cursor.next, cursor.bytes)
    assert list(found.acknowledged) == list(cursor.acknowledged)
    assert found.acknowledged.count == cursor.acknowledged.count
    fields = Chunk.__slots__
    assert [[getattr(c, f) for f in fields] for c in found.chunks] == [
        [getattr(c, f) for f in fields] for c in cursor.chunks
    ]
