"""The fuzzer itself: the same seed does the same, and what is wrong is found, kept and made small."""

import random
from pathlib import Path

import pytest

from fuzz import findings
from fuzz.__main__ import Tally, _turn
from fuzz.mutating import LONGEST, mutated, rearranged
from fuzz.target import Target, TooMuch, bounded
from fuzz.targets.amqp import Amqp
from fuzz.targets.mqtt import MqttCodec
from fuzz.targets.texts import Selectors


class Defective(Target):
    """Cannot stand the byte 0xff, and may not like zeros."""

    name = "defective"
    allowed = (ValueError,)

    def seeds(self) -> list[bytes]:
        return [b"harmless" * 20]

    def run(self, data: bytes) -> None:
        if b"\0" in data:
            raise ValueError("zero")
        if b"\xff" in data:
            raise KeyError("planted")


@pytest.mark.parametrize("target", [Defective(), Amqp(), Selectors()], ids=lambda target: target.name)
def test_a_seed_makes_the_same_inputs_again(target: Target) -> None:
    one, other = random.Random(7), random.Random(7)
    assert [target.made(one) for _ in range(50)] == [target.made(other) for _ in range(50)]


def test_inputs_are_changed_and_stay_within_bounds() -> None:
    chance = random.Random(1)
    data = bytes(range(200))
    changed = [mutated(data, chance, [b"other"], [b"word"]) for _ in range(500)]
    assert sum(one != data for one in changed) > 400
    assert len(set(map(len, changed))) > 10
    assert len(mutated(b"x" * (LONGEST + 1), chance)) <= LONGEST
    for _ in range(100):
        mutated(b"", chance)
        rearranged([], chance)


@pytest.mark.parametrize("target", [MqttCodec(), Amqp()], ids=lambda target: target.name)
def test_a_change_in_one_unit_leaves_the_others_where_they_are(target: Target) -> None:
    chance = random.Random(3)
    data = target.join([unit for data in target.seeds()[:5] for unit in target.split(data)])
    whole = target.split(data)
    assert len(whole) > 3
    number = sum(len(target.split(target.changed(data, chance))) == len(whole) for _ in range(100))
    assert number > 60


def test_a_planted_defect_is_found_kept_and_made_small(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(findings, "FOUND", tmp_path)
    tally = Tally()
    _turn(Defective(), 1.0, random.Random(5), tally)
    assert [kind.split(" at ")[0] for kind in tally.found] == ["KeyError"]
    assert tally.inputs > 100
    (found,) = [path for path in (tmp_path / "defective").iterdir() if path.suffix != ".txt"]
    assert found.read_bytes() == b"\xff"
    assert "planted" in found.with_suffix(".txt").read_text()
    assert f"--replay {found}" in capsys.readouterr().out


def test_what_takes_too_long_is_found() -> None:
    with pytest.raises(TooMuch, match="CPU time"), bounded(0.2):
        while True:
            try:
                sum(range(1000))
            except Exception:
                continue
