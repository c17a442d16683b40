"""Packets that answer MQTT clients, above all PUBACK and PUBREC.

An acknowledgement promises that the server will not lose the message. So the acknowledgement of a message that is
being stored is held back until the log is safe. A client's maximum packet size applies to every packet that is sent
to it, not only to messages.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from heliograph.broker.core.outlet import Outlet
from heliograph.broker.core.span import Published
from heliograph.broker.routing.routes import Publisher
from heliograph.broker.storage.store import Store
from heliograph.broker.storage.turn import Turn
from heliograph.mqtt import (
    PUBACKS,
    PUBRECS,
    ConnAck,
    Disconnect,
    Ids,
    Properties,
    PubAck,
    PubComp,
    PubRec,
    PubRel,
    Reason,
    SubAck,
    UnsubAck,
    acks_for,
    encode,
)

Answer = ConnAck | PubAck | PubRec | PubRel | PubComp | SubAck | UnsubAck | Disconnect

_MAY_BE_LEFT_OUT = frozenset({"reason_string", "user_property", "response_information"})


def fit(packet: Answer, version: int, most: int) -> bytes:
    """The encoded packet, at most `most` bytes long (0: no limit).

    Where it is too long, the properties that only explain are left out. Empty if it is too long even then.
    """
    whole = encode(packet, version)
    if not most or len(whole) <= most:
        return whole
    needed = {name: value for name, value in packet.properties.items() if name not in _MAY_BE_LEFT_OUT}
    short = encode(replace(packet, properties=cast("Properties", needed)), version)
    return short if len(short) <= most else b""


class Answers:
    """Sends acknowledgements at once, or hands them to `HeldBack` until the log is safe (`broker.answers`)."""

    def __init__(self, turn: Turn, store: Store | None) -> None:
        self._turn = turn
        self._store = store

    def answer(self, outlet: Outlet, chunk: bytes, *, stored: bool) -> None:
        """Queue an acknowledgement. With `stored`, it is held until this turn is safe.

        Others leave at once, unless packets for this client are held already: the order of its packets never changes.
        """
        if stored and self._store is not None:
            self._turn.held.answer(outlet, chunk)
        elif outlet.unsafe:  # packets are held for this client, so there is a store
            self._turn.held.hold_behind(outlet, chunk)
        else:
            self._turn.write(outlet, chunk)

    def answer_all(self, outlets: Sequence[Outlet], chunks: Sequence[bytes], *, stored: bool) -> None:
        """Queue an acknowledgement for each of these clients; see `answer`."""
        if self._store is not None and stored:
            self._turn.held.answer_all(outlets, chunks)
            return
        for outlet, chunk in zip(outlets, chunks, strict=True):
            self.answer(outlet, chunk, stored=False)

    def acknowledge(self, publisher: Publisher, qos: int, ids: Ids, published: Published) -> None:
        """Acknowledge messages of one publisher that came with these identifiers.

        Only MQTT 5 acknowledgements have a reason code. Of several messages, the first `published.taken` succeeded.
        """
        reason, taken, in_log, put = published
        table = PUBACKS if qos == 1 else PUBRECS
        store = self._store
        # A refusal because the disk is in trouble comes with the reason string, if the client asked for those.
        if reason and store is not None and publisher.explain and store.trouble and reason is store.refusal:
            kind = PubAck if qos == 1 else PubRec
            why = Properties(reason_string=store.trouble)
            chunk = b"".join([fit(kind(i, reason, why), publisher.version, publisher.outlet.max_packet) for i in ids])
        elif publisher.version5 and (reason or taken < len(ids)):
            chunk = acks_for(table, ids[:taken], reason) + acks_for(table, ids[taken:], Reason.QUOTA_EXCEEDED)
        else:
            chunk = acks_for(table, ids)
        session = publisher.session
        # What was refused changed nothing on disk. QoS 2 needs the disk even where nobody stores the message: the
        # identifier is remembered, so that a retransmission after a crash is not published twice.
        stored = (
            store is not None
            and reason < Reason.UNSPECIFIED_ERROR
            and (in_log > 0 or put or (qos == 2 and session is not None and session.number > 0))
        )
        self.answer(publisher.outlet, chunk, stored=stored)
        if store is not None and stored:
            store.pause_if_behind(publisher.outlet)
