"""Messages of the past, from the command line: a range goes through a flow again, and two versions are compared."""

import json
import shutil
import sqlite3
import subprocess
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from heliograph.mqtt import Publish
from pipeline.source.plants import CONFIG, Plant
from running import Serve, environment, helio

EXAMPLE = Path(__file__).parents[3] / "examples" / "telemetry" / "flow"
PATIENCE = 400.0
pytestmark = pytest.mark.timeout(3 * PATIENCE)
QUICK = ["--conf", "spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"]


def sites(folder: Path) -> Path:
    """The embedded database of the example: 20 presses, at Gent if their number is a multiple of 3."""
    folder.mkdir(parents=True)
    with sqlite3.connect(folder / "PLANT.db") as database:
        database.executescript((EXAMPLE / "plant.sql").read_text())
    database.close()
    return folder


def publish(plant: Plant, first: int, end: int) -> None:
    """Readings of presses 1 to 20, and of 0 and 21, which nobody knows."""
    readings = [
        {"device": f"press-{number % 22:02}", "time": number, "temperature": number / 2} for number in range(first, end)
    ]
    plant.publish(Publish(f"plant/{one['device']}/telemetry", json.dumps(one).encode()) for one in readings)


def pipeline(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        helio("pipeline", *words, *QUICK),
        cwd=cwd,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )


def test_a_range_goes_through_the_flow_with_the_databases_of_the_pipeline(serve: Serve, tmp_path: Path) -> None:
    plant = Plant(serve(CONFIG), tmp_path / "data")
    ends = []
    for first in (0, 44, 88):
        publish(plant, first, first + 44)
        ends.append(json.dumps({str(partition): latest for partition, (_, latest) in plant.ends().items()}))
    own = plant.directory / "pipelines" / "telemetry"
    sites(own / "state")
    done = pipeline(
        *("run", str(EXAMPLE), "--name", "telemetry", "--source", "stream:plant", "--server", str(plant.directory)),
        *("--from", ends[0], "--to", ends[1], "--sink", "readings=parquet:again", "--sink", "dead_letters=parquet:bad"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    found = [json.loads(payload) for payload in pq.read_table(tmp_path / "again")["payload"].to_pylist()]
    assert sorted(one["time"] for one in found) == [n for n in range(44, 88) if 1 <= n % 22 <= 20]
    assert {one["site"] for one in found if int(one["device"][-2:]) % 3 == 0} == {"Gent"}
    assert pq.read_table(tmp_path / "bad").num_rows == 4
    # The pipeline that runs all the time is as it was.
    assert [path.name for path in own.iterdir()] == ["state"]
    (past,) = [path for path in own.parent.iterdir() if path != own]
    told = json.loads((past / "status.json").read_text())
    assert (told["state"], told["rows"], told["name"]) == ("finished", 44, past.name)


def test_two_versions_are_compared(serve: Serve, tmp_path: Path) -> None:
    plant = Plant(serve(CONFIG), tmp_path / "data")
    publish(plant, 0, 44)
    shutil.copytree(EXAMPLE, tmp_path / "new")
    program = tmp_path / "new" / "telemetry.esql"
    changed = program.read_text().replace(
        "= known.SITE;", "= CASE known.SITE WHEN 'Gent' THEN 'Ghent' ELSE known.SITE END;"
    )
    program.write_text(changed)
    words = ["--source", "stream:plant", "--server", plant.url, "--state", str(sites(tmp_path / "copy"))]

    done = pipeline("compare", str(EXAMPLE), "new", *words, "--samples", "1", cwd=tmp_path)
    assert (done.returncode, "Traceback" in done.stderr) == (1, False), done.stderr
    lines = done.stdout.splitlines()
    assert [line.split() for line in lines[:3]] == [
        ["output", "equal", "changed", "only", "old", "only", "new"],
        ["dead_letters", "4", "0", "0", "0"],
        ["readings", "28", "12", "0", "0"],
    ]
    old, new = (next(line for line in lines if line.startswith(f"  {sign} payload: ")) for sign in "-+")
    assert old.replace("Gent", "Ghent").replace("-", "+", 1) == new

    done = pipeline("compare", str(EXAMPLE), str(EXAMPLE), *words, "--from", "earliest", "--to", "latest", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[2].split() == ["readings", "40", "0", "0", "0"]
