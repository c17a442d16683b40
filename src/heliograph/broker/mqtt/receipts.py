"""Acknowledgements from clients: PUBACK, PUBREC and PUBCOMP for delivered messages, PUBREL for published ones."""

from collections.abc import Sequence

from heliograph.broker.delivery.answers import fit
from heliograph.broker.mqtt.peer import MqttPeer
from heliograph.broker.sessions.session import Session
from heliograph.broker.sessions.window import Settled
from heliograph.broker.storage import record_kinds
from heliograph.broker.storage.record_kinds import Move
from heliograph.mqtt import (
    PUBACKS,
    PUBCOMPS,
    PUBRECS,
    PUBRELS,
    MalformedPacket,
    PacketType,
    ProtocolError,
    PubComp,
    PubRel,
    Reason,
    ack_run,
    encode,
    read_ack_run,
)


def take_acks(connection: MqttPeer, data: bytes, pos: int) -> int:
    """Handle a run of four-byte acknowledgements of one kind. Returns where it ends."""
    session = connection.session
    assert session is not None
    first = data[pos]
    if first == 0x40:
        first_id, count = read_ack_run(PUBACKS, data, pos)
    elif first == 0x62 or (first == 0x6A and connection.version == 3):
        first_id, count = read_ack_run(PUBRELS, data, pos)
    elif first == 0x50:
        first_id, count = read_ack_run(PUBRECS, data, pos)
    elif first == 0x70:
        first_id, count = read_ack_run(PUBCOMPS, data, pos)
    else:
        raise MalformedPacket(f"wrong flags in an acknowledgement: 0x{first:02X}")
    if not first_id:
        raise ProtocolError(Reason.PROTOCOL_ERROR, "an acknowledgement with packet identifier 0")
    if first >> 4 == PacketType.PUBREL:
        released(connection, session, first_id, count)
    elif session.window is not None:
        if first == 0x40:
            session.window.acknowledge(first_id, count)
        elif first == 0x50:
            received(connection, session, first_id, count)
        else:
            completed(connection, session, first_id, count)
    elif first == 0x50:
        _answer_unknown(connection, list(range(first_id, first_id + count)))
    return pos + 4 * count


def received(connection: MqttPeer, session: Session, first: int, count: int) -> None:
    """Handle PUBREC: answer PUBREL."""
    assert session.window is not None
    done = len(session.settled)
    unknown = session.window.receive(first, count)
    # PUBREL makes the client forget the identifier. So before it leaves, the log must be safe: after a crash the
    # message must not be sent again.
    stored = session.number > 0
    if stored:
        ids = range(first, first + count)
        known = [i for i in ids if i not in unknown] if unknown else ids
        _note_received(connection, session, known, session.settled[done:])
    if not unknown:
        if stored and session.window.is_roomy:
            # The window has room, so no message waits for this identifier: the answer is not urgent.
            connection.broker.turn.held.hold(connection.outlet, ack_run(PUBRELS, first, count))
        else:
            connection.answer(ack_run(PUBRELS, first, count), stored=stored)
        return
    strangers = {i for i in unknown if not session.window.awaits_completion(i)}
    for packet_id in range(first, first + count):
        if packet_id in strangers:
            session.window.check_not_qos1(packet_id)
            _answer_unknown(connection, [packet_id])
        else:
            connection.answer(ack_run(PUBRELS, packet_id, 1), stored=stored)


def _note_received(connection: MqttPeer, session: Session, ids: Sequence[int], done: Settled) -> None:
    """PUBREC for these identifiers, whose messages are `done` in this order; both in one record, or in none."""
    store = connection.broker.store
    assert store is not None
    if sum(count for _, _, count in done) < len(ids):  # some are not from the log
        for packet_id in ids:
            store.note_move(Move(record_kinds.RECEIVED, 2, packet_id, 1, session.number))
    at = 0
    for cursor, offset, count in done:
        store.note_move(Move(record_kinds.RECEIVED, 2, ids[at], count, session.number, cursor.number, offset))
        at += count


def _answer_unknown(connection: MqttPeer, ids: list[int]) -> None:
    for packet_id in ids:
        reason = Reason.PACKET_IDENTIFIER_NOT_FOUND if connection.version5 else Reason.SUCCESS
        chunk = fit(PubRel(packet_id, reason), connection.version, connection.outlet.max_packet)
        if chunk:  # not before PUBREL for others, which may wait for the disk
            connection.answer(chunk, stored=False)


def completed(connection: MqttPeer, session: Session, first: int, count: int) -> None:
    """Handle PUBCOMP: the deliveries are complete."""
    assert session.window is not None
    session.window.complete(first, count)
    _note_move(connection, session, record_kinds.COMPLETED, first, count)


def released_alone(connection: MqttPeer, packet: bytes) -> int:
    """A read has brought just a PUBREL of four bytes, as it does from devices between two messages; where it ends."""
    session = connection.session
    packet_id = packet[2] << 8 | packet[3]
    if session is None or not packet_id:
        return take_acks(connection, packet, 0)
    released(connection, session, packet_id, 1)
    return len(packet)


def released(connection: MqttPeer, session: Session, first: int, count: int) -> None:
    """Handle PUBREL: free the identifiers and answer PUBCOMP."""
    if session.number:
        _note_move(connection, session, record_kinds.RELEASED, first, count)
    if count == 1 or not connection.version5 or _are_known(session, first, count):
        _forget(connection, session, first, count)
    else:
        for packet_id in range(first, first + count):
            _forget(connection, session, packet_id, 1)


def _are_known(session: Session, first: int, count: int) -> bool:
    return session.received is not None and session.received.within(first, first + count) == count


def _forget(connection: MqttPeer, session: Session, first: int, count: int) -> None:
    """Answer PUBREL for one identifier, or for several that are known, or whose client is not told of unknown ones."""
    received = session.received
    known = received.remove(first, first + count) if received is not None else 0
    if known == count or not connection.version5:
        chunk = ack_run(PUBCOMPS, first, count)
    else:
        chunk = encode(PubComp(first, Reason.PACKET_IDENTIFIER_NOT_FOUND), connection.version)
    stored = session.number > 0
    if stored or connection.outlet.unsafe:
        connection.broker.answers.answer(connection.outlet, chunk, stored=stored)
    else:
        connection.broker.turn.write_patiently(connection.outlet, chunk)


def _note_move(connection: MqttPeer, session: Session, what: int, first: int, count: int) -> None:
    if session.number and connection.broker.store is not None:
        connection.broker.store.note_move(Move(what, 0, first, count, session.number))


def received_one(connection: MqttPeer, session: Session, packet_id: int) -> None:
    if session.window is None:
        _answer_unknown(connection, [packet_id])
    else:
        received(connection, session, packet_id, 1)
