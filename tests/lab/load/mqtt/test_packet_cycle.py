"""A cycle's absolute positions, which never wrap."""

from heliograph.lab.load.mqtt.packet_cycle import PacketCycle

CYCLE = PacketCycle([b"a", b"bb", b"ccc"])


def test_where_messages_start():
    assert [CYCLE.byte_at(message) for message in range(5)] == [0, 1, 3, 6, 7]


def test_whole_messages_before_a_byte():
    assert [CYCLE.messages_before(position) for position in range(8)] == [0, 1, 1, 2, 2, 2, 3, 4]


def test_a_stretch_may_go_over_the_end():
    assert bytes(CYCLE.slice(9, 6)) == b"cccabb"


def test_recognises_its_own_continuation():
    assert CYCLE.continues(b"cab", 5)
    assert CYCLE.continues(memoryview(b"bbccca"), 7)
    assert not CYCLE.continues(b"cb", 5)
