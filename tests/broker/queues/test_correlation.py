"""Messages are found by their correlation id, and nothing of them stays when they have gone."""

from hypothesis import given
from hypothesis import strategies as st

from broker.queue_scenes import Consumer, message
from heliograph.broker.core.memory import Budget
from heliograph.broker.queues.consumer import ACCEPTED
from heliograph.broker.queues.correlation import CorrelationIndex
from heliograph.broker.queues.entry import TAKEN, WAITING, Entry


def entry(correlation_id):
    payload = message("x", correlation_id=correlation_id)
    made = Entry(payload, len(payload), 4, 0, 0, 0, -1)
    made.state = WAITING
    return made


def index():
    return CorrelationIndex(Budget().account("queue", "Q"))


IDS = st.sampled_from([None, "a", "b", b"a", 7, "x" * 50])


@given(st.lists(IDS, max_size=12), st.data())
def test_what_waits_is_found_in_the_order_it_came(ids, data):
    known = index()
    entries = [entry(one) for one in ids]
    known.add(entries)
    gone = data.draw(st.sets(st.integers(0, len(ids) - 1))) if ids else set()
    known.forget([entries[at] for at in gone])
    for one in ("a", "b", b"a", 7, "x" * 50, "nobody's"):
        expected = [entries[at] for at, this in enumerate(ids) if this == one and at not in gone]
        assert known.waiting(one) == expected
    for at, one in enumerate(ids):
        assert known.id_of(entries[at]) == (None if at in gone else one)


@given(st.lists(IDS, max_size=12))
def test_all_memory_comes_back(ids):
    known = index()
    account = known._hold.account
    entries = [entry(one) for one in ids]
    known.add(entries)
    assert (account.used > 0) is any(one is not None for one in ids)
    known.forget(entries)
    known.forget(entries)  # those who are not known are left alone
    assert account.used == 0


def test_a_message_that_somebody_has_does_not_wait():
    known = index()
    one, two = entry("a"), entry("a")
    known.add([one, two])
    one.state = TAKEN
    assert known.waiting("a") == [two]


def test_a_view_is_not_kept():
    one = entry("a")
    index().add([one])
    assert one.parsed is None


def test_a_consumer_gets_the_answer_that_it_waits_for(either):
    queue = either.queue()
    either.put(queue, "before", correlation_id="c1")
    consumer = either.consumer(queue, correlation_id="c1")
    other = either.consumer(queue, correlation_id="c2")
    either.put(queue, "after", correlation_id="c1")
    either.put(queue, "nobody's", correlation_id="c3")
    assert (consumer.texts, other.texts) == (["before", "after"], [])
    queue.settle(consumer.entries, ACCEPTED)
    assert queue.index.waiting("c1") == []


def test_priorities_and_credit_count_for_answers_too(either):
    queue = either.queue()
    consumer = Consumer(credit=0, correlation_id="c")
    queue.add_consumer(consumer)
    either.put(queue, "low", correlation_id="c", priority=1)
    either.put(queue, "high", correlation_id="c", priority=9)
    consumer.credit = 1
    queue.serve(consumer)
    assert consumer.texts == ["high"]
