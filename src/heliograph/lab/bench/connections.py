"""Very many AMQP connections to one server, beside RabbitMQ: how fast they come in, and what each takes in memory.

All are opened from this machine, 50 handshakes under way at a time.
"""

import resource
from collections.abc import Sequence

from heliograph.lab.bench import report
from heliograph.lab.bench.case import Effort
from heliograph.lab.bench.idle import Idle
from heliograph.lab.bench.rounds import choose_targets, measure
from heliograph.lab.machine import raise_file_limit, split_cores

WANTED = 60_000  # what a queue manager of another make was shown with, in 30 seconds
SPARE_FILES = 500  # that brokers need for other things


def most() -> int:
    """As many as the limit on open files allows."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return min(WANTED, files - SPARE_FILES)


def run_connections(connections: int | None, targets: Sequence[str]) -> None:
    """Measure and print one row for each broker."""
    raise_file_limit()
    count = min(connections or WANTED, most())
    case = Idle(name="amqp-connections", about="AMQP connections, each with a session", connections=count, amqp=True)
    print(report.header())
    with split_cores() as cores:
        effort = Effort(seconds=0, rounds=1, connections=count)
        for rows in measure([case], choose_targets(targets), effort, cores, lambda _text: None):
            print("\n".join(report.lines(rows)))
    print(f"in/s: connections per second, each with a SASL exchange, an open and a begin. {report.LEGEND}")
