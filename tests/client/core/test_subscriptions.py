"""Subscriptions of topics: links by name."""

import pytest

from client.memory import Memory
from client.scenes import consumer, producer, send, session, take_bodies
from client.small_broker import Broker
from heliograph.client import Topic
from heliograph.client.core.subscriptions import SubscriptionNames
from heliograph.client.errors import IllegalState, InUse, InvalidDestination, Unsupported
from heliograph.errors import Problem

NEWS = Topic("news")


@pytest.fixture
def memory() -> Memory:
    memory = Memory(client_id="reader")
    memory.open()
    return memory


def names_of(client_id: str, *, durable: bool, shared: bool, consumers: int) -> list[str]:
    names = SubscriptionNames(client_id)
    made = [
        names.reserve(NEWS, "sub", durable=durable, shared=shared, selector="", no_local=False)
        for _ in range(consumers)
    ]
    return [subscription.link_name for subscription in made]


@pytest.mark.parametrize(
    ("client_id", "durable", "links"),
    [
        ("me", True, ["sub", "sub|2", "sub|3"]),
        ("", True, ["sub|global", "sub|global2", "sub|global3"]),
        ("me", False, ["sub|volatile1", "sub|volatile2", "sub|volatile3"]),
        ("", False, ["sub|global-volatile1", "sub|global-volatile2", "sub|global-volatile3"]),
    ],
)
def test_consumers_of_a_shared_subscription_have_links_of_their_own(client_id, durable, links):
    assert names_of(client_id, durable=durable, shared=True, consumers=3) == links


def test_a_name_that_was_released_is_used_again():
    names = SubscriptionNames("me")
    first = names.reserve(NEWS, "sub", durable=True, shared=True, selector="", no_local=False)
    names.reserve(NEWS, "sub", durable=True, shared=True, selector="", no_local=False)
    names.release(first)
    assert names.reserve(NEWS, "sub", durable=True, shared=True, selector="", no_local=False).link_name == "sub"


def test_an_exclusive_durable_subscription_has_one_consumer():
    with pytest.raises(InUse, match="'sub'"):
        names_of("me", durable=True, shared=False, consumers=2)


def test_an_exclusive_durable_subscription_needs_a_client_id():
    with pytest.raises(IllegalState, match="client_id"):
        names_of("", durable=True, shared=False, consumers=1)


@pytest.mark.parametrize(
    ("place", "options"),
    [
        ("a-queue", {"subscription": "s", "durable": True}),
        (NEWS, {"subscription": "s"}),
        (NEWS, {"durable": True}),
        (NEWS, {"subscription": "a|b", "shared": True}),
    ],
)
def test_what_is_no_subscription_is_refused(memory, place, options):
    with pytest.raises(Problem):
        consumer(memory, session(memory), place, **options)


def test_a_durable_subscription_looks_as_servers_expect_it(memory):
    consumer(memory, session(memory), NEWS, subscription="mine", durable=True)
    link = memory.broker.attached[-1]
    source = link.source
    assert link.name == "mine"
    assert (source.durable, source.expiry_policy, source.distribution_mode) == (2, "never", "copy")
    assert source.capabilities == ("topic",)
    assert source.outcomes[0] == "amqp:accepted:list"
    assert source.default_outcome.delivery_failed


def test_a_plain_subscription_ends_with_its_link(memory):
    consumer(memory, session(memory), NEWS)
    source = memory.broker.attached[-1].source
    assert (source.durable, source.expiry_policy) == (0, "link-detach")


def test_a_shared_subscription_says_so(memory):
    consumer(memory, session(memory), NEWS, subscription="all", shared=True, durable=True)
    assert memory.broker.attached[-1].source.capabilities == ("topic", "shared")


def test_a_shared_subscription_without_client_id_is_for_everybody():
    memory = Memory()
    memory.open()
    consumer(memory, session(memory), NEWS, subscription="all", shared=True)
    assert memory.broker.attached[-1].source.capabilities == ("topic", "shared", "global")


def test_a_server_without_shared_subscriptions_is_not_used_for_one():
    memory = Memory()
    memory.brokers["here"] = Broker(capabilities=())
    memory.open()
    with pytest.raises(Unsupported, match="shared"):
        consumer(memory, session(memory), NEWS, subscription="all", shared=True)


def test_a_durable_subscription_gathers_messages_while_its_consumer_is_closed(memory):
    owner = session(memory)
    memory.do(consumer(memory, owner, NEWS, subscription="mine", durable=True).close())
    memory.finish(send(producer(memory, owner, NEWS), "missed"))
    assert take_bodies(memory, consumer(memory, owner, NEWS, subscription="mine", durable=True)) == ["missed"]


def test_unsubscribing_deletes_a_durable_subscription(memory):
    owner = session(memory)
    memory.do(consumer(memory, owner, NEWS, subscription="mine", durable=True).close())
    assert "mine" in memory.broker.subscriptions
    memory.do(memory.core.unsubscribe("mine"))
    assert "mine" not in memory.broker.subscriptions


def test_a_subscription_with_a_consumer_is_not_deleted(memory):
    consumer(memory, session(memory), NEWS, subscription="mine", durable=True)
    with pytest.raises(InUse, match="close it first"):
        memory.do(memory.core.unsubscribe("mine"))


def test_unsubscribing_from_nothing_is_a_problem(memory):
    with pytest.raises(InvalidDestination, match="no subscription nothing"):
        memory.do(memory.core.unsubscribe("nothing"))
