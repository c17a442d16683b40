"""The clients of all groups of a plan, each with its protocol.

A new protocol has a folder beside `mqtt` and `amqp` with a subclass of `ClientGroup`, and a line here.
"""

import select
from collections.abc import Mapping

from heliograph.lab.errors import InvalidLoad
from heliograph.lab.load.amqp.client import AmqpClientGroup
from heliograph.lab.load.client_group import ClientGroup
from heliograph.lab.load.mqtt.client import MqttClientGroup
from heliograph.lab.load.plan import Address, Plan


def client_groups(
    plan: Plan, addresses: Mapping[str, Address], poller: select.epoll, process: int = 0
) -> list[ClientGroup]:
    """The clients that this process has of each group of the plan; `addresses` has the address of each door."""
    made: list[ClientGroup] = []
    for index, group in enumerate(plan.groups):
        if group.door not in addresses:
            known = ", ".join(addresses)
            raise InvalidLoad(f"group {group.name!r} goes to door {group.door!r}; the target has: {known}")
        kind = AmqpClientGroup if group.protocol == "amqp" else MqttClientGroup
        made.append(kind(plan, index, process, addresses[group.door], poller))
    return made
