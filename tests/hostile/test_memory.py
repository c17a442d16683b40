"""Clients that make the server keep as much as they can: they get what the budget has, and others are served."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from hostile.bystander import PATIENT, Bystander
from hostile.piling import ATTACKS, Attack
from running import RunningServer, Serve

BUDGET = 64 << 20
MOST = 160 << 20
"""Bytes that the process may have, all in all."""
CONFIG = f"""
[[listener]]
port = 0
[[listener]]
kind = "ws"
port = 0
[[listener]]
protocol = "amqp"
port = 0
[http]
port = 0
[[queue]]
name = "q1"
max_depth = 1000000
[[queue]]
name = "q2"
max_depth = 1000000
[[queue]]
name = "q3"
max_depth = 1000000
[[queue]]
name = "q4"
max_depth = 1000000
[limits]
memory = {BUDGET}
"""


def peak(server: RunningServer) -> int:
    """The most memory that the process ever had, in bytes."""
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM:"))


def attack(server: RunningServer, attacks: tuple[Attack, ...]) -> None:
    """Carry out attacks, one behind the other, while all attackers stay."""
    with ExitStack() as stack:
        with Bystander(server.port) as bystander:
            for one in attacks:
                for attacker in one(server):
                    stack.callback(attacker.socket.close)
                memory = server.stats()["memory"]
                print(
                    one.__name__,
                    peak(server) >> 20,
                    server.memory() >> 20,
                    memory["bytes"] >> 20,
                    memory["refusals"],
                    bystander.worst,
                    memory["largest"][:2],
                )
                assert memory["bytes"] <= BUDGET * 1.1
                assert peak(server) < MOST, (one.__name__, memory)
        assert bystander.worst < PATIENT


@pytest.mark.parametrize("way", ATTACKS, ids=lambda way: way.__name__)
def test_a_budget_holds_whatever_is_piled_up(serve: Serve, way: Attack) -> None:
    attack(serve(CONFIG), (way,))


def test_a_budget_holds_when_everything_is_piled_up_at_once(serve: Serve) -> None:
    attack(serve(CONFIG), ATTACKS)
