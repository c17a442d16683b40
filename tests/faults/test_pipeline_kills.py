"""Pipelines while driver, workers and server are killed: `make faults` does the same for many rounds."""

from pathlib import Path

import pytest

from faults.pipelines.kill_run import PATIENCE, PipelineRun, Victim
from faults.pipelines.subjects import AFlow, AFlowWithFiles, Subject, ToFiles

SEED = 1
pytestmark = pytest.mark.timeout(3 * PATIENCE)


@pytest.mark.parametrize(
    ("pipeline", "victims"),
    [
        (ToFiles, (Victim.SERVER, Victim.WORKER, Victim.DRIVER)),
        (AFlow, (Victim.WORKER, Victim.DRIVER, Victim.SERVER)),
        (AFlowWithFiles, (Victim.DRIVER, Victim.SERVER, Victim.WORKER)),
    ],
    ids=["files", "flow", "flow-files"],
)
def test_every_message_is_in_the_output_exactly_once(
    tmp_path: Path, pipeline: type[Subject], victims: tuple[Victim, ...]
) -> None:
    run = PipelineRun(tmp_path, SEED, pipeline)
    figures = run.run(len(victims), victims=victims)
    broken = run.violations()
    assert not broken, "\n".join([f"seed {run.seed}: {len(broken)} broken rules", *map(str, broken[:20])])
    assert run.story.rows or run.story.queue
    assert figures.kills.keys() == set(Victim)
    assert figures.lost_tasks
