"""PUBACK and PUBREC: what publishers are told of their messages."""

from typing import TYPE_CHECKING

from heliograph.broker.core.published import Published
from heliograph.broker.delivery.packet_fitting import fit
from heliograph.broker.delivery.sending import answer
from heliograph.mqtt import PUBACKS, PUBRECS, Ids, Properties, PubAck, PubRec, Reason, acks_for

if TYPE_CHECKING:
    from heliograph.broker.mqtt.connection import Connection


def acknowledge(connection: "Connection", qos: int, ids: Ids, published: Published) -> None:
    """Answer messages that came with these identifiers, with the reason if it is not plain success."""
    reason, taken, in_log, put = published
    table = PUBACKS if qos == 1 else PUBRECS
    store = connection.broker.store
    if reason and store is not None and connection.explain and store.trouble and reason is store.refusal:
        kind = PubAck if qos == 1 else PubRec
        why = Properties(reason_string=store.trouble)
        chunk = b"".join([fit(kind(i, reason, why), connection.version, connection.outlet.max_packet) for i in ids])
    elif connection.version5 and (reason or taken < len(ids)):
        chunk = acks_for(table, ids[:taken], reason) + acks_for(table, ids[taken:], Reason.QUOTA_EXCEEDED)
    else:
        chunk = acks_for(table, ids)
    broker, session = connection.broker, connection.session
    stored = (
        store is not None
        and reason < Reason.UNSPECIFIED_ERROR
        and (in_log > 0 or put or (qos == 2 and session is not None and session.number > 0))
    )
    answer(broker, connection.outlet, chunk, stored=stored)
    if store is not None and stored:
        store.pause_if_behind(connection.outlet)
