"""Memory that is handed out again and again."""

from heliograph.log.buffer_pool import BufferPool


def test_parts_do_not_overlap_until_it_is_cleared() -> None:
    room = BufferPool(14)
    first, second = room.take(4), room.take(6)
    first[:], second[:] = b"aaaa", b"bbbbbb"
    assert bytes(first) == b"aaaa"
    room.clear()
    room.take(14)[:] = b"c" * 14
    assert bytes(first) + bytes(second) == b"c" * 10


def test_parts_start_where_records_can_start() -> None:
    room = BufferPool(24)
    room.take(24)[:] = bytes(range(24))
    room.clear()
    assert [bytes(room.take(3))[0] for _ in range(3)] == [0, 8, 16]


def test_what_has_no_room_is_elsewhere() -> None:
    room = BufferPool(4)
    inside, outside = room.take(3), room.take(2)
    inside[:], outside[:] = b"aaa", b"bb"
    assert (bytes(inside), bytes(outside), len(room.take(1))) == (b"aaa", b"bb", 1)


def test_what_was_not_needed_is_handed_out_again() -> None:
    room = BufferPool(4)
    first = room.take(4)
    room.give_back(4)
    room.take(4)[:] = b"same"
    assert bytes(first) == b"same"
