"""Which crew serves which protocol."""

import select

from heliograph.lab.load.address import Address
from heliograph.lab.load.amqp_crew import AmqpCrew
from heliograph.lab.load.crew import Crew
from heliograph.lab.load.mqtt_crew import MqttCrew
from heliograph.lab.load.plan import Plan


def make_crew(plan: Plan, index: int, process: int, address: Address, poller: select.epoll) -> Crew:
    """The clients of one group of the plan in this process."""
    kind = AmqpCrew if plan.groups[index].protocol == "amqp" else MqttCrew
    return kind(plan, index, process, address, poller)
