"""Answers to clients of MQTT, above all PUBACK and PUBREC: held back until what they tell of is safe.

A client's maximum packet size binds every packet that is sent to it, not only messages.
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
    """The encoded packet, if need be without what only explains; empty if it has more than `most` bytes even then.

    With 0 for `most`, there is no limit.
    """
    whole = encode(packet, version)
    if not most or len(whole) <= most:
        return whole
    needed = {name: value for name, value in packet.properties.items() if name not in _MAY_BE_LEFT_OUT}
    short = encode(replace(packet, properties=cast("Properties", needed)), version)
    return short if len(short) <= most else b""


class Answers:
    """`broker.answers`."""

    def __init__(self, turn: Turn, store: Store | None) -> None:
        self._turn = turn
        self._store = store

    def answer(self, outlet: Outlet, chunk: bytes, *, stored: bool) -> None:
        """Queue an acknowledgement: of something that is being stored, for when it is safe; and none before another."""
        if stored and self._store is not None:
            self._turn.held.answer(outlet, chunk)
        elif outlet.unsafe:  # as it never is without a store
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
        """Answer messages that came with these identifiers, with the reason if it is not plain success."""
        reason, taken, in_log, put = published
        table = PUBACKS if qos == 1 else PUBRECS
        store = self._store
        if reason and store is not None and publisher.explain and store.trouble and reason is store.refusal:
            kind = PubAck if qos == 1 else PubRec
            why = Properties(reason_string=store.trouble)
            chunk = b"".join([fit(kind(i, reason, why), publisher.version, publisher.outlet.max_packet) for i in ids])
        elif publisher.version5 and (reason or taken < len(ids)):
            chunk = acks_for(table, ids[:taken], reason) + acks_for(table, ids[taken:], Reason.QUOTA_EXCEEDED)
        else:
            chunk = acks_for(table, ids)
        session = publisher.session
        stored = (
            store is not None
            and reason < Reason.UNSPECIFIED_ERROR
            and (in_log > 0 or put or (qos == 2 and session is not None and session.number > 0))
        )
        self.answer(publisher.outlet, chunk, stored=stored)
        if store is not None and stored:
            store.pause_if_behind(publisher.outlet)
