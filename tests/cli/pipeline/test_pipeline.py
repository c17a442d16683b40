"""`helio pipeline` where no Spark is needed: with pipelines that do not run, and what is said of mistakes."""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.queue_server import CONFIG, QueueServer, helio
from heliograph.cli.pipeline import run as pipeline_run
from heliograph.common.private_files import DirectoryLock
from heliograph.errors import Problem
from heliograph.log.streams.stream_reader import StreamReader
from heliograph.server.processes.pipeline_folder import remove_folder
from plain_client import PlainClient
from running import PATIENCE, environment, servers
from small_flows import write_flow

MORE = """
[storage]
directory = "data"
[[stream]]
name = "plant"
filter = "plant/#"
[[pipeline]]
name = "clean"
start = false
job = "clean.py"
source = "stream:plant"
"""
FLOW = """
nodes:
  In: {type: TopicInput, topic: "plant/#", domain: JSON}
  Readings: {type: Publication}
  Alarms: {type: QueueOutput, queue: ALARMS}
connections:
  - In.out -> Readings
  - In.out -> Alarms
"""


def born(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])


def write_status(folder: Path, **told: Any) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    status = {
        "name": folder.name,
        "source": "stream:plant",
        "runs": "orders",
        "state": "running",
        "pid": os.getpid(),
        "born": born(os.getpid()),
        "since": 1_800_000_000.0,
        "updated": 1_800_000_060.0,
        "batch": 3,
        "rows": 70,
        "rows_per_second": 12.5,
        "offsets": {"plant": {"0": 2}},
        "lag_messages": 4,
        "lag_seconds": 90.0,
        "restarts": 1,
        "error": "it was bad",
        **told,
    }
    new = folder / "status.json.new"
    new.write_text(json.dumps(status))
    new.rename(folder / "status.json")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QueueServer]:
    """With a pipeline that was stopped after 2 of 3 messages, and one that somebody runs by hand: this process."""
    folder = tmp_path_factory.mktemp("pipelines")
    (folder / "clean.py").touch()
    with servers(folder) as start:
        write_status(folder / "data" / "pipelines" / "clean", state="stopped", lag_messages=0, lag_seconds=0.0)
        write_status(folder / "data" / "pipelines" / "hand")
        running = start(CONFIG + MORE)
        with PlainClient(running.port).connected() as client:
            for _ in range(3):
                client.publish("plant/a")
        give_up = time.monotonic() + PATIENCE
        with StreamReader(folder / "data", "plant") as reader:
            while reader.latest(0) < 3:
                assert time.monotonic() < give_up
        found = QueueServer(running)
        while len(json.loads(found.done("pipeline", "list", "--json"))) < 2 or behind(found) != 1:
            assert time.monotonic() < give_up
            time.sleep(0.05)
        yield found


def behind(server: QueueServer) -> int | None:
    lag: int | None = json.loads(server.done("pipeline", "lag", "clean", "--json"))[0]["lag_messages"]
    return lag


def test_list_is_a_table(server: QueueServer) -> None:
    headings, clean, hand = server.done("pipeline", "list").splitlines()
    assert headings.split()[:5] == ["NAME", "STATE", "PID", "RUNS", "SOURCE"]
    assert clean.split()[:7] == ["clean", "stopped", "-", "clean.py", "stream:plant", "3", "70"]
    assert hand.split()[:7] == ["hand", "running", str(os.getpid()), "orders", "stream:plant", "3", "70"]
    assert hand.split()[7:] == ["12", "4", "90", "s", "1"]


def test_status_tells_everything_of_one(server: QueueServer) -> None:
    lines = dict(line.split("  ", 1) for line in server.done("pipeline", "status", "hand").splitlines())
    told = {name.strip(): value.strip() for name, value in lines.items()}
    assert (told["state"], told["configured"], told["last error"]) == ("running", "no", "it was bad")
    assert (told["next offsets"], told["since"]) == ("plant 0: 2", "2027-01-15T08:00:00Z")
    assert json.loads(server.done("pipeline", "status", "hand", "--json"))["offsets"] == {"plant": {"0": 2}}


def test_lag_of_a_pipeline_that_does_not_run_grows_all_the_same(server: QueueServer) -> None:
    (clean,) = json.loads(server.done("pipeline", "lag", "clean", "--json"))
    assert (clean["lag_messages"], clean["state"]) == (1, "stopped")
    assert clean["lag_seconds"] > 0
    assert server.done("pipeline", "lag").splitlines()[0].split() == ["NAME", "STATE", "MESSAGES", "TIME", "ROWS/S"]


def test_a_name_that_is_not_there_is_told_with_those_that_are(server: QueueServer) -> None:
    status, _, error = server.helio("pipeline", "status", "other")
    assert (status, error) == (1, "helio pipeline: no pipeline 'other'; there are: clean, hand\n")
    status, _, error = server.helio("pipeline", "start", "other")
    assert (status, error) == (1, "helio pipeline: there is no pipeline other; pipelines are: clean\n")


def test_what_was_started_by_hand_is_stopped_by_hand(server: QueueServer) -> None:
    status, _, error = server.helio("pipeline", "stop", "hand")
    assert status == 1
    assert f"who started it by hand (process {os.getpid()}) stops it" in error


def test_stopping_what_is_stopped_changes_nothing(server: QueueServer) -> None:
    assert server.done("pipeline", "stop", "clean") == "clean is stopped\n"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["flow"], "expected --source stream:NAME or --source topic:FILTER, found none"),
        (["--source", "stream:x"], "expected a flow or a job, found neither"),
        (["flow", "--source", "x"], "expected stream:NAME or topic:FILTER as source, found 'x'"),
        (["flow", "--job", "j.py", "--source", "stream:x"], "expected a flow or a job, found both"),
        (["flow", "--source", "stream:x", "--to", "latest"], "expected --from beside --to"),
        (["--config", "x.toml"], "expected the NAME of a pipeline beside --config, found none"),
        (["--config", "x.toml", "a", "--source", "stream:x"], "expected no other option for that, found --source"),
        (["--config", "x.toml", "a", "--no-fail-on-data-loss"], "that, found --no-fail-on-data-loss"),
        (["--config", "x.toml", "a", "--from", "earliest"], "that, found --from"),
        (["--config", "x.toml", "a", "--to", "latest"], "that, found --to"),
        (["--config", "x.toml", "a"], "x.toml: expected a readable file"),
    ],
)
def test_mistakes_in_what_to_run(words: list[str], told: str) -> None:
    status, _, error = helio("pipeline", "run", *words)
    assert status == 1
    assert told in error


@pytest.mark.parametrize(
    ("option", "value", "mistake"),
    [
        ("--interval", "-1", "--interval: expected a number from 0 to 86400, found -1"),
        ("--interval", "86401", "--interval: expected a number from 0 to 86400, found 86401"),
        ("--most-messages", "-1", "--most-messages: expected an integer at least 0, found -1"),
        ("--lookup-cache", "-1", "--lookup-cache: expected an integer at least 0, found -1"),
    ],
)
def test_options_have_the_bounds_of_the_configuration(option: str, value: str, mistake: str) -> None:
    parser = argparse.ArgumentParser()
    pipeline_run.ACTIONS["run"].add_arguments(parser)
    with pytest.raises(Problem, match=mistake):
        pipeline_run.ACTIONS["run"].run(parser.parse_args(["flow", "--source", "stream:x", option, value]))


def test_beside_a_configuration_file_no_option_is_ignored() -> None:
    parser = argparse.ArgumentParser()
    pipeline_run.ACTIONS["run"].add_arguments(parser)
    values = {
        "--sink": "Out=topic:x",
        "--set": "a=1",
        "--most-messages": "5",
        "--interval": "0.5",
        "--lookup-cache": "0",
    }
    counts = {"--help", "--config", "--server", "--master", "--conf", "--once", "--supervised"}
    refused = {action.option_strings[0]: action for action in parser._actions if action.option_strings}
    for option in {*refused} - counts - {"-h"}:
        words = [option] if refused[option].nargs == 0 else [option, values.get(option, "x")]
        status, _, error = helio("pipeline", "run", "--config", "x.toml", "a", *words)
        assert (status, error.rpartition("found ")[2]) == (1, f"{option}\n")


def test_the_server_that_is_named_by_hand_counts(tmp_path: Path) -> None:
    (tmp_path / "clean.py").touch()
    (tmp_path / "x.toml").write_text(MORE + 'server = "http://far:15880"\n')
    parser = argparse.ArgumentParser()
    pipeline_run.ACTIONS["run"].add_arguments(parser)
    words = ["--config", str(tmp_path / "x.toml"), "clean"]
    for more, server in (([], "http://far:15880"), (["--server", "http://near:15880"], "http://near:15880")):
        assert pipeline_run._configured(parser.parse_args([*words, *more])).server == server


def test_a_range_has_the_databases_of_the_pipeline_unless_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    parser = argparse.ArgumentParser()
    pipeline_run.ACTIONS["run"].add_arguments(parser)
    words = ["flow", "--source", "stream:x"]
    own, past = (
        pipeline_run._given(parser.parse_args([*words, *more]))
        for more in ([], ["--from", "earliest", "--to", "latest"])
    )
    assert own.folder != past.folder
    assert own.state_folder == past.state_folder == str(tmp_path / "heliograph-data" / "pipelines" / "flow" / "state")
    for more in ([], ["--from", "earliest", "--to", "latest"]):
        assert pipeline_run._given(parser.parse_args([*words, *more, "--state", "/x"])).state_folder == "/x"


def test_databases_of_flows_to_compare_have_to_be_somewhere(tmp_path: Path) -> None:
    write_flow(tmp_path, FLOW + "data_sources:\n  PLANT:\n")
    words = ["pipeline", "compare", str(tmp_path), str(tmp_path), "--source", "stream:x"]
    status, _, error = helio(*words)
    assert status == 1
    assert "data source PLANT is a file of SQLite; say with `state` in which folder" in error
    status, _, error = helio(*words, "--state", str(tmp_path / "none"))
    assert (status, "expected the folder of embedded databases, found none at" in error) == (1, True)


def test_messages_may_be_lost_if_the_command_line_says_so() -> None:
    parser = argparse.ArgumentParser()
    pipeline_run.ACTIONS["run"].add_arguments(parser)
    words = ["flow", "--source", "stream:x"]
    for more, may in (([], True), (["--fail-on-data-loss"], True), (["--no-fail-on-data-loss"], False)):
        assert pipeline_run._given(parser.parse_args([*words, *more])).fail_on_data_loss is may


def test_a_source_that_is_not_there_is_told_before_spark_is_started(
    server: QueueServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "clean.py").touch()
    pages = ["--job", "clean.py", "--server", server.server.url("http")]
    status, _, error = helio("pipeline", "run", *pages, "--source", "stream:other")
    assert status == 1
    assert 'unknown stream "other"; streams are: plant' in error
    folder = tmp_path / "heliograph-data" / "pipelines" / "clean"
    assert not folder.exists()
    folder.mkdir(parents=True)  # as if it had run before
    _, _, error = helio("pipeline", "run", *pages, "--source", "stream:plant", "--from", "soon")
    assert "startingOffsets: expected earliest, latest, offsets by partition" in error
    told = json.loads((folder / "status.json").read_text())
    assert (told["state"], "startingOffsets" in told["error"]) == ("failed", True)


@pytest.mark.parametrize(
    ("what", "told"),
    [
        (["flows/none"], "flows/none: expected the folder of a flow; there is none"),
        (["--job", "none.py"], "none.py: expected a Python file with build(spark, settings), found none"),
        (["empty"], "empty: expected flow.yaml or one NAME.flow.yaml; there is neither"),
        (["bad"], "no node Nowhere"),
    ],
)
def test_what_has_nothing_to_run_leaves_no_stream_and_no_row_behind(
    server: QueueServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: list[str], told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "bad").mkdir()
    write_flow(tmp_path / "bad", FLOW.replace("In.out -> Alarms", "In.out -> Nowhere"))
    streams = server.server.page("/streams")
    pages = ["--server", server.server.url("http")]
    status, _, error = helio("pipeline", "run", *what, "--name", "new", "--source", "topic:new/#", *pages)
    assert status == 1
    assert told in error
    assert not (tmp_path / "heliograph-data").exists(), "that has the rows of the list"
    assert server.server.page("/streams") == streams


def test_a_pipeline_of_the_configuration_without_a_flow_leaves_no_stream_behind(
    server: QueueServer, tmp_path: Path
) -> None:
    text = MORE.replace('job = "clean.py"', 'flow = "none"').replace("stream:plant", "topic:new/#")
    (tmp_path / "none").mkdir()  # or the file would be refused
    (tmp_path / "x.toml").write_text(text)
    streams = server.server.page("/streams")
    words = ["--config", str(tmp_path / "x.toml"), "clean", "--server", server.server.url("http")]
    status, _, error = helio("pipeline", "run", *words)
    assert status == 1
    assert "expected flow.yaml" in error
    assert server.server.page("/streams") == streams
    told = json.loads((tmp_path / "data" / "pipelines" / "clean" / "status.json").read_text())
    assert (told["state"], "expected flow.yaml" in told["error"]) == ("failed", True)


# -- removing ---------------------------------------------------------------------------------------------------------


def listed_when(server: QueueServer, name: str) -> None:
    give_up = time.monotonic() + PATIENCE
    while not any(one["name"] == name for one in json.loads(server.done("pipeline", "list", "--json"))):
        assert time.monotonic() < give_up
        time.sleep(0.05)


def test_remove_forgets_one_that_does_not_run_but_not_its_databases(server: QueueServer) -> None:
    folder = server.server.config.parent / "data" / "pipelines" / "old"
    write_status(folder, state="finished")
    (folder / "checkpoint" / "offsets").mkdir(parents=True)
    (folder / "checkpoint" / "offsets" / "0").touch()
    listed_when(server, "old")
    assert server.done("pipeline", "remove", "old") == "old removed\n"
    assert not folder.exists()
    write_status(folder, state="failed")
    (folder / "state").mkdir()
    (folder / "state" / "PLANT.db").touch()
    listed_when(server, "old")
    told = server.done("pipeline", "remove", "old")
    assert told == f"old removed; its databases stay in {folder / 'state'} (--purge removes them, too)\n"
    assert [path.name for path in folder.rglob("*")] == ["state", "PLANT.db"]
    write_status(folder, state="failed")
    listed_when(server, "old")
    assert server.done("pipeline", "remove", "old", "--purge") == "old removed\n"
    assert not folder.exists()


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("clean", "pipeline clean is in the server's configuration; take it out there first"),
        ("hand", "pipeline hand runs (process PID); stop it first"),
        ("other", "there is no pipeline other; pipelines are: clean, hand"),
        ("../..", "there is no pipeline ../..; pipelines are: clean, hand"),
    ],
)
def test_remove_leaves_what_is_needed(server: QueueServer, name: str, told: str) -> None:
    status, _, error = server.helio("pipeline", "remove", name)
    assert (status, error.replace(str(os.getpid()), "PID")) == (1, f"helio pipeline: {told}\n")
    assert (server.server.config.parent / "data" / "pipelines" / "hand" / "status.json").exists()


def test_a_folder_that_a_process_has_locked_is_not_removed(tmp_path: Path) -> None:
    write_status(tmp_path / "old")
    lock = DirectoryLock(tmp_path / "old")
    with pytest.raises(Problem, match="which runs"):
        remove_folder(tmp_path / "old", purge=True)
    lock.release()
    remove_folder(tmp_path / "old", purge=True)
    assert not (tmp_path / "old").exists()


def test_outputs_that_need_a_server_are_told_before_spark_is_started(
    server: QueueServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("heliograph.pipeline.session.build_session", lambda *_, **__: pytest.fail("Spark is started"))
    write_flow(tmp_path, FLOW)
    data = server.server.config.with_name("data")
    words = ["pipeline", "run", str(tmp_path), "--name", "alarms", "--server", str(data), "--source", "stream:plant"]
    status, _, error = helio(*words, "--sink", "Readings=parquet:readings")
    assert status == 1
    assert f"server: {data} is the folder of a log, which is for reading only" in error
    assert "go to the server from: Alarms, dead_letters; expected the URL of the server, or files" in error


def test_a_pipeline_that_is_not_in_the_file(tmp_path: Path) -> None:
    (tmp_path / "clean.py").touch()
    (tmp_path / "x.toml").write_text(MORE)
    _, _, error = helio("pipeline", "run", "--config", str(tmp_path / "x.toml"), "other")
    assert error.endswith("x.toml: no pipeline 'other'; there are: clean\n")


def test_without_spark_it_is_said_how_to_install_it(tmp_path: Path) -> None:
    (tmp_path / "job.py").touch()
    program = """
import sys
sys.modules["pyspark"] = None  # as if it were not installed
from heliograph.cli.main import main
sys.exit(main(["pipeline", "run", "--job", "job.py", "--source", "stream:x"]))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "the package pyspark is missing; install the extra: pip install 'heliograph[flow,spark]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_server_and_its_commands_need_no_spark() -> None:
    program = """
import sys, heliograph.server.process, heliograph.cli.server.serve
import heliograph.cli.pipeline.status, heliograph.cli.pipeline.control
assert not [name for name in sys.modules if name.startswith(("pyspark", "pyarrow", "heliograph.pipeline"))]
"""
    subprocess.run([sys.executable, "-c", program], env=environment(), check=True)
