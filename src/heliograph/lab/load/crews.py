"""Which crew serves which protocol."""

import select

from heliograph.lab.load.address import Address
from heliograph.lab.load.amqp.client_group import AmqpCrew
from heliograph.lab.load.client_group import Crew
from heliograph.lab.load.mqtt.client_group import MqttCrew
from heliograph.lab.load.plan import Plan


def make_crew(plan: Plan, index: int, process: int, address: Address, poller: select.epoll) -> Crew:
    """The clients of one group of the plan in this process."""
    kind = AmqpCrew if plan.groups[index].protocol == "amqp" else MqttCrew
    return kind(plan, index, process, address, poller)
