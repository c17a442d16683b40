"""The measurements that are no cases: restarts with full queues, and very many connections."""

from heliograph.cli.main import main
from heliograph.lab.bench import connections


def rows(capsys, *words: str) -> list[list[str]]:
    assert main(["bench", *words]) == 0
    return [line.split() for line in capsys.readouterr().out.splitlines()]


def test_a_crash_loses_no_persistent_message(capsys):
    head, *found, _legend = rows(capsys, "restart", "--messages", "2000")
    assert head[:2] == ["size", "broker"]
    assert [row[:2] for row in found] == [["256", "heliograph"], ["2048", "heliograph"]]
    for row in found:
        assert row[-2:] == ["0", "0"]  # lost, twice
        ready, first = float(row[3]), float(row[4])
        assert 0 < ready < first


def test_connections_have_a_rate_and_a_size(capsys):
    _head, row, *_ = rows(capsys, "connections", "--connections", "60", "--target", "heliograph")
    assert row[:2] == ["amqp-connections", "heliograph"]
    assert "KB/connection" in " ".join(row)


def test_no_more_connections_are_tried_than_files_can_be_open(monkeypatch):
    monkeypatch.setattr(connections.resource, "getrlimit", lambda _kind: (1000, 1000))
    assert connections.most_connections() == 500
