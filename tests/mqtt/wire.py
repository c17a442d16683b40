"""Reading whole packets in tests."""

from heliograph.mqtt import Packet, decode, packet_bounds


def decode_whole(data: bytes, version: int) -> Packet:
    """Decode a packet that fills `data` exactly."""
    bounds = packet_bounds(data, 0, len(data))
    assert bounds is not None
    start, end = bounds
    assert end == len(data)
    return decode(data[0], data[start:end], version)
