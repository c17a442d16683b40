"""Reading whole packets in tests."""

import pytest

from heliograph.mqtt import Packet, ProtocolError, Reason, decode, packet_bounds


def decode_whole(data: bytes, version: int) -> Packet:
    """Decode a packet that fills `data` exactly."""
    bounds = packet_bounds(data, 0, len(data))
    assert bounds is not None
    start, end = bounds
    assert end == len(data)
    return decode(data[0], data[start:end], version)


def assert_refused(wire: str, version: int, reason: Reason) -> None:
    """A packet in hexadecimal digits breaks a rule, for which the standard names this reason."""
    with pytest.raises(ProtocolError) as caught:
        decode_whole(bytes.fromhex(wire), version)
    assert caught.value.reason is reason
