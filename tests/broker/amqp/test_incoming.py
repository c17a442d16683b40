"""Messages that clients send: where they go, and what is said of them."""

from types import SimpleNamespace

from broker.amqp.amqp_clients import text
from heliograph.amqp import Accepted, Delivery, Rejected, Target
from heliograph.amqp.codec.performatives import ReceiverSettleMode
from heliograph.broker.amqp.incoming import CREDIT


def conditions(outcomes):
    """What outcomes say, in short."""
    return [o.error.condition if isinstance(o, Rejected) else type(o).__name__ for o in outcomes]


def test_a_message_for_a_queue_is_in_it_and_accepted(scene):
    queue = scene.queue("q")
    client = scene.amqp()
    assert client.send(client.sender("q"), text("hello")) == [Accepted()]
    assert queue.depth == 1


def test_a_run_is_accepted_as_a_run(scene):
    scene.queue("q")
    client = scene.amqp()
    link = client.sender("q")
    assert client.send(link, *[text(str(n)) for n in range(100)]) == [Accepted()] * 100


def test_an_alias_is_as_good_as_the_queue(scene):
    queue = scene.queue("q")
    scene.queue("other", kind="alias", target="q")
    client = scene.amqp()
    client.send(client.sender("queue://other"), text("hello"))
    assert queue.depth == 1


def test_there_is_no_link_to_a_queue_that_is_not_there(scene):
    client = scene.amqp()
    link = client.sender("nowhere")
    assert client.refusal(link).condition == "amqp:not-found"


def test_a_persistent_message_is_accepted_when_it_is_safe(scene):
    scene.queue("q")
    client = scene.amqp()
    link = client.sender("q")
    with scene.held():
        numbers = link.send([text("a", durable=True)])
        assert client.outcomes(link, numbers) == []
    assert client.outcomes(link, numbers) == [Accepted()]


def test_another_message_is_accepted_at_once(scene):
    scene.queue("q")
    client = scene.amqp()
    link = client.sender("q")
    with scene.held():
        numbers = link.send([text("a")])
        client.exchange()
        client.connection.flush()
        client.exchange()
        assert client.outcomes(link, numbers) == [Accepted()]


def test_nobody_is_told_of_messages_that_were_settled_when_they_came(scene):
    queue = scene.queue("q")
    client = scene.amqp()
    assert client.send(client.sender("q"), text("a"), settled=True) == []
    assert queue.depth == 1


def test_settled_and_unsettled_messages_may_take_turns(scene):
    queue = scene.queue("q")
    client = scene.amqp()
    link = client.sender("q")
    first = link.send([text("a")])
    link.send([text("b")], settled=True)
    last = link.send([text("c")])
    assert client.outcomes(link, [*first, *last]) == [Accepted(), Accepted()]
    assert queue.depth == 3


def test_numbers_may_have_gaps_where_deliveries_were_given_up(scene):
    queue = scene.queue("q")
    client = scene.amqp()
    link = client.sender("q")
    scene.run()
    incoming = next(iter(client.connection.links)).context
    settled = []
    incoming.link = SimpleNamespace(credit=CREDIT, settle=lambda *answer: settled.append(answer))
    incoming.take([Delivery(number, b"", text("x"), False, None, 0) for number in (4, 5, 7)])
    assert [(first, last) for first, last, _ in settled] == [(4, 5), (7, 7)]
    assert (queue.depth, link.gone) == (3, False)


def test_a_full_queue_rejects_what_it_has_no_room_for(scene):
    scene.queue("q", max_depth=2)
    client = scene.amqp()
    outcomes = client.send(client.sender("q"), *[text(str(n)) for n in range(4)])
    assert conditions(outcomes) == ["Accepted", "Accepted"] + ["amqp:resource-limit-exceeded"] * 2


def test_a_queue_that_takes_no_puts_rejects_them(scene):
    scene.queue("q", put_enabled=False)
    client = scene.amqp()
    assert conditions(client.send(client.sender("q"), text("a"))) == ["amqp:not-allowed"]


def test_a_message_longer_than_the_queue_takes_ends_the_link(scene):
    scene.queue("q", max_message_length=1000)
    client = scene.amqp()
    link = client.sender("q")
    assert link.remote.max_message_size == 1000
    client.send(link, text("x" * 2000))
    assert client.refusal(link).condition == "amqp:link:message-size-exceeded"


def test_a_message_to_a_queue_that_was_deleted_is_rejected(scene):
    scene.queue("q")
    client = scene.amqp()
    link = client.sender("q")
    scene.broker.queues.delete("q")
    assert conditions(client.send(link, text("a"))) == ["amqp:resource-deleted"]


def test_what_is_no_message_is_rejected(scene):
    scene.queue("q")
    client = scene.amqp()
    outcomes = client.send(client.sender("q"), text("a"), b"\x00\x53\x70no list", text("b"))
    assert conditions(outcomes) == ["Accepted", "amqp:decode-error", "Accepted"]


def test_credit_is_given_again_when_half_of_it_is_used(scene):
    scene.queue("q", max_depth=100_000)
    client = scene.amqp()
    link = client.sender("q")
    assert link.credit == CREDIT
    client.send(link, *[text("x")] * (CREDIT // 2 - 1))
    assert link.credit == CREDIT // 2 + 1
    client.send(link, text("x"))
    assert link.credit == CREDIT


def test_the_server_settles_first_whatever_the_client_asks_for(scene):
    scene.queue("q")
    client = scene.amqp()
    link = client.sender("q", rcv_settle_mode=ReceiverSettleMode.SECOND)
    assert link.rcv_settle_mode is ReceiverSettleMode.FIRST
    assert client.send(link, text("a")) == [Accepted()]


def test_a_sending_link_needs_a_target(scene):
    client = scene.amqp()
    link = client.session.attach_sender("x", None)
    scene.run()
    assert client.refusal(link).condition == "amqp:invalid-field"


# Without an address, messages say themselves where they go


def test_messages_go_where_they_say(scene):
    first, second = scene.queue("a"), scene.queue("b")
    client = scene.amqp()
    link = client.sender(Target())
    to = ["a", "queue://a", "b", "nowhere", None, "b"]
    outcomes = client.send(link, *[text("x", to=address) for address in to])
    assert conditions(outcomes) == ["Accepted"] * 3 + ["amqp:not-found", "amqp:invalid-field", "Accepted"]
    assert (first.depth, second.depth) == (2, 2)


def test_a_persistent_message_on_its_own_way_is_safe_when_it_is_accepted(scene):
    scene.queue("q")
    client = scene.amqp()
    link = client.sender(Target())
    with scene.held():
        numbers = link.send([text("x", to="q", durable=True)])
        assert client.outcomes(link, numbers) == []
    assert client.outcomes(link, numbers) == [Accepted()]


def test_a_queue_that_was_made_again_is_found_again(scene):
    scene.queue("q")
    client = scene.amqp()
    link = client.sender(Target())
    client.send(link, text("x", to="q"))
    scene.broker.queues.delete("q")
    again = scene.queue("q")
    assert client.send(link, text("x", to="q")) == [Accepted()]
    assert again.depth == 1


def test_what_is_no_message_does_not_hold_up_those_that_go_elsewhere(scene):
    first, second = scene.queue("a"), scene.queue("b")
    client = scene.amqp()
    bad = b"\x00\x53\x70\xc0\x02\x01\x45" + text("x", to="b")
    outcomes = client.send(client.sender(Target()), text("x", to="a"), bad, text("x", to="b"))
    assert conditions(outcomes) == ["Accepted", "amqp:invalid-field", "Accepted"]
    assert (first.depth, second.depth) == (1, 1)
