"""The price of a turn is measured for all ways that a message can go, and for several versions in turns."""

from pathlib import Path

import heliograph
from heliograph.lab import durable_turn


def test_versions_are_compared_for_all_ways(monkeypatch, capsys) -> None:
    monkeypatch.setattr(durable_turn, "_TURNS", 3)
    monkeypatch.setattr(durable_turn, "_ROUNDS", 2)
    source = str(Path(heliograph.__file__).parents[1])
    durable_turn.main([source, f"{source}/."])
    shown = capsys.readouterr().out.splitlines()
    assert [line for line in shown if "durability" in line] == ['durability = "memory"', 'durability = "disk"']
    figures = [line for line in shown if "us of CPU" in line]
    assert len(figures) == 2 * 3 * 2
    assert all(line.endswith((f"1.00  {source}", f"{source}/.")) for line in figures)
