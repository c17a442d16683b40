"""Queue managers have nothing in common, though their queues may have the same names."""

import numpy as np

from heliograph.lab.load import Address, Plan, group_from
from heliograph.lab.load.accounts import Expectation


def test_nobody_expects_what_goes_to_another_queue_manager() -> None:
    groups = [
        group_from(
            {"name": f"{role}{manager}", "role": role, "clients": 2, "protocol": "amqp", "door": f"qm{manager}", **more}
        )
        for manager in range(2)
        for role, more in (("publish", {"destination": "queue://q"}), ("consume", {"filters": ["queue://q"]}))
    ]
    plan = Plan(tuple(groups), 1.0)
    counts = {0: np.array([10, 20]), 2: np.array([1, 2])}
    apart = {f"qm{manager}": Address(1, manager=f"QM{manager}") for manager in range(2)}
    assert Expectation(plan, apart).of(counts) == {1: 30, 3: 3}
    together = {f"qm{manager}": Address(1) for manager in range(2)}
    assert Expectation(plan, together).of(counts) == {1: 33, 3: 33}


def test_a_queue_that_topics_feed_gets_what_is_published_to_them() -> None:
    devices = group_from(
        {"name": "devices", "role": "publish", "clients": 4, "destination": "t/{partition}", "destinations": 2}
    )
    queues = {"protocol": "amqp", "filters": "queue://Q{partition}", "fed_by": "t/{partition}", "destinations": 2}
    plan = Plan((devices, group_from({"name": "getters", "role": "consume", "clients": 6, **queues})), 1.0)
    assert Expectation(plan, {"main": Address(1)}).of({0: np.array([1, 10, 100, 1000])}) == {1: 1111}
