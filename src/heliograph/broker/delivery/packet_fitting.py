"""A client's maximum packet size binds every packet that is sent to it, not only messages."""

from dataclasses import replace
from typing import cast

from heliograph.mqtt import ConnAck, Disconnect, Properties, PubAck, PubComp, PubRec, PubRel, SubAck, UnsubAck, encode

Answer = ConnAck | PubAck | PubRec | PubRel | PubComp | SubAck | UnsubAck | Disconnect

_MAY_BE_LEFT_OUT = frozenset({"reason_string", "user_property", "response_information"})


def fit(packet: Answer, version: int, most: int) -> bytes:
    """The encoded packet, if need be without what only explains; empty if it has more than `most` bytes even then.

    With 0 for `most`, there is no limit.
    """
    whole = encode(packet, version)
    if not most or len(whole) <= most:
        return whole
    needed = {name: value for name, value in packet.properties.items() if name not in _MAY_BE_LEFT_OUT}
    short = encode(replace(packet, properties=cast("Properties", needed)), version)
    return short if len(short) <= most else b""
