"""What the address on a link stands for."""

import pytest

from heliograph.broker.amqp.addresses import Address, Kind, read_address


@pytest.mark.parametrize(
    ("address", "capabilities", "expected"),
    [
        ("orders", (), Address(Kind.EITHER, "orders")),
        ("orders", ("queue",), Address(Kind.QUEUE, "orders")),
        ("orders", ("temporary-queue",), Address(Kind.QUEUE, "orders")),
        ("orders", ("topic",), Address(Kind.TOPIC, "orders")),
        ("orders", ("temporary-topic",), Address(Kind.TOPIC, "orders")),
        ("queue://orders", (), Address(Kind.QUEUE, "orders")),
        ("topic://orders/+", (), Address(Kind.TOPIC, "orders/+")),
        ("queue://orders", ("queue",), Address(Kind.QUEUE, "orders")),
        ("topic://orders", ("queue",), Address(Kind.QUEUE, "orders")),
        ("$management", (), Address(Kind.MANAGEMENT, "$management")),
        ("$temporary/1", (), Address(Kind.TOPIC, "$temporary/1")),
    ],
)
def test_capabilities_decide_then_the_prefix(address, capabilities, expected):
    assert read_address(address, capabilities) == expected
