"""Nothing acknowledged is lost when the server is killed under load. `make faults` does the same at length."""

from pathlib import Path

import pytest

from faults.brokers import Broker, Heliograph, Mosquitto
from faults.kill_run import Ending, KillRun, seed_from_environment

SNAPSHOTS_LOSE = {"lost", "forgotten"}


def report(run: KillRun) -> str:
    broken = run.violations()
    return "\n".join([f"FAULTS_SEED={run.seed}: {len(broken)} broken rules", *map(str, broken[:20])])


def run_on(broker: Broker, rounds: int, *, ending: Ending = Ending.KILL, mosquitto_sub: bool = False) -> KillRun:
    run = KillRun(broker, seed_from_environment(), mosquitto_sub=mosquitto_sub)
    run.run(rounds, ending)
    return run


@pytest.mark.parametrize(("durability", "rounds"), [("disk", 4), ("memory", 1)])
def test_nothing_acknowledged_is_lost_when_the_server_is_killed(tmp_path: Path, durability: str, rounds: int) -> None:
    run = run_on(Heliograph(tmp_path, durability), rounds)
    assert not run.violations(), report(run)


def test_nor_is_anything_lost_for_a_client_of_another_make(tmp_path: Path) -> None:
    run = run_on(Heliograph(tmp_path), rounds=2, mosquitto_sub=True)
    assert not run.violations(), report(run)


def test_nor_when_it_is_stopped_in_good_order(tmp_path: Path) -> None:
    run = run_on(Heliograph(tmp_path), rounds=1, ending=Ending.STOP)
    assert not run.violations(), report(run)


def test_without_a_kill_the_run_finds_nothing_wrong(tmp_path: Path) -> None:
    run = run_on(Mosquitto(tmp_path), rounds=2, ending=Ending.NONE)
    assert not run.violations(), report(run)


def test_a_broker_that_forgets_is_found_out(tmp_path: Path) -> None:
    """This is the proof that the tests above can fail."""
    run = KillRun(Mosquitto(tmp_path, snapshots=False), seed_from_environment(), quiet=1.0)
    run.run(rounds=1)
    assert {one.rule for one in run.violations()} >= SNAPSHOTS_LOSE, report(run)
