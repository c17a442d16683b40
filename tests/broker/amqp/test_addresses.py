"""What the address on a link stands for."""

import pytest

from heliograph.broker.amqp.addresses import Address, AddressKind, read_address


@pytest.mark.parametrize(
    ("address", "capabilities", "expected"),
    [
        ("orders", (), Address(AddressKind.EITHER, "orders")),
        ("orders", ("queue",), Address(AddressKind.QUEUE, "orders")),
        ("orders", ("temporary-queue",), Address(AddressKind.QUEUE, "orders")),
        ("orders", ("topic",), Address(AddressKind.TOPIC, "orders")),
        ("orders", ("temporary-topic",), Address(AddressKind.TOPIC, "orders")),
        ("queue://orders", (), Address(AddressKind.QUEUE, "orders")),
        ("topic://orders/+", (), Address(AddressKind.TOPIC, "orders/+")),
        ("queue://orders", ("queue",), Address(AddressKind.QUEUE, "orders")),
        ("topic://orders", ("queue",), Address(AddressKind.QUEUE, "orders")),
        ("$management", (), Address(AddressKind.MANAGEMENT, "$management")),
        ("$temporary/1", (), Address(AddressKind.TOPIC, "$temporary/1")),
    ],
)
def test_capabilities_decide_then_the_prefix(address, capabilities, expected):
    assert read_address(address, capabilities) == expected
