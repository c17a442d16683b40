"""Our server with the queues that the flows need."""

from collections.abc import Mapping

from heliograph.lab.flows.cases import INPUT, OUTPUT, REPLIES, REQUESTS, TOPIC, FlowCase
from heliograph.lab.machine import HOST
from heliograph.lab.targets.heliograph_server import Heliograph
from heliograph.lab.targets.target import Setup

DEAD_LETTERS = "SYSTEM.DEAD.LETTER.QUEUE"
_DEPTH = 100_000_000


def subscriber_queues(case: FlowCase) -> list[str]:
    """The queues that get each publication, the one that is looked into first."""
    return [OUTPUT, *(f"FLOW.SUBSCRIBER.{number}" for number in range(1, case.subscribers))] if case.subscribers else []


def server_for(case: FlowCase) -> "FlowServer":
    """The server for one case: subscribers' queues are bound to the topic."""
    return FlowServer(
        dict.fromkeys((INPUT, OUTPUT, REQUESTS, REPLIES), "") | dict.fromkeys(subscriber_queues(case), TOPIC)
    )


class FlowServer(Heliograph):
    """Our server with some queues, and with MQTT beside AMQP if somebody needs that."""

    def __init__(self, queues: Mapping[str, str], *, mqtt: bool = False) -> None:
        """Queues by name; what is published on a queue's topic goes there, too."""
        self._queues = queues
        self._mqtt = mqtt
        self.mqtt_port = 0

    def command(self, setup: Setup) -> list[str]:
        """As for other benchmarks, and the queues behind it."""
        command = super().command(setup)
        tables = [_table(name, topic) for name, topic in self._queues.items()]
        if self._mqtt:
            self.mqtt_port = setup.spare_ports[0]
            tables.append(f'[[listener]]\nhost = "{HOST}"\nport = {self.mqtt_port}\n')
        with (setup.directory / "heliograph.toml").open("a") as file:
            file.write("".join(tables))
        return command


def _table(name: str, topic: str) -> str:
    bound = f'topics = ["{topic}"]\n' if topic else ""
    return f'[[queue]]\nname = "{name}"\nmax_depth = {_DEPTH}\n{bound}'
