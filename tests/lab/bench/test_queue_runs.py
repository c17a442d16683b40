"""The measurements that are run by themselves: restarts with full queues, and very many connections."""

import sys

import pytest

from heliograph.lab.bench import connections, queue_restart


@pytest.fixture
def run(monkeypatch, capsys):
    def run(module, *words: str) -> list[list[str]]:
        monkeypatch.setattr(sys, "argv", [module.__name__, *words])
        module.main()
        return [line.split() for line in capsys.readouterr().out.splitlines()]

    return run


def test_a_crash_loses_no_persistent_message(run):
    head, *rows, _legend = run(queue_restart, "--messages", "2000")
    assert head[:2] == ["size", "broker"]
    assert [row[:2] for row in rows] == [["256", "heliograph"], ["2048", "heliograph"]]
    for row in rows:
        assert row[-2:] == ["0", "0"]  # lost, twice
        ready, first = float(row[3]), float(row[4])
        assert 0 < ready < first


def test_connections_have_a_rate_and_a_size(run):
    _head, row, *_ = run(connections, "--connections", "60", "--target", "heliograph")
    assert row[:2] == ["amqp-connections", "heliograph"]
    assert "KB/connection" in " ".join(row)


def test_no_more_connections_are_tried_than_files_can_be_open(monkeypatch):
    monkeypatch.setattr(connections.resource, "getrlimit", lambda _kind: (1000, 1000))
    assert connections.most() == 500
