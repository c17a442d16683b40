"""Node-RED as a peer: the flow that it gets, and what is said of it."""

import json

import pytest

from heliograph.cli.main import main
from heliograph.lab.flows import node_red
from heliograph.lab.flows.end_to_end import EndToEnd
from heliograph.lab.flows.flow_bench import peer_lines
from heliograph.lab.flows.node_red import OURS, PEER, PeerRow


@pytest.mark.parametrize("name", node_red.PROGRAMS)
def test_its_flow_is_a_path_from_topic_to_topic(name):
    nodes = {node["id"]: node for node in json.loads(node_red.flow_file(node_red.PROGRAMS[name], 1883, "in", "out"))}
    assert (nodes["server"]["broker"], nodes["server"]["port"]) == ("127.0.0.1", "1883")
    at, path = "n0", []
    while True:
        path.append(nodes[at]["type"])
        if not nodes[at]["wires"]:
            break
        ((at,),) = nodes[at]["wires"]
    assert path == ["mqtt in", *(node["type"] for node in node_red.PROGRAMS[name]), "mqtt out"]
    assert (nodes["n0"]["topic"], nodes[at]["topic"]) == ("in", "out")


def test_nothing_is_measured_without_it(monkeypatch, capsys):
    monkeypatch.setattr(node_red, "program", lambda: None)
    assert main(["bench", "flows", "--target", "node-red"]) == 0
    assert "make node-red" in capsys.readouterr().out


def test_its_cpu_time_is_compared_with_ours():
    runs = {OURS: EndToEnd(10, 500.0, 0.3, 0.1, 1.0, 0.0), PEER: EndToEnd(10, 400.0, 0.4, 0.25, 1.0, 0.9)}
    _, ours, peer = peer_lines([PeerRow("pass through", 1024, target, run) for target, run in runs.items()])
    assert ours.split() == ["pass", "through", "1024", "heliograph", "500", "100"]
    assert peer.split()[:7] == ["pass", "through", "1024", "node-red", "400", "250", "2.5x"]
    assert "noisy: others used 0.9 cores" in peer
