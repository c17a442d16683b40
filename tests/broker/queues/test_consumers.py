"""Who gets what."""

import pytest

from broker.queue_scenes import Consumer, message, texts
from heliograph.broker.errors import UnsafeMessage
from heliograph.broker.queues import queue_storage
from heliograph.broker.queues.consumer import ACCEPTED, FAILED, RELEASED, UNDELIVERABLE_HERE
from heliograph.broker.queues.queue_storage import QueueStorage


class Counting:
    """A selector by subject that counts how often it is asked."""

    def __init__(self, subject):
        self.subject = subject
        self.asked = 0

    def __call__(self, view):
        self.asked += 1
        return view.fields[3] == self.subject


def test_consumers_share_messages_in_equal_parts(either):
    queue = either.queue()
    consumers = [either.consumer(queue) for _ in range(4)]
    either.put(queue, *map(str, range(100)))
    assert [len(consumer.entries) for consumer in consumers] == [25] * 4


def test_consumers_take_turns_when_messages_come_one_by_one(either):
    queue = either.queue()
    consumers = [either.consumer(queue) for _ in range(3)]
    for text in "abcdef":
        either.put(queue, text)
    assert [consumer.texts for consumer in consumers] == [["a", "d"], ["b", "e"], ["c", "f"]]


def test_what_one_consumer_has_no_credit_for_goes_to_the_others(either):
    queue = either.queue()
    poor, rich = either.consumer(queue, credit=1), either.consumer(queue)
    either.put(queue, *"abcdef")
    assert (len(poor.entries), len(rich.entries)) == (1, 5)


def test_an_exclusive_queue_takes_one_consumer(either):
    queue = either.queue(exclusive=True)
    first = either.consumer(queue)
    assert queue.add_consumer(Consumer()).condition == "amqp:resource-locked"
    assert queue.add_consumer(Consumer(browse=True)) is None
    queue.remove_consumer(first)
    assert queue.add_consumer(Consumer()) is None


def test_a_selector_chooses_and_the_rest_stays(either):
    queue = either.queue()
    either.put(queue, "a", subject="x")
    either.put(queue, "b", subject="y")
    either.put(queue, "c", subject="x")
    assert either.consumer(queue, selector=Counting("x")).texts == ["a", "c"]
    assert either.get(queue) == ["b"]


def test_a_selector_looks_at_each_message_once(either):
    queue = either.queue()
    either.put(queue, *map(str, range(1000)), subject="y")
    selector = Counting("x")
    consumer = either.consumer(queue, selector=selector)
    for _ in range(10):
        either.put(queue, "z", subject="x")
        queue.serve(consumer)
    assert len(consumer.entries) == 10
    assert selector.asked == 1010


def test_a_selector_looks_again_at_what_comes_back(either):
    queue = either.queue()
    either.put(queue, "a", "b", subject="x")
    greedy = either.consumer(queue)
    selective = either.consumer(queue, selector=Counting("x"))
    queue.remove_consumer(greedy)
    either.put(queue, "c", subject="x")
    queue.settle(greedy.entries, RELEASED)
    either.turn()
    assert selective.texts[-2:] == ["a", "b"]
    assert sorted(selective.texts) == ["a", "b", "c"]


def test_a_message_that_is_undeliverable_here_goes_to_another_consumer(either):
    queue = either.queue()
    one = either.consumer(queue)
    either.put(queue, "a", "b")
    queue.settle(one.forget(), UNDELIVERABLE_HERE, consumer=one)
    either.turn()
    assert one.texts == []
    other = either.consumer(queue)
    assert other.texts == ["a", "b"]
    either.put(queue, "c", "d")
    assert sorted(one.texts + other.texts) == ["a", "b", "c", "d"]


def test_a_browser_sees_every_message_once_and_takes_none(either):
    queue = either.queue()
    either.put(queue, "a", "b")
    browser = either.consumer(queue, browse=True)
    either.put(queue, "c")
    assert browser.texts == ["a", "b", "c"]
    assert either.get(queue) == ["a", "b", "c"]


def test_a_browser_goes_on_where_its_credit_ended(either):
    queue = either.queue()
    either.put(queue, *"abcd")
    browser = either.consumer(queue, browse=True, credit=1)
    browser.credit = 2
    queue.serve(browser)
    assert browser.texts == ["a", "b", "c"]


def test_a_browser_chooses_by_selector(either):
    queue = either.queue()
    either.put(queue, "a", subject="x")
    either.put(queue, "b", subject="y")
    assert either.consumer(queue, browse=True, selector=Counting("y")).texts == ["b"]
    assert [entry.message.fields[3] for entry in queue.browse(Counting("y"))] == ["y"]


def test_what_somebody_has_is_invisible_to_others(either):
    queue = either.queue()
    either.put(queue, "a", "b")
    either.consumer(queue, credit=1)
    assert [entry.place for entry in queue.browse()] == [1]


@pytest.mark.parametrize("fields", [{}, {"durable": True}])
def test_an_answer_is_found_by_its_correlation_id(either, fields):
    queue = either.queue()
    for number in range(5):
        either.put(queue, f"answer {number}", correlation_id=f"id{number}", **fields)
    consumer = either.consumer(queue, correlation_id="id3")
    assert consumer.texts == ["answer 3"]
    queue.settle(consumer.forget(), ACCEPTED)
    late = either.consumer(queue, correlation_id="id9")
    either.put(queue, "late", correlation_id="id9", **fields)
    assert late.texts == ["late"]
    assert either.get(queue) == ["answer 0", "answer 1", "answer 2", "answer 4"]


def test_those_who_wait_for_answers_get_their_own(either):
    queue = either.queue()
    consumers = [either.consumer(queue, correlation_id=f"id{number}") for number in range(5)]
    queue.put([message(f"answer {number}", correlation_id=f"id{number}") for number in (4, 2, 0)])
    either.turn()
    assert [consumer.texts for consumer in consumers] == [["answer 0"], [], ["answer 2"], [], ["answer 4"]]


def test_an_answer_that_comes_back_is_given_again(either):
    queue = either.queue()
    consumer = either.consumer(queue, correlation_id="id")
    either.put(queue, "answer", correlation_id="id")
    queue.settle(consumer.forget(), FAILED)
    either.turn()
    assert consumer.texts == ["answer"]


def test_a_consumer_that_settles_while_it_is_given_messages(either):
    queue = either.queue()

    class Hasty(Consumer):
        def deliver(self, entries):
            super().deliver(entries)
            queue.settle(entries, ACCEPTED)

    hasty = Hasty()
    queue.add_consumer(hasty)
    either.put(queue, *"abc", durable=True)
    assert hasty.texts == ["a", "b", "c"]
    assert queue.depth == 0


# What goes wrong


@pytest.fixture
def unreadable(durable, monkeypatch):
    """A queue of which nothing can be read back from the log until `mend` is called."""
    monkeypatch.setattr(queue_storage, "BUDGET", 0)
    durable.restart()
    monkeypatch.setattr(durable.broker.journal, "unreadable", lambda *_: None)
    queue = durable.queue()
    for text, subject in (("a", "x"), ("b", "y"), ("c", "x")):
        durable.put(queue, text, durable=True, subject=subject)

    def fail(self, reading, offset):
        raise UnsafeMessage("broken")

    context = pytest.MonkeyPatch()
    context.setattr(QueueStorage, "_read", fail)
    queue.mend = context.undo
    yield queue
    context.undo()


@pytest.mark.parametrize("options", [{"selector": Counting("x")}, {"browse": True}, {}])
def test_what_cannot_be_read_is_neither_given_nor_passed_over(durable, unreadable, options):
    got = []
    consumer = Consumer(**options)
    consumer.deliver = lambda entries: got.extend(texts(entries))  # payloads need not stay in memory
    unreadable.add_consumer(consumer)
    unreadable.serve(consumer)
    durable.turn()
    assert got == []
    assert (unreadable.depth, unreadable.in_flight) == (3, 0)
    unreadable.mend()
    unreadable.serve(consumer)
    assert got == (["a", "c"] if options.get("selector") else ["a", "b", "c"])


def test_what_has_come_back_and_cannot_be_read_is_looked_at_again(durable, unreadable):
    unreadable.mend()
    consumer = Consumer(selector=Counting("x"))
    unreadable.add_consumer(consumer)
    durable.turn()
    entries = consumer.forget()
    assert len(entries) == 2
    context = pytest.MonkeyPatch()

    def fail(self, reading, offset):
        raise UnsafeMessage("broken")

    context.setattr(QueueStorage, "_read", fail)
    unreadable.settle(entries, RELEASED)
    durable.turn()
    assert consumer.texts == []
    context.undo()
    unreadable.serve(consumer)
    assert consumer.texts == ["a", "c"]


class Broken(Consumer):
    """Cannot send anything."""

    def deliver(self, entries):
        raise RuntimeError

    def failed(self):
        self.has_failed = True


@pytest.mark.parametrize("options", [{}, {"browse": True}, {"correlation_id": "c"}, {"selector": Counting("x")}])
def test_a_consumer_that_fails_is_gone_and_others_get_its_messages(either, options):
    queue = either.queue()
    broken = Broken(**options)
    queue.add_consumer(broken)
    either.put(queue, "a", correlation_id="c", subject="x")
    assert broken.has_failed
    assert len(queue.consumers) == 0
    queue.serve(broken)  # it does not know yet
    assert either.get(queue) == ["a"]


def test_a_consumer_that_goes_while_it_is_given_messages_gets_no_more(either):
    queue = either.queue()

    class Leaving(Consumer):
        def deliver(self, entries):
            super().deliver(entries)
            queue.remove_consumer(self)

    leaving, browsing = Leaving(credit=1), Leaving(browse=True)
    for consumer in (leaving, browsing):
        queue.add_consumer(consumer)
    queue.put([message(str(number)) for number in range(600)])
    either.turn()
    assert len(leaving.entries) == 1
    assert 0 < len(browsing.entries) < 600
    queue.remove_consumer(leaving)
    assert len(queue.consumers) == 0


def test_those_who_wait_for_the_same_answer_take_turns_and_may_leave(either):
    queue = either.queue()
    first, second = (either.consumer(queue, correlation_id="c") for _ in range(2))
    queue.remove_consumer(first)
    either.put(queue, "a", correlation_id="c")
    assert (first.texts, second.texts) == ([], ["a"])
    queue.remove_consumer(second)
    assert queue.consumers._by_id == {}
