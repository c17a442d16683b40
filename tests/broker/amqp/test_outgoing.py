"""Messages that clients receive: which, when, and what becomes of them."""

import pytest

from broker.amqp.amqp_clients import body, text
from heliograph.amqp import Accepted, Error, Flowed, Modified, Rejected, Released, Settled, Source
from heliograph.amqp.codec.performatives import ReceiverSettleMode, SenderSettleMode
from heliograph.amqp.codec.values import Described, Symbol, ULong
from heliograph.amqp.messages.message import decode_message
from heliograph.broker.amqp.peer import AmqpPeer
from heliograph.broker.queues.entry import Entry

SELECTOR = 0x0000468C00000004
DEAD = "SYSTEM.DEAD.LETTER.QUEUE"


def selecting(condition, descriptor=None):
    """A source of the queue q with a selector."""
    described = Described(descriptor or ULong(SELECTOR), condition)
    return Source("q", filter={Symbol("jms-selector"): described})


def fill(client, *contents, **fields):
    link = client.sender("q")
    client.send(link, *[text(content, **fields) for content in contents])
    return link


def test_messages_come_in_order_as_far_as_there_is_credit(scene, client):
    fill(client, "a", "b", "c")
    link = client.receiver("q", credit=2)
    assert client.bodies(link) == ["a", "b"]
    link.flow(5)
    assert client.bodies(link) == ["c"]


def test_what_comes_later_is_sent_at_once(scene, client):
    link = client.receiver("q")
    fill(client, "a")
    assert client.bodies(link) == ["a"]


def test_a_persistent_message_is_sent_when_it_is_safe(scene, client):
    link = client.receiver("q")
    sender = client.sender("q")
    with scene.held():
        sender.send([text("a", durable=True)])
        assert client.bodies(link) == []
    assert client.bodies(link) == ["a"]


def test_an_accepted_message_is_gone(scene, client, queue):
    fill(client, "a", "b")
    link = client.receiver("q")
    first, last = client.messages(link)
    link.settle(first.number, last.number, Accepted())
    scene.run()
    assert queue.depth == 0


def test_a_released_message_comes_again_as_if_it_had_not_come(scene, client, queue):
    fill(client, "a")
    link = client.receiver("q", credit=1)
    (delivery,) = client.messages(link)
    link.settle(delivery.number, delivery.number, Released())
    link.flow(1)
    (again,) = client.messages(link)
    assert decode_message(again.payload).delivery_count == 0


def test_a_message_whose_delivery_failed_says_so_when_it_comes_again(scene, client):
    fill(client, "a")
    link = client.receiver("q", credit=1)
    (delivery,) = client.messages(link)
    link.settle(delivery.number, delivery.number, Modified(delivery_failed=True))
    link.flow(1)
    (again,) = client.messages(link)
    assert decode_message(again.payload).delivery_count == 1
    assert body(again.payload) == "a"


def test_what_is_undeliverable_here_goes_to_somebody_else(scene, client):
    fill(client, "a")
    link = client.receiver("q", credit=1)
    (delivery,) = client.messages(link)
    link.settle(delivery.number, delivery.number, Modified(delivery_failed=True, undeliverable_here=True))
    link.flow(1)
    assert client.bodies(link) == []
    assert client.bodies(client.receiver("q")) == ["a"]


def test_a_rejected_message_is_a_dead_letter_with_the_reason(scene, client):
    fill(client, "a")
    link = client.receiver("q")
    (delivery,) = client.messages(link)
    link.settle(delivery.number, delivery.number, Rejected(Error("amqp:decode-error", "cannot read it")))
    dead = client.receiver(DEAD)
    (letter,) = client.messages(dead)
    assert body(letter.payload) == "a"
    reason = decode_message(letter.payload).message_annotations["x-opt-dead-letter-reason"]
    assert "cannot read it" in reason


def test_dispositions_may_come_in_any_order_and_in_ranges(scene, client, queue):
    fill(client, *"abcdef")
    link = client.receiver("q", credit=6)
    numbers = [delivery.number for delivery in client.messages(link)]
    link.settle(numbers[4], numbers[5], Accepted())
    scene.run()
    link.settle(numbers[0], numbers[2], Accepted())
    scene.run()
    assert queue.depth == 1
    link.settle(numbers[3], numbers[3], Released())
    link.flow(1)
    assert client.bodies(link) == ["d"]


def test_settled_without_a_word_is_the_default_outcome(scene, client):
    fill(client, "a")
    link = client.receiver(Source("q", default_outcome=Modified(delivery_failed=True)), credit=1)
    (delivery,) = client.messages(link)
    link.settle(delivery.number, delivery.number, None)
    link.flow(1)
    (again,) = client.messages(link)
    assert decode_message(again.payload).delivery_count == 1


# The end of a link


def test_what_was_not_settled_goes_back_when_the_link_is_detached(scene, client, queue):
    fill(client, "a", "b")
    link = client.receiver("q")
    client.messages(link)
    link.detach()
    scene.run()
    again = client.messages(client.receiver("q"))
    assert [(body(m.payload), decode_message(m.payload).delivery_count) for m in again] == [("a", 0), ("b", 0)]


def test_when_the_link_goes_its_default_outcome_counts(scene, client):
    fill(client, "a")
    link = client.receiver(Source("q", default_outcome=Modified(delivery_failed=True)))
    client.messages(link)
    link.detach()
    (again,) = client.messages(client.receiver("q"))
    assert decode_message(again.payload).delivery_count == 1


def test_a_client_that_closes_its_connection_gives_back_without_a_count_whatever_its_default_outcome(scene, client):
    fill(client, "a")
    other = scene.amqp("other")
    other.messages(other.receiver(Source("q", default_outcome=Modified(delivery_failed=True))))
    other.engine.close()
    (again,) = client.messages(client.receiver("q"))
    assert decode_message(again.payload).delivery_count == 0


@pytest.mark.parametrize("end", ["connection", "session", "lost"])
def test_what_a_client_has_only_fetched_ahead_has_not_failed_with_it(scene, client, queue, end):
    fill(client, "a", "b", "c")
    other = scene.amqp("other")
    link = other.receiver(Source("q", default_outcome=Released()))
    first, second, _ = other.messages(link)
    link.begun(first.number, second.number)
    scene.run()
    {"connection": other.engine.close, "session": link.session.end, "lost": other.lose}[end]()
    again = [decode_message(delivery.payload) for delivery in client.messages(client.receiver("q"))]
    assert [(message.body.value, message.delivery_count) for message in again] == [("a", 1), ("b", 1), ("c", 0)]


def test_what_a_lost_client_had_gets_one_more_chance_than_the_threshold(scene, client):
    """It may have had others in hand that killed it."""
    queue = scene.queue("q2", backout_threshold=1)
    client.send(client.sender("q2"), text("a"))
    for turn in range(2):
        assert queue.depth == 1
        other = scene.amqp(f"other{turn}")
        assert len(other.messages(other.receiver("q2"))) == 1
        other.lose()
    assert queue.depth == 0


def test_a_lost_connection_is_a_failed_delivery(scene, client):
    other = scene.amqp("other")
    fill(client, "a")
    other.messages(other.receiver("q"))
    other.lose()
    (again,) = client.messages(client.receiver("q"))
    assert decode_message(again.payload).delivery_count == 1


def test_the_end_of_a_session_is_the_end_of_its_links(scene, client, queue):
    fill(client, "a")
    session = client.engine.begin()
    client.messages(client.receiver("q", session=session))
    session.end()
    scene.run()
    assert queue.in_flight == 0
    assert client.bodies(client.receiver("q")) == ["a"]


@pytest.mark.parametrize("end", ["link", "session", "connection"])
def test_a_client_may_give_credit_and_leave_in_one_breath(scene, client, queue, end):
    fill(client, "a")
    link = client.receiver("q", credit=0)
    link.flow(10)
    {"link": link.detach, "session": client.session.end, "connection": client.engine.close}[end]()
    scene.run()
    assert (queue.depth, queue.in_flight) == (1, 0)


def test_a_deleted_queue_detaches_its_consumers(scene, client):
    link = client.receiver("q")
    scene.broker.queues.delete("q")
    scene.run()
    assert client.refusal(link).condition == "amqp:resource-deleted"


def test_there_is_no_link_from_a_queue_that_is_not_there(scene, client):
    assert client.refusal(client.receiver("nowhere")).condition == "amqp:not-found"


def test_an_exclusive_queue_has_one_consumer(scene):
    scene.queue("q", exclusive=True)
    client = scene.amqp()
    client.receiver("q")
    assert client.refusal(client.receiver("q")).condition == "amqp:resource-locked"


def test_a_source_needs_an_address(scene, client):
    assert client.refusal(client.receiver(Source())).condition == "amqp:invalid-field"


# Settling before, after, or never


def test_a_client_that_wants_no_answers_gets_settled_messages(scene, client, queue):
    fill(client, "a")
    link = client.receiver("q", snd_settle_mode=SenderSettleMode.SETTLED)
    (delivery,) = client.messages(link)
    assert delivery.settled
    assert queue.depth == 0


def test_a_receiver_that_settles_second_is_told_when_it_is_safe(scene, client, queue):
    fill(client, "a", durable=True)
    link = client.receiver("q", rcv_settle_mode=ReceiverSettleMode.SECOND)
    (delivery,) = client.messages(link)
    link.settle(delivery.number, delivery.number, Accepted())
    (settled,) = client.take(Settled)[-1:]
    assert (settled.first, settled.state, settled.settled) == (delivery.number, Accepted(), True)
    assert queue.depth == 0


# Draining


def test_draining_brings_what_there_is_and_takes_back_the_rest_of_the_credit(scene, client):
    fill(client, "a", "b")
    link = client.receiver("q", credit=0)
    link.flow(10, drain=True)
    assert client.bodies(link) == ["a", "b"]
    assert client.take(Flowed)
    assert link.credit == 0


def test_draining_an_empty_queue_takes_back_all_credit(scene, client):
    link = client.receiver("q")
    link.flow(1000, drain=True)
    scene.run()
    assert link.credit == 0
    fill(client, "late")
    assert client.bodies(link) == []
    link.flow(1)
    assert client.bodies(link) == ["late"]


# Selectors and browsers


@pytest.mark.parametrize("descriptor", [ULong(SELECTOR), Symbol("apache.org:selector-filter:string")])
def test_a_selector_chooses(scene, client, queue, descriptor):
    sender = client.sender("q")
    client.send(sender, *[text(colour, application_properties={"colour": colour}) for colour in ("red", "blue", "red")])
    link = client.receiver(selecting("colour = 'blue'", descriptor))
    assert client.bodies(link) == ["blue"]
    assert list(link.source.filter) == ["jms-selector"]


def test_a_selector_that_cannot_be_understood_is_refused(scene, client):
    assert client.refusal(client.receiver(selecting("colour ==== 3"))).condition == "amqp:invalid-field"


def test_a_filter_that_is_not_known_is_not_repeated(scene, client):
    link = client.receiver(Source("q", filter={Symbol("unknown"): Described(Symbol("x:y"), "z")}))
    assert not link.source.filter
    assert not link.gone


def test_who_waits_for_a_correlation_id_gets_the_answer(scene, client):
    link = client.receiver(selecting("JMSCorrelationID = 'me'"))
    sender = client.sender("q")
    client.send(sender, text("yours", correlation_id="you"), text("mine", correlation_id="me"))
    assert client.bodies(link) == ["mine"]
    assert link.source.filter


def test_who_comes_late_for_a_correlation_id_gets_the_answer_too(scene, client):
    sender = client.sender("q")
    client.send(sender, *[text(str(number), correlation_id=f"id-{number}") for number in range(100)])
    assert client.bodies(client.receiver(selecting("JMSCorrelationID = 'id-70'"))) == ["70"]


def test_a_correlation_id_may_be_no_string(scene, client):
    link = client.receiver(selecting("JMSCorrelationID = 'ID:AMQP_ULONG:7'"))
    client.send(client.sender("q"), text("seven", correlation_id=ULong(7)), text("7", correlation_id="7"))
    assert client.bodies(link) == ["seven"]


def test_a_browser_sees_all_and_takes_nothing(scene, client, queue):
    fill(client, "a", "b")
    link = client.receiver(Source("q", distribution_mode="copy"), snd_settle_mode=SenderSettleMode.SETTLED, credit=0)
    link.flow(10, drain=True)
    assert client.bodies(link) == ["a", "b"]
    assert link.credit == 0
    assert queue.depth == 2
    assert client.bodies(client.receiver("q")) == ["a", "b"]


def test_what_a_browser_says_of_messages_does_not_matter(scene, client, queue):
    fill(client, "a")
    link = client.receiver(Source("q", distribution_mode="copy"))
    (delivery,) = client.messages(link)
    link.settle(delivery.number, delivery.number, Accepted())
    scene.run()
    assert queue.depth == 1


# Time, and clients that are slow


def test_the_time_that_a_message_has_left_runs_down(scene, client):
    fill(client, "a", ttl=5000)
    scene.pass_time(2)
    (delivery,) = client.messages(client.receiver("q"))
    assert decode_message(delivery.payload).ttl == 3000


def test_an_expired_message_does_not_come(scene, client):
    fill(client, "a", ttl=1000)
    scene.pass_time(2)
    assert client.bodies(client.receiver("q")) == []


def test_a_client_that_does_not_read_gets_no_more(scene, client, queue):
    link = client.receiver("q")
    client.connection.pause()
    fill(client, "a")
    assert client.bodies(link) == []
    client.connection.resume()
    assert client.bodies(link) == ["a"]


def test_a_slow_client_that_drains_gets_everything_before_it_is_told_that_there_is_no_more(scene, client):
    link = client.receiver("q", credit=0)
    fill(client, "a")
    client.connection.pause()
    link.flow(5, drain=True)
    scene.run()
    assert link.credit == 5
    client.connection.resume()
    assert client.bodies(link) == ["a"]
    assert link.credit == 0


def test_no_more_is_taken_out_of_a_queue_than_can_be_written(scene, client, queue):
    scene.broker.queues.alter("q", max_message_length=1 << 20)
    fill(client, *["x" * 500_000] * 10)
    slow = scene.amqp("slow")
    slow.receiver("q", credit=0)
    slow.reads = False
    slow.session.links[0].flow(10)
    scene.run()
    assert 1 <= queue.in_flight <= 5
    slow.reads = True
    scene.run()
    assert queue.in_flight == 10


def test_a_message_larger_than_a_frame_comes_whole(scene, client):
    fill(client, "x" * 1_000_000)
    assert client.bodies(client.receiver("q")) == ["x" * 1_000_000]


@pytest.mark.parametrize("end", ["connection", "session", "link"])
def test_what_is_accepted_right_before_the_end_is_gone_though_both_come_in_one_read(scene, client, end):
    fill(client, "a", "b", "c")
    link = client.receiver()
    assert len(client.messages(link)) == 3
    link.settle(0, 2, Accepted())
    client.engine.flush()
    {"connection": client.engine.close, "session": link.session.end, "link": link.detach}[end]()
    scene.run()
    other = scene.amqp("other")
    assert other.bodies(other.receiver()) == []


# What goes wrong


def spoil(monkeypatch, which):
    """Messages with this text cannot be encoded."""
    whole = Entry.outgoing

    def outgoing(entry, now):
        if which in entry.payload:
            raise ValueError(which)
        return whole(entry, now)

    monkeypatch.setattr(Entry, "outgoing", outgoing)


@pytest.mark.parametrize("others", [True, False])
def test_a_message_that_cannot_be_encoded_is_a_dead_letter_and_others_go_on(
    scene, client, queue, monkeypatch, failures, others
):
    scene.broker.defects._journal = failures
    spoil(monkeypatch, b"odd")
    sender = client.sender("q")
    client.send(sender, text("odd"), *([text("a"), text("b")] if others else []))
    link = client.receiver("q")
    assert client.bodies(link) == (["a", "b"] if others else [])
    assert [what for what, _ in failures.seen] == ["a message of queue q could not be encoded"]
    assert scene.broker.defects.culprits == []
    assert scene.broker.queues.find(DEAD).depth == 1


def test_a_browser_leaves_out_what_cannot_be_encoded(scene, client, queue, monkeypatch, failures):
    scene.broker.defects._journal = failures
    spoil(monkeypatch, b"odd")
    client.send(client.sender("q"), text("odd"), text("a"))
    link = client.receiver(Source("q", distribution_mode="copy"))
    assert client.bodies(link) == ["a"]
    assert queue.depth == 2


def test_a_link_that_cannot_send_is_blamed_on_its_client(scene, client, queue, monkeypatch, failures):
    scene.broker.defects._journal = failures
    link = client.receiver()
    monkeypatch.setattr(AmqpPeer, "sent", lambda *_: 1 / 0)
    sender = scene.amqp("sender")
    sender.send(sender.sender("q"), text("a"))
    assert [what for what, _ in failures.seen] == ["messages could not be sent"]
    assert scene.broker.defects.culprits == [client.outlet]
    assert (queue.depth, queue.in_flight, len(queue.consumers)) == (1, 0, 0)
    assert link is not None


def test_very_many_are_settled_bit_by_bit_and_then_answered(scene, client, queue):
    number = 3000
    queue.put([text(str(n)) for n in range(number)])
    link = client.receiver(credit=number)
    deliveries = client.messages(link)
    assert len(deliveries) == number
    link.settle(deliveries[0].number, deliveries[-1].number, Accepted())
    scene.run()
    scene.run_slices()
    scene.run()
    assert (queue.depth, queue.in_flight) == (0, 0)
