"""The lab's AMQP generator beside Qpid JMS: the same load, what does the server pay, and what do both ends see?

PYTHONPATH=src:tests python -m interop.jms_load [--seconds 10] [--rounds 3]
"""

import argparse
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from heliograph.lab.load import Address, Plan, group_from, run_load
from interop.java_client import java
from running import Lines, RunningServer, servers

CONFIG = """
[log]
level = "warning"
[http]
enabled = false
[[listener]]
protocol = "amqp"
port = 0
[[queue]]
name = "load"
max_depth = 1000000
"""


@dataclass(frozen=True)
class Case:
    """One producer, one consumer."""

    name: str
    destination: str
    rate: int
    size: int
    persistent: bool = False
    transaction: int = 0
    every: int = 1


CASES = (
    Case("queue, 256 bytes", "queue://load", 2000, 256),
    Case("queue, 256 bytes, persistent", "queue://load", 2000, 256, persistent=True),
    Case("queue, 32 bytes, 100 in a transaction", "queue://load", 2000, 32, transaction=100),
    Case("topic, 100 bytes, persistent, every 100th acknowledged", "topic://load", 2000, 100, True, every=100),
)


@dataclass(frozen=True)
class Figures:
    """What a load came to. CPU is in microseconds for each message."""

    sent: int
    received: int
    half: float
    worst: float
    client_cpu: float
    server_cpu: float = 0.0


def cpu_seconds(server: RunningServer) -> float:
    """What the server has used so far."""
    fields = Path(f"/proc/{server.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / 100


def with_java(case: Case, server: RunningServer, seconds: int) -> Figures:
    """Qpid JMS does it. It is told to confirm as many as the lab does: all of a window, not one by one."""
    url = f"amqp://127.0.0.1:{server.port_of('amqp')}"
    words = (url, case.destination, case.rate, seconds, case.size, case.persistent, case.transaction, case.every)
    command = java("Load", *(str(word).lower() if isinstance(word, bool) else str(word) for word in words))
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        try:
            lines = Lines(process.stdout)
            lines.wait_for("ready")
            process.wait(seconds + 30)
            _, sent, received, half, worst, cpu = lines.wait_for("result ").split()
        finally:
            process.kill()
    return Figures(int(sent), int(received), float(half), float(worst), 1e6 * float(cpu) / int(sent))


def with_the_lab(case: Case, server: RunningServer, seconds: int) -> Figures:
    """The lab's generator does it."""
    common = {"protocol": "amqp", "clients": 1, "qos": 1, "transaction": case.transaction}
    producer = {"name": "producer", "role": "publish", "destination": case.destination, "rate": case.rate}
    producer |= {"payload": case.size, "persistent": case.persistent, **common}
    consumer = {"name": "consumer", "role": "consume", "filters": [case.destination], **common}
    if not case.transaction:
        consumer["acknowledge_every"] = case.every
    groups = (group_from(producer), group_from(consumer))
    outcome = run_load(Plan(groups, float(seconds), 0.0, 1), {"main": Address(server.port_of("amqp"))})
    sent, seen = outcome.groups["producer"].sent, outcome.groups["consumer"]
    latency = seen.latencies["message"]
    half, worst = (latency.percentile(percent) / 1e6 for percent in (50, 99))
    return Figures(sent, seen.received, half, worst, 1e6 * sum(outcome.cpu_seconds) / sent)


def measured(case: Case, server: RunningServer, seconds: int, *, lab: bool) -> Figures:
    """A load with what the server used meanwhile."""
    before = cpu_seconds(server)
    figures = (with_the_lab if lab else with_java)(case, server, seconds)
    used = 1e6 * (cpu_seconds(server) - before) / figures.sent
    return Figures(figures.sent, figures.received, figures.half, figures.worst, figures.client_cpu, used)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    print("| load, 2000 msg/s | client | server, µs a message | client, µs a message | 50P ms | 99P ms | lost |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder, servers(Path(folder)) as start:
        server = start(CONFIG)
        for case in CASES:
            runs: dict[bool, list[Figures]] = {False: [], True: []}
            for turn in range(2 * asked.rounds):
                lab = turn % 4 in {1, 2}  # A B, B A: a machine that gets slower does not decide
                runs[lab].append(measured(case, server, asked.seconds, lab=lab))
                print(f"{case.name}: {turn + 1} of {2 * asked.rounds}", file=sys.stderr)
            for lab, figures in runs.items():
                middle = [
                    median(getattr(one, field) for one in figures)
                    for field in ("server_cpu", "client_cpu", "half", "worst")
                ]
                lost = sum(one.sent - one.received for one in figures)
                cells = " | ".join(f"{value:.3g}" for value in middle)
                print(f"| {case.name} | {'lab' if lab else 'Qpid JMS'} | {cells} | {lost} |")


if __name__ == "__main__":
    main()
