"""Flows and servers that are killed in the midst of their work: nothing is lost, nothing is done twice."""

import os
import signal
import threading
from pathlib import Path

import pytest

from flow_process import write_flow
from heliograph.client.management import management
from heliograph.errors import Problem
from heliograph.flow.inline import execution_groups
from heliograph.flow.loading.flow_loading import load_flow
from running import servers
from running_flows import CONFIG, QueueFixture, free_port, queues, soon, stored_config

COUNT = 600
NODES = "in: {type: QueueInput, queue: IN}\nout: {type: QueueOutput, queue: OUT}"
SETTINGS = "commit_count: 20\nadditional_instances: %d"


def depth(queue_fixture: QueueFixture, queue: str) -> int:
    return management(queue_fixture.session, "queue-show", name=queue)["depth"]


def wait_for_progress(queue_fixture: QueueFixture, more: int) -> None:
    """Until the flow has put so many more messages."""
    before = depth(queue_fixture, "OUT")
    soon(lambda: depth(queue_fixture, "OUT") >= min(COUNT, before + more))


def test_a_flow_that_is_killed_again_and_again_passes_on_every_message_once(flow, flow_process, url, queue_fixture):
    queue_fixture.put("IN", *map(str, range(COUNT)))
    # Both kills may hit the same message: in its batch, and when it is tried on its own.
    nodes = NODES.replace("queue: IN", "queue: IN, backout_threshold: 5")
    for instances in (1, 3):
        process = flow_process(url, nodes, "in.out -> out", SETTINGS % (instances - 1))
        wait_for_progress(queue_fixture, 100)
        process.kill()
    with flow(nodes, "in.out -> out", SETTINGS % 0):
        assert sorted(map(int, queue_fixture.bodies("OUT", COUNT))) == list(range(COUNT))
    assert (queue_fixture.rest("OUT"), queue_fixture.rest("IN"), queue_fixture.rest("SYSTEM.DEAD.LETTER.QUEUE")) == (
        [],
        [],
        [],
    )


DEADLY = """
import os, signal
def process(message):
    if message.body.bytes() == b"poison":
        os.kill(os.getpid(), signal.SIGKILL)
    return message
"""


@pytest.mark.parametrize("queue", ["IN", "HASTY"])
def test_a_message_that_kills_its_process_is_put_away_alone(flow, flow_process, url, queue_fixture, queue):
    """It is tried in its batch, once more on its own, and never again. HASTY has a threshold of 1."""
    nodes = f"in: {{type: QueueInput, queue: {queue}}}\nkill: {{type: Python, file: kill.py}}\n" + NODES.split("\n")[1]
    arguments = (url, nodes, "in.out -> kill\nkill.out -> out", "commit_count: 20", {"kill.py": DEADLY})
    queue_fixture.put(queue, *map(str, range(10)), "poison", *map(str, range(10, 50)))
    deaths = 0
    while not queue_fixture.rest("SYSTEM.DEAD.LETTER.QUEUE"):
        process = flow_process(*arguments)
        soon(
            lambda process=process: process.process.poll() is not None or queue_fixture.rest("SYSTEM.DEAD.LETTER.QUEUE")
        )
        deaths += process.process.poll() is not None
    assert (queue_fixture.bodies("SYSTEM.DEAD.LETTER.QUEUE"), deaths) == (["poison"], 2)
    with flow(*arguments[1:4], files={"kill.py": DEADLY}):
        assert sorted(map(int, queue_fixture.bodies("OUT", 50))) == list(range(50))


def test_a_flow_that_is_stopped_finishes_what_it_has_in_hand(flow_process, url, queue_fixture):
    queue_fixture.put("IN", *map(str, range(COUNT)))
    process = flow_process(url, NODES, "in.out -> out", SETTINGS % 0)
    wait_for_progress(queue_fixture, 100)
    assert process.terminate() == 0
    done = [int(body) for body in queue_fixture.rest("OUT")]
    left = [int(body) for body in queue_fixture.rest("IN")]
    assert sorted(done + left) == list(range(COUNT))
    assert f"messages {len(done)}" in " ".join(process.out.text().split())


def test_a_server_that_is_killed_again_and_again_loses_and_doubles_nothing(flow_process, tmp_path):
    port = free_port()
    config = stored_config(port, tmp_path)
    url = f"amqp://127.0.0.1:{port}"
    with servers(tmp_path) as serve:
        server = serve(config)
        queue_fixture = QueueFixture(url)
        queue_fixture.put("IN", *map(str, range(COUNT)))
        flow_process(url, NODES, "in.out -> out", SETTINGS % 0)
        for _ in range(2):
            wait_for_progress(queue_fixture, 100)
            server.kill()
            queue_fixture.close()
            server = serve(config)
            queue_fixture = QueueFixture(url)
        assert sorted(map(int, queue_fixture.bodies("OUT", COUNT))) == list(range(COUNT))
        assert (
            queue_fixture.rest("OUT"),
            queue_fixture.rest("IN"),
            queue_fixture.rest("SYSTEM.DEAD.LETTER.QUEUE"),
        ) == ([], [], [])
        queue_fixture.close()


def test_a_flow_waits_for_a_server_that_is_not_there_yet(flow_process, tmp_path):
    port = free_port()
    process = flow_process(f"amqp://127.0.0.1:{port}", NODES, "in.out -> out")
    process.log.wait_for("waiting for the server")
    with servers(tmp_path) as serve:
        serve(CONFIG.format(port=port) + queues())
        process.wait_until_ready()
        assert process.terminate() == 0


def test_execution_groups_share_the_work_and_one_that_dies_is_started_again(flow_process, url, queue_fixture):
    process = flow_process(url, NODES, "in.out -> out", "execution_groups: 2\ncommit_count: 20")
    process.out.wait_for("the flow is ready", 2)
    queue_fixture.put("IN", *map(str, range(COUNT)))
    wait_for_progress(queue_fixture, 100)
    pid = process.process.pid
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    victim = next(child for child in children if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes())
    os.kill(int(victim), signal.SIGKILL)
    process.log.wait_for("it is started again")
    assert sorted(map(int, queue_fixture.bodies("OUT", COUNT))) == list(range(COUNT))
    process.out.wait_for("the flow is ready", 3)
    assert process.terminate() == 0


def test_a_group_that_dies_at_once_again_and_again_is_given_up(tmp_path, url, monkeypatch):
    monkeypatch.setattr(execution_groups, "_MOST_DEATHS", 2)
    monkeypatch.setattr(execution_groups, "_FIRST_PAUSE", 0.01)
    deadly = "import multiprocessing, os\nif multiprocessing.parent_process():\n    os._exit(7)\n"
    nodes = NODES + "\nkill: {type: Python, file: kill.py}"
    files = {"kill.py": deadly + "def process(message):\n    return message\n"}
    wires = "in.out -> kill\nkill.out -> out"
    folder = write_flow(tmp_path / "deadly", nodes, wires, "execution_groups: 2", files)
    with pytest.raises(Problem, match=r"died 2 times in a row.*exit status 7"):
        execution_groups.run_execution_groups(load_flow(folder), state=tmp_path, stop=threading.Event(), server=url)
