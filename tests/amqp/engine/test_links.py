"""Sessions and links between two engines: what each side sees when nobody breaks the rules."""

import pytest

from amqp.pair import Linked, Pair
from heliograph.amqp import (
    Attached,
    Begun,
    Closed,
    Coordinator,
    Credentials,
    Detached,
    Ended,
    Error,
    Opened,
    Options,
    Sender,
    Source,
    Target,
    Transfers,
)
from heliograph.amqp.codec.performatives import Durability, ReceiverSettleMode, SenderSettleMode
from heliograph.amqp.codec.values import Described, ULong
from heliograph.errors import Problem


def payloads(side):
    return [one.payload for event in side.of(Transfers) for one in event.deliveries]


def test_open_carries_what_each_side_says_of_itself():
    pair = Pair(
        Options(
            "client",
            hostname="vhost",
            desired_capabilities=("a", "b"),
            properties={"product": "x"},
            credentials=Credentials("ANONYMOUS"),
        ),
        Options("server", offered_capabilities=("a",), max_frame_size=4096, channel_max=3, idle_timeout=10_000),
    )
    pair.client.connection.open()
    pair.run()
    seen = pair.server.last(Opened).open
    assert (seen.hostname, seen.desired_capabilities, seen.properties) == ("vhost", ("a", "b"), {"product": "x"})
    answer = pair.client.last(Opened).open
    assert (answer.offered_capabilities, answer.max_frame_size, answer.channel_max) == (("a",), 4096, 3)
    assert answer.idle_time_out == 5000


def test_a_server_may_answer_an_open_with_properties_of_its_own():
    pair = Pair()
    pair.server.answers[Opened] = lambda _: pair.server.connection.open(
        properties={"k": 1}, offered_capabilities=("z",)
    )
    pair.client.connection.open()
    pair.run()
    answer = pair.client.last(Opened).open
    assert (answer.properties, answer.offered_capabilities) == ({"k": 1}, ("z",))


def test_a_server_may_answer_an_open_late_and_everything_else_waits_for_it():
    pair = Pair()
    pair.server.answers[Opened] = lambda _: None
    pair.client.connection.open()
    pair.client.connection.begin().attach_sender("to", Target("q"))
    pair.run()
    assert not pair.client.events
    pair.server.connection.open()
    pair.run()
    assert [type(event) for event in pair.client.events] == [Opened, Begun, Attached]


def test_a_refused_connection_is_opened_with_a_hint_and_closed():
    pair = Pair()
    redirect = Error("amqp:connection:redirect", None, {"network-host": "elsewhere", "port": 5672})
    pair.server.answers[Opened] = lambda _: pair.server.connection.close(redirect)
    pair.client.connection.open()
    pair.client.connection.begin()
    pair.run()
    assert pair.client.last(Opened).open.properties == {"amqp:connection-establishment-failed": True}
    assert pair.client.last(Closed).error == redirect
    assert pair.server.of(Closed) == [Closed(None)]


def test_closing_is_answered_and_ends_everything():
    pair = Linked()
    pair.client.connection.close(Error("amqp:connection:forced", "bye"))
    pair.run()
    assert pair.server.last(Closed).error == Error("amqp:connection:forced", "bye")
    assert pair.client.last(Closed).error is None
    for link in (pair.sender, pair.receiver, pair.consumer, pair.producer):
        assert link.gone
    pair.sender.send([b"into the void"])
    pair.session.end()
    pair.sender.detach()
    assert not pair.client.take_output()


def test_many_sessions_and_links():
    pair = Pair()
    pair.client.connection.open()
    sessions = [pair.client.connection.begin() for _ in range(20)]
    links = [session.attach_sender(f"{n}-{k}", Target("q")) for n, session in enumerate(sessions) for k in range(10)]
    pair.run()
    theirs = [event.link for event in pair.server.of(Attached)]
    assert len(theirs) == len(links) == 200
    for link in theirs:
        link.flow(1)
    pair.run()
    for link in links:
        link.send([link.name.encode()])
    pair.run()
    assert sorted(payloads(pair.server)) == sorted(link.name.encode() for link in links)
    for event in pair.server.of(Transfers):
        assert event.deliveries[0].payload == event.link.name.encode()


def test_ended_sessions_give_their_channels_back():
    pair = Pair(server=Options("server", channel_max=1))
    pair.client.connection.open()
    pair.run()
    for _ in range(10):
        session = pair.client.connection.begin()
        session.attach_sender("to", Target("q"))
        pair.run()
        session.end(Error("x:y", "done"))
        pair.run()
        assert pair.client.last(Ended).session is session
        assert pair.server.last(Ended).error == Error("x:y", "done")
    assert not pair.server.connection.sessions
    assert not pair.server.connection.names


def test_a_client_cannot_begin_more_sessions_than_the_server_allows():
    pair = Pair(server=Options("server", channel_max=1))
    pair.client.connection.open()
    pair.run()
    pair.client.connection.begin()
    pair.client.connection.begin()
    with pytest.raises(Problem, match="2 sessions"):
        pair.client.connection.begin()


def test_a_client_cannot_attach_more_links_than_the_server_allows():
    pair = Pair(server=Options("server", handle_max=1))
    pair.client.connection.open()
    session = pair.client.connection.begin()
    pair.run()
    session.attach_sender("1", Target("q"))
    session.attach_sender("2", Target("q"))
    with pytest.raises(Problem, match="2 links"):
        session.attach_sender("3", Target("q"))


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
    assert payloads(pair.client) == [b"a"]


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
