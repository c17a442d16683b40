"""Clients that make the server keep as much as they can: they get what the budget has, and others are served."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from configurations import BOTH, listener
from hostile.bystander import PATIENT, Bystander
from hostile.piling import ATTACKS, Attack
from running import RunningServer, Serve

BUDGET = 64 << 20
MOST = 160 << 20
"""Bytes that the process may have, all in all."""
CONFIG = f"""{BOTH}
{listener("ws")}
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
    """Carry out attacks side by side; all attackers stay until the end."""
    under_way = {one: one(server) for one in attacks}
    with ExitStack() as stack, Bystander(server.port, pid=server.process.pid) as bystander:
        while under_way:
            for one, attackers in list(under_way.items()):
                attacker = next(attackers, None)
                if attacker is None:
                    del under_way[one]
                else:
                    stack.callback(attacker.socket.close)
                assert peak(server) < MOST, one.__name__
        memory = server.stats()["memory"]
        assert memory["bytes"] <= memory["limit"] == BUDGET
        served = bystander.count
        server.wait_until(lambda figures: bystander.count > served)
        assert peak(server) < MOST
    # Each of a hundred attackers has its turn, before the bystander and between two of its messages.
    assert bystander.worst < 5 * PATIENT


@pytest.mark.parametrize("way", ATTACKS, ids=lambda way: way.__name__)
def test_a_budget_holds_whatever_is_piled_up(serve: Serve, way: Attack) -> None:
    attack(serve(CONFIG), (way,))


def test_a_budget_holds_when_everything_is_piled_up_at_once(serve: Serve) -> None:
    attack(serve(CONFIG), ATTACKS)
