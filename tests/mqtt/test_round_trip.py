"""Every packet survives encoding and decoding; every sequence of bytes is a packet or a ProtocolError."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.mqtt import ProtocolError, decode, encode
from mqtt.strategies import VERSIONS, any_packet
from mqtt.wire import decode_whole

versioned_packets = st.sampled_from(VERSIONS).flatmap(lambda version: st.tuples(any_packet(version), st.just(version)))


@pytest.mark.parametrize("version", VERSIONS)
def test_decoding_gives_back_what_was_encoded(version):
    @given(any_packet(version))
    def check(packet):
        assert decode_whole(encode(packet, version), version) == packet

    check()


@given(first=st.integers(0, 255), body=st.binary(max_size=64), version=st.sampled_from(VERSIONS))
def test_random_bytes_are_a_packet_or_a_protocol_error(first, body, version):
    _decode_or_refuse(first, body, version)


@given(versioned_packets, st.data())
def test_a_damaged_packet_is_a_packet_or_a_protocol_error(packet_and_version, data):
    packet, version = packet_and_version
    damaged = bytearray(encode(packet, version))
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    _decode_or_refuse(damaged[0], bytes(damaged[2:]), version)


@given(versioned_packets, st.data())
def test_a_truncated_packet_is_a_packet_or_a_protocol_error(packet_and_version, data):
    packet, version = packet_and_version
    whole = encode(packet, version)
    _decode_or_refuse(whole[0], whole[2 : data.draw(st.integers(2, max(2, len(whole))))], version)


@given(versioned_packets)
def test_what_decodes_can_be_encoded_in_any_version(packet_and_version):
    packet, _ = packet_and_version
    for version in VERSIONS:
        assert encode(packet, version)


def _decode_or_refuse(first, body, version):
    try:
        packet = decode(first, body, version)
    except ProtocolError:
        return
    encode(packet, version)
