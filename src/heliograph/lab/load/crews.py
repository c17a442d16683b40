"""Which crew serves which protocol."""

import select

from heliograph.lab.load.address import Address
from heliograph.lab.load.crew import Crew
from heliograph.lab.load.mqtt_crew import MqttCrew
from heliograph.lab.load.plan import Plan


def make_crew(plan: Plan, index: int, process: int, address: Address, poller: select.epoll) -> Crew:
    """The clients of one group of the plan in this process."""
    return MqttCrew(plan, index, process, address, poller)
