"""A soak says when a server loses messages or keeps growing, and is content with one that does neither."""

import csv
from pathlib import Path

from heliograph.lab.bench import soak
from heliograph.lab.bench.soak_samples import MB, Record, Sample, growths
from heliograph.lab.targets.heliograph_server import Heliograph
from heliograph.lab.targets.target import TargetSetup

SHORT = soak.SoakPlan(seconds=4.0, rate=400)


def samples(resident, data) -> list[Sample]:
    """A hundred samples with these megabytes as functions of the time from 0 to 1."""
    return [Sample(n, int(resident(n / 100) * MB), int(data(n / 100) * MB), n, n) for n in range(100)]


def test_warming_up_is_not_growth():
    assert growths(samples(lambda at: min(100, 30 + 300 * at), lambda _: 64)) == []


def test_a_sawtooth_is_flat():
    assert growths(samples(lambda at: 50 + at * 1000 % 30, lambda at: 64 + at * 1000 % 200)) == []


def test_a_leak_of_memory_is_growth():
    [text] = growths(samples(lambda at: 100 if at < 0.66 else 120, lambda _: 64))
    assert text == "resident memory grew from 100 MB to 120 MB (second and last third)"


def test_a_data_folder_that_is_never_cleaned_is_growth():
    [text] = growths(samples(lambda _: 50, lambda at: 1000 * at))
    assert text.startswith("the data folder grew from")


def test_samples_are_in_the_file_at_once(tmp_path):
    with Record(tmp_path / "deep" / "soak.csv") as record:
        record.add(Sample(5.0, 32_100_000, 64_000_000, 10, 9))
        text = (tmp_path / "deep" / "soak.csv").read_text()
    assert text.splitlines() == ["seconds,resident_mb,data_mb,sent,received", "5.0,32.1,64.0,10,9"]


def test_a_server_in_order_passes(tmp_path, capsys):
    assert soak.run_soak(SHORT, tmp_path / "soak.csv", Heliograph()) == 0
    assert "flat, nothing lost, nothing doubled" in capsys.readouterr().out
    rows = list(csv.DictReader((tmp_path / "soak.csv").read_text().splitlines()))
    assert int(rows[-1]["received"]) > int(rows[-1]["sent"]) > 400


class Forgetful(Heliograph):
    """Keeps hardly anything for those who are away."""

    def command(self, setup: TargetSetup) -> list[str]:
        words = super().command(setup)
        config = Path(words[-1])
        config.write_text(config.read_text().replace("max_messages = 20000000", "max_messages = 20"))
        return words


def test_a_server_that_loses_messages_does_not(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(soak, "SILENCE_SECONDS", 0.5)
    assert soak.run_soak(SHORT, tmp_path / "soak.csv", Forgetful()) == 1
    [failed] = [line for line in capsys.readouterr().out.splitlines() if line.startswith("FAILED")]
    assert failed.endswith(" lost")


def test_a_server_that_ends_is_a_failure(tmp_path, capsys):
    class Ending(Heliograph):
        def command(self, setup: TargetSetup) -> list[str]:
            return ["false"]

    assert soak.run_soak(SHORT, tmp_path / "soak.csv", Ending()) == 1
    assert "FAILED: the server failed" in capsys.readouterr().out
