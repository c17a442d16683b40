"""Which subscription a link is for, as Qpid JMS names its links."""

import pytest

from heliograph.broker.amqp.subscription_names import SubscriptionName, name_to_forget, subscription_name


@pytest.mark.parametrize(
    ("link_name", "capabilities", "durable", "expected"),
    [
        ("news", ("topic",), True, SubscriptionName("c", "news", durable=True, shared=False)),
        ("news|2", ("topic",), True, SubscriptionName("c", "news|2", durable=True, shared=False)),
        ("news", ("topic", "shared"), True, SubscriptionName("c", "news", durable=True, shared=True)),
        ("news|2", ("topic", "shared"), True, SubscriptionName("c", "news", durable=True, shared=True)),
        ("news|global", ("topic", "shared", "global"), True, SubscriptionName("", "news", durable=True, shared=True)),
        ("news|global2", ("topic", "shared", "global"), True, SubscriptionName("", "news", durable=True, shared=True)),
        ("news|volatile1", ("topic", "shared"), False, SubscriptionName("c", "news", durable=False, shared=True)),
        (
            "news|global-volatile3",
            ("topic", "shared", "global"),
            False,
            SubscriptionName("", "news", durable=False, shared=True),
        ),
        ("a|b|volatile1", ("shared",), False, SubscriptionName("c", "a|b", durable=False, shared=True)),
    ],
)
def test_links_of_one_subscription_have_its_name_in_theirs(link_name, capabilities, durable, expected):
    assert subscription_name(link_name, "c", capabilities, durable=durable) == expected


def test_a_subscription_that_is_neither_durable_nor_shared_has_no_name():
    assert subscription_name("any", "c", ("topic",), durable=False) is None


def test_to_forget_a_subscription_its_link_name_is_enough():
    assert name_to_forget("news", "c") == SubscriptionName("c", "news", durable=True, shared=False)
    assert name_to_forget("news|global", "c") == SubscriptionName("", "news", durable=True, shared=True)


def test_no_two_subscriptions_share_a_queue():
    names = [
        SubscriptionName(owner, name, durable=durable, shared=False).queue_name
        for owner in ("", "a", "a/b", "a%2Fb")
        for name in ("", "b", "b/c", "a/b")
        for durable in (True, False)
    ]
    assert len(set(names)) == len(names)
