"""Our server with the queues that the flows need."""

from heliograph.lab.flows.cases import INPUT, OUTPUT, REPLIES, REQUESTS, TOPIC, FlowCase
from heliograph.lab.targets import Heliograph, Setup

DEAD_LETTERS = "SYSTEM.DEAD.LETTER.QUEUE"
_DEPTH = 100_000_000


def subscriber_queues(case: FlowCase) -> list[str]:
    """The queues that get each publication, the one that is looked into first."""
    return [OUTPUT, *(f"FLOW.SUBSCRIBER.{number}" for number in range(1, case.subscribers))] if case.subscribers else []


class FlowServer(Heliograph):
    """The server for one case. Subscribers' queues are bound to the topic."""

    def __init__(self, case: FlowCase) -> None:
        self._subscribers = subscriber_queues(case)

    def command(self, setup: Setup) -> list[str]:
        """As for other benchmarks, and the queues behind it."""
        command = super().command(setup)
        tables = [_table(name, TOPIC) for name in self._subscribers]
        tables += [_table(name) for name in (INPUT, OUTPUT, REQUESTS, REPLIES) if name not in self._subscribers]
        with (setup.directory / "heliograph.toml").open("a") as file:
            file.write("".join(tables))
        return command


def _table(name: str, topic: str = "") -> str:
    bound = f'topics = ["{topic}"]\n' if topic else ""
    return f'[[queue]]\nname = "{name}"\nmax_depth = {_DEPTH}\n{bound}'
