"""Links from attach to detach, as two engines and as raw frames."""

import pytest

from amqp.pair import Linked, Pair
from amqp.raw import attach_receiver, attach_sender, begun, sending
from heliograph.amqp import (
    Accepted,
    Attached,
    Begun,
    Coordinator,
    Detached,
    Error,
    Opened,
    Sender,
    Source,
    Target,
    Transfers,
)
from heliograph.amqp.codec.encoding import encode
from heliograph.amqp.codec.frames import amqp_frame
from heliograph.amqp.codec.performatives import (
    Attach,
    Detach,
    Durability,
    ReceiverSettleMode,
    SenderSettleMode,
    Transfer,
)
from heliograph.amqp.codec.values import Described, ULong


def test_delivery_counts_wrap():
    pair = Linked()
    pair.producer.delivery_count = pair.consumer.delivery_count = (1 << 32) - 2
    pair.consumer.flow(5)
    pair.run()
    assert pair.producer.credit == 5
    pair.producer.send([b"x"] * 4)
    pair.run()
    pair.consumer.flow(5, drain=True)
    pair.run()
    pair.producer.drained()
    pair.run()
    assert pair.consumer.credit == 0
    assert pair.consumer.delivery_count == pair.producer.delivery_count == 7


@pytest.mark.parametrize("call", ["send", "drained", "offer", "settle", "flow", "settle_receiver"])
def test_calls_on_a_link_that_the_peer_has_left_do_nothing(call):
    pair = Linked()
    pair.give_credit(5)
    pair.server.answers[Detached] = lambda _: None
    pair.sender.detach()
    pair.consumer.detach()
    pair.run()
    {
        "send": lambda: pair.producer.send([b"x"] * 100),
        "drained": pair.producer.drained,
        "offer": lambda: pair.producer.offer(1),
        "settle": lambda: pair.producer.settle(0, 5, Accepted()),
        "flow": lambda: pair.receiver.flow(5),
        "settle_receiver": lambda: pair.receiver.settle(0, 5, Accepted()),
    }[call]()
    assert pair.server.take_output() == b""


def test_attach_carries_termini_modes_properties_and_capabilities():
    pair = Pair()
    pair.server.answers[Attached] = lambda event: event.link.accept(
        source=Source("q", filter={"jms-selector": Described(ULong(4), "a = 1")}),
        properties={"answer": 42},
        offered_capabilities=("SHARED-SUBS",),
    )
    pair.client.connection.open()
    source = Source("q", Durability.UNSETTLED_STATE, "never", distribution_mode="copy", capabilities=("topic",))
    link = pair.client.connection.begin().attach_receiver(
        "sub",
        source,
        snd_settle_mode=SenderSettleMode.UNSETTLED,
        rcv_settle_mode=ReceiverSettleMode.SECOND,
        max_message_size=1000,
        properties={"question": "?"},
        desired_capabilities=("SHARED-SUBS",),
    )
    pair.run()
    theirs = pair.server.last(Attached).link
    assert isinstance(theirs, Sender)
    assert theirs.remote.source == source
    assert (theirs.snd_settle_mode, theirs.rcv_settle_mode) == (0, 1)
    assert (theirs.remote.max_message_size, theirs.properties) == (1000, {"question": "?"})
    assert theirs.remote.desired_capabilities == ("SHARED-SUBS",)
    assert link.source.filter == {"jms-selector": Described(ULong(4), "a = 1")}
    assert link.properties == {"answer": 42}
    assert link.remote.offered_capabilities == ("SHARED-SUBS",)


def test_a_dynamic_target_gets_its_address_in_the_answer():
    pair = Pair()
    pair.server.answers[Attached] = lambda event: event.link.accept(target=Target("temp-1", dynamic=True))
    pair.client.connection.open()
    link = pair.client.connection.begin().attach_sender("temp", Target(dynamic=True))
    pair.run()
    assert pair.server.last(Attached).link.remote.target.dynamic
    assert link.target.address == "temp-1"


def test_a_coordinator_is_a_target():
    pair = Pair()
    pair.client.connection.open()
    pair.client.connection.begin().attach_sender("txn", Coordinator(("amqp:local-transactions",)))
    pair.run()
    assert pair.server.last(Attached).link.target == Coordinator(("amqp:local-transactions",))


def test_a_refused_link_has_no_terminus_and_then_the_error():
    pair = Pair()
    error = Error("amqp:not-found", "no such queue")
    pair.server.answers[Attached] = lambda event: event.link.refuse(error)
    pair.client.connection.open()
    session = pair.client.connection.begin()
    sender = session.attach_sender("to", Target("q"))
    receiver = session.attach_receiver("from", Source("q"))
    pair.run()
    assert sender.target is None
    assert receiver.source is None
    assert pair.client.of(Detached) == [Detached(sender, True, error), Detached(receiver, True, error)]
    assert not session.links


def test_a_null_source_asks_what_is_behind_a_name():
    pair = Pair()
    pair.server.answers[Attached] = lambda event: event.link.accept(source=Source("stored"))
    pair.client.connection.open()
    link = pair.client.connection.begin().attach_receiver("sub", None)
    pair.run()
    assert pair.server.last(Attached).link.remote.source is None
    assert link.source == Source("stored")


def test_a_link_may_be_accepted_later_with_the_credit_that_came_meanwhile():
    pair = Pair()
    pair.server.answers[Attached] = lambda _: None
    pair.client.connection.open()
    pair.client.connection.begin().attach_receiver("from", Source("q")).flow(5)
    pair.run()
    link = pair.server.last(Attached).link
    assert (link.credit, link.accepted) == (5, False)
    link.accept()
    link.send([b"a"])
    pair.run()
    assert pair.client.payloads() == [b"a"]


def test_a_link_that_is_left_before_it_was_accepted_is_gone():
    pair = Pair()
    pair.server.answers[Attached] = lambda _: None
    pair.client.connection.open()
    session = pair.client.connection.begin()
    link = session.attach_receiver("from", Source("q"))
    link.detach()
    pair.run()
    theirs = pair.server.last(Detached).link
    assert theirs.gone
    theirs.accept()
    pair.run()
    assert [type(event) for event in pair.client.events] == [Opened, Begun, Detached]
    session.attach_receiver("from", Source("q"))
    pair.run()
    assert len(pair.server.of(Attached)) == 2


@pytest.mark.parametrize("closed", [True, False])
def test_detach_is_told_apart_from_close_and_the_link_may_come_back(closed):
    pair = Linked()
    for _ in range(5):
        pair.sender.detach(closed=closed)
        pair.run()
        assert pair.server.last(Detached).closed is closed
        assert pair.client.last(Detached).closed is closed
        pair.sender = pair.session.attach_sender("to", Target("q"))
        pair.run()
        assert pair.server.last(Attached).link.name == "to"
    assert len(pair.session.links) == 2
    assert pair.sender.handle == 0


def test_a_server_answers_a_detach_when_it_is_ready():
    pair = Linked()
    pair.server.answers[Detached] = lambda _: None
    pair.sender.detach()
    pair.run()
    assert not pair.client.of(Detached)
    pair.receiver.detach()
    pair.run()
    assert pair.client.of(Detached) == [Detached(pair.sender, True, None)]


def test_a_link_of_the_same_name_takes_the_place_of_the_old_one():
    pair = Linked()
    other = pair.client.connection.begin()
    del pair.client.connection.names["to", False]  # a client that forgot its link
    again = other.attach_sender("to", Target("q"))
    pair.run()
    stolen = Error("amqp:link:stolen", "the link 'to' was attached again")
    assert Detached(pair.receiver, False, stolen) in pair.server.events
    assert Detached(pair.sender, False, stolen) in pair.client.events
    assert pair.server.last(Attached).link.name == "to"
    assert again.remote is not None
    assert not again.gone
    assert len(pair.server.of(Detached)) == 1


def test_unsettled_state_of_an_earlier_link_is_answered_with_an_empty_map():
    raw = begun()
    raw.send(attach_sender(unsettled={b"t": None}, incomplete_unsettled=True))
    (answer,) = raw.of(Attach)
    assert answer.unsettled == {}
    assert answer.incomplete_unsettled is False
    raw.send(attach_receiver(handle=1))
    assert raw.of(Attach)[1].unsettled is None


def test_a_link_name_attached_again_is_stolen():
    raw, link = sending()
    raw.send(attach_sender(handle=1))
    assert raw.detached() == "amqp:link:stolen"
    (again,) = [event.link for event in raw.side.of(Attached) if event.link is not link]
    again.flow(1)
    raw.send(Detach(0), Transfer(1, 0, b"t"), payload=b"x")
    assert raw.side.last(Transfers).link is again
    assert len(raw.side.of(Detached)) == 1


def test_an_attach_with_a_terminus_of_another_kind_closes_the_connection():
    raw = begun()
    broken = Described(ULong(0x12), ["n", encode(0), False])
    raw.feed(amqp_frame(0, encode(broken)))
    assert raw.closed() == "amqp:invalid-field"


def test_a_source_with_an_address_that_is_no_text_is_passed_on():
    raw = begun()
    raw.send(Attach("n", 0, True, source=Source(address=5), target=Target()))  # type: ignore[arg-type]
    assert raw.side.last(Attached).link.source.address == 5
