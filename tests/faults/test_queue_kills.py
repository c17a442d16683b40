"""Nothing that was accepted or committed is lost, half done or done twice when the server is killed under load.

`make faults` does the same at length.
"""

from pathlib import Path

import pytest

from faults.kill_run import Ending
from faults.queues.history import Fate
from faults.queues.kill_run import QueueRun

SEED = 1


def report(run: QueueRun) -> str:
    broken = run.violations()
    return "\n".join([f"seed {run.seed}: {len(broken)} broken rules", *map(str, broken[:20])])


@pytest.mark.parametrize(("durability", "rounds"), [("disk", 3), ("memory", 1)])
def test_units_of_work_are_all_or_nothing_when_the_server_is_killed(
    tmp_path: Path, durability: str, rounds: int
) -> None:
    run = QueueRun(tmp_path, SEED, durability)
    run.run(rounds)
    assert not run.violations(), report(run)
    assert {unit.fate for unit in run.world.history.units} == set(Fate)


@pytest.mark.parametrize("ending", [Ending.STOP, Ending.NONE])
def test_nor_is_anything_wrong_without_a_kill(tmp_path: Path, ending: Ending) -> None:
    run = QueueRun(tmp_path, SEED)
    run.run(1, ending)
    assert not run.violations(), report(run)


def test_a_server_that_forgets_is_found_out(tmp_path: Path) -> None:
    """This is the proof that the tests above can fail."""
    run = QueueRun(tmp_path, SEED)
    run.run(1, before_a_start=lambda: [file.unlink() for file in (tmp_path / "data").glob("*")])
    assert "lost" in {one.rule for one in run.violations()}, report(run)
