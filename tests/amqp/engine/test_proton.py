"""The engine against the engine of Apache Qpid Proton, both roles, in memory."""

from collections.abc import Callable

import proton
import pytest

from amqp.pair import Side
from heliograph.amqp import (
    Accepted,
    Attached,
    Begun,
    Closed,
    Coordinator,
    Credentials,
    Declared,
    Detached,
    Ended,
    Error,
    Flowed,
    Modified,
    Opened,
    Options,
    Receiver,
    Rejected,
    Sender,
    Settled,
    Source,
    Target,
    Transfers,
)
from heliograph.amqp.codec.performatives import Declare, ReceiverSettleMode
from heliograph.amqp.codec.values import Described, Symbol, ULong
from heliograph.amqp.messages.message import Data, Message, Value, decode_message, encode_message, transaction_request


class Proton:
    """A connection of Proton's, and the bytes between it and one of ours."""

    def __init__(self, ours: Side, *, server: bool) -> None:
        self.ours = ours
        self.transport = proton.Transport(proton.Transport.SERVER if server else proton.Transport.CLIENT)
        self.connection = proton.Connection()
        if server:
            self.transport.sasl().allowed_mechs("ANONYMOUS")
            self.connection.container = "proton"
        self.transport.bind(self.connection)

    def run(self) -> None:
        busy = True
        while busy:
            busy = False
            data = self.ours.take_output()
            if data:
                busy = True
                while data:
                    room = self.transport.capacity()
                    assert room > 0, self.transport.condition
                    self.transport.push(data[:room])
                    data = data[room:]
            while (pending := self.transport.pending()) > 0:
                busy = True
                piece = bytes(self.transport.peek(pending))
                self.transport.pop(len(piece))
                self.ours.handle(self.ours.connection.receive(piece, 0.0))


def proton_client(options: Options | None = None) -> Proton:
    peer = Proton(Side(options or Options("server"), server=True), server=False)
    peer.connection.container = "proton"
    peer.connection.open()
    return peer


def proton_server() -> Proton:
    peer = Proton(Side(Options("client", credentials=Credentials("ANONYMOUS")), server=False), server=True)
    peer.ours.connection.open()
    peer.run()
    peer.connection.open()
    peer.run()
    assert peer.ours.of(Opened)
    return peer


def _send(link: proton.Sender, body: bytes, tag: str) -> proton.Delivery:
    delivery = link.delivery(tag)
    link.send(body)
    link.advance()
    return delivery


def _receive(link: proton.Receiver) -> bytes:
    delivery = link.current
    body = link.recv(delivery.pending)
    link.advance()
    delivery.update(proton.Delivery.ACCEPTED)
    delivery.settle()
    return bytes(body)


def _attached(peer: Proton) -> tuple[proton.Session, proton.Sender, Receiver]:
    session = peer.connection.session()
    session.open()
    sender = session.sender("to")
    sender.target.address = "q"
    sender.open()
    peer.run()
    link = peer.ours.last(Attached).link
    assert isinstance(link, Receiver)
    return session, sender, link


def test_a_proton_client_opens_sessions_and_links() -> None:
    peer = proton_client()
    _, sender, link = _attached(peer)
    assert sender.state & proton.Endpoint.REMOTE_ACTIVE
    assert link.target == Target("q")
    assert sender.remote_target.address == "q"


@pytest.mark.parametrize("size", [0, 1, 300, 70_000, 1_000_000])
def test_a_proton_client_sends_and_learns_the_outcome(size: int) -> None:
    peer = proton_client()
    _, sender, link = _attached(peer)
    link.flow(10)
    peer.run()
    assert sender.credit == 10
    deliveries = [_send(sender, bytes([n]) * size, str(n)) for n in range(10)]
    peer.run()
    got = [one for event in peer.ours.of(Transfers) for one in event.deliveries]
    assert [one.payload for one in got] == [bytes([n]) * size for n in range(10)]
    link.settle(got[0].number, got[8].number, Accepted())
    link.settle(got[9].number, got[9].number, Rejected(Error("amqp:not-allowed", "no")))
    peer.run()
    assert [one.remote_state for one in deliveries] == [proton.Delivery.ACCEPTED] * 9 + [proton.Delivery.REJECTED]
    assert deliveries[9].remote.condition.name == "amqp:not-allowed"
    assert all(one.settled for one in deliveries)


def test_a_thousand_messages_of_a_proton_client_come_in_few_events() -> None:
    peer = proton_client()
    _, sender, link = _attached(peer)
    link.flow(1000)
    peer.run()
    for n in range(1000):
        _send(sender, b"%d" % n, str(n))
    peer.run()
    events = peer.ours.of(Transfers)
    assert [one.payload for event in events for one in event.deliveries] == [b"%d" % n for n in range(1000)]
    assert len(events) < 20


@pytest.mark.parametrize("size", [1, 70_000, 1_000_000])
def test_a_proton_client_receives(size: int) -> None:
    peer = proton_client()
    session = peer.connection.session()
    session.open()
    receiver = session.receiver("from")
    receiver.source.address = "q"
    receiver.open()
    receiver.flow(7)
    peer.run()
    link = peer.ours.last(Attached).link
    assert isinstance(link, Sender)
    assert link.credit == 7
    numbers = link.send([bytes([n]) * size for n in range(5)])
    peer.run()
    assert [_receive(receiver) for _ in range(5)] == [bytes([n]) * size for n in range(5)]
    peer.run()
    settled = peer.ours.of(Settled)
    assert settled[0].first == numbers[0]
    assert settled[-1].last == numbers[-1]
    assert all(event.settled and event.state == Accepted() for event in settled)
    assert len(settled) == 1


def test_a_proton_client_drains() -> None:
    peer = proton_client()
    session = peer.connection.session()
    session.open()
    receiver = session.receiver("from")
    receiver.open()
    receiver.drain(5)
    peer.run()
    link = peer.ours.last(Flowed).link
    assert isinstance(link, Sender)
    assert link.drain
    link.send([b"one"], settled=True)
    link.drained()
    peer.run()
    assert _receive(receiver) == b"one"
    assert receiver.drained() == 4
    assert receiver.credit == 0


def test_a_proton_client_reads_our_messages_and_we_read_its() -> None:
    theirs = proton.Message(id="m1", body="text", durable=True, ttl=1.5, properties={"colour": "red"}, subject="s")
    ours = decode_message(theirs.encode())
    assert (ours.message_id, ours.body, ours.durable, ours.ttl) == ("m1", Value("text"), True, 1500)
    assert (ours.application_properties, ours.subject) == ({"colour": "red"}, "s")
    back = proton.Message()
    back.decode(encode_message(Message(Data(b"bytes"), priority=7, reply_to="r", group_id="g")))
    assert (back.body, back.priority, back.reply_to, back.group_id) == (b"bytes", 7, "r", "g")


def test_a_refused_link_is_closed_with_the_error_on_the_proton_client() -> None:
    peer = proton_client()
    peer.ours.answers[Attached] = lambda event: event.link.refuse(Error("amqp:not-found", "no such queue"))
    _, sender, _ = _attached(peer)
    assert sender.remote_target.type == proton.Terminus.UNSPECIFIED
    assert sender.state & proton.Endpoint.REMOTE_CLOSED
    assert sender.remote_condition.name == "amqp:not-found"


def test_close_and_detach_of_a_proton_client_are_told_apart_and_answered() -> None:
    peer = proton_client()
    session, sender, _ = _attached(peer)
    other = session.sender("other")
    other.open()
    peer.run()
    sender.detach()
    other.close()
    peer.run()
    assert [event.closed for event in peer.ours.of(Detached)] == [False, True]
    assert other.state & proton.Endpoint.REMOTE_CLOSED
    session.close()
    peer.connection.close()
    peer.run()
    assert peer.ours.of(Ended)
    assert peer.ours.of(Closed)
    assert peer.connection.state & proton.Endpoint.REMOTE_CLOSED


def test_a_refused_connection_shows_its_error_to_the_proton_client() -> None:
    peer = proton_client()
    redirect = Error("amqp:connection:redirect", "over there", {"network-host": "h", "port": 1})
    peer.ours.answers[Opened] = lambda _: peer.ours.connection.close(redirect)
    peer.run()
    assert peer.connection.remote_condition.name == "amqp:connection:redirect"
    assert peer.connection.remote_properties["amqp:connection-establishment-failed"] is True


def test_a_proton_client_gets_a_transaction_from_the_coordinator() -> None:
    peer = proton_client()
    session = peer.connection.session()
    session.open()
    sender = session.sender("txn")
    sender.target.type = proton.Terminus.COORDINATOR
    sender.target.capabilities.put_object(proton.symbol("amqp:local-transactions"))
    sender.open()
    peer.run()
    link = peer.ours.last(Attached).link
    assert isinstance(link.target, Coordinator)
    assert isinstance(link, Receiver)
    link.flow(1)
    peer.run()
    declare = proton.Message(body=proton.Described(proton.ulong(0x31), [None]))
    delivery = _send(sender, declare.encode(), "1")
    peer.run()
    (one,) = peer.ours.last(Transfers).deliveries
    assert transaction_request(one.payload) == Declare()
    link.settle(one.number, one.number, Declared(b"t1"))
    peer.run()
    assert delivery.remote_state == 0x33
    assert delivery.remote.data == [b"t1"]


def test_filters_and_dynamic_nodes_pass_through() -> None:
    peer = proton_client()
    session = peer.connection.session()
    session.open()
    receiver = session.receiver("from")
    receiver.source.dynamic = True
    receiver.source.filter.put_dict(
        {proton.symbol("jms-selector"): proton.Described(proton.ulong(0x0000468C00000004), "a = 1")}
    )
    receiver.open()
    peer.ours.answers[Attached] = lambda event: event.link.accept(source=Source("temp-1", dynamic=True))
    peer.run()
    remote = peer.ours.last(Attached).link.remote
    assert remote is not None
    assert remote.source is not None
    assert remote.source.dynamic
    assert remote.source.filter == {Symbol("jms-selector"): Described(ULong(0x0000468C00000004), "a = 1")}
    assert receiver.remote_source.address == "temp-1"


def _proton_links(peer: Proton) -> Callable[[], list[proton.Link]]:
    def links() -> list[proton.Link]:
        found = []
        link = peer.connection.link_head(0)
        while link:
            found.append(link)
            link = link.next(0)
        return found

    return links


def _accept_all(peer: Proton) -> None:
    session = peer.connection.session_head(0)
    while session:
        session.open()
        session = session.next(0)
    link = peer.connection.link_head(0)
    while link:
        link.source.copy(link.remote_source)
        link.target.copy(link.remote_target)
        link.open()
        link = link.next(0)
    peer.run()


def test_our_client_sends_to_a_proton_server() -> None:
    peer = proton_server()
    session = peer.ours.connection.begin()
    link = session.attach_sender("to", Target("q"))
    peer.run()
    _accept_all(peer)
    assert peer.ours.of(Begun)
    (theirs,) = _proton_links(peer)()
    theirs.flow(3)
    peer.run()
    assert link.credit == 3
    numbers = link.send([b"a", b"b" * 100_000, b"c"])
    peer.run()
    assert [_receive(theirs) for _ in range(3)] == [b"a", b"b" * 100_000, b"c"]
    peer.run()
    assert [(event.first, event.last) for event in peer.ours.of(Settled)] == [(numbers[0], numbers[-1])]


def test_our_client_receives_from_a_proton_server_and_drains() -> None:
    peer = proton_server()
    session = peer.ours.connection.begin()
    link = session.attach_receiver("from", Source("q"), rcv_settle_mode=ReceiverSettleMode.FIRST)
    link.flow(10)
    peer.run()
    _accept_all(peer)
    (theirs,) = _proton_links(peer)()
    assert theirs.credit == 10
    first, second = _send(theirs, b"a", "1"), _send(theirs, b"b" * 200_000, "2")
    peer.run()
    one, two = [delivery for event in peer.ours.of(Transfers) for delivery in event.deliveries]
    assert (one.payload, two.payload) == (b"a", b"b" * 200_000)
    link.settle(one.number, one.number, Accepted())
    link.settle(two.number, two.number, Modified(delivery_failed=True))
    link.flow(8, drain=True)
    peer.run()
    assert first.remote_state == proton.Delivery.ACCEPTED
    assert second.remote_state == proton.Delivery.MODIFIED
    assert second.remote.failed
    theirs.drained()
    peer.run()
    assert peer.ours.last(Flowed).link.credit == 0
    link.detach()
    session.end()
    peer.ours.connection.close()
    peer.run()
    theirs.close()
    peer.connection.close()
    peer.run()
    assert peer.ours.of(Closed) == [Closed(None)]
