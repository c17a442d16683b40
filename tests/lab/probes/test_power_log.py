"""Logs of power meters: read as they are written, added for machines with two supplies, and joined to runs by time."""

from datetime import datetime

import pytest

from heliograph.cli.main import main
from heliograph.errors import Problem
from heliograph.lab.probes.power_log import power_samples, read_power_log

FIRST = """Log Date,Log Time,Voltage,Current,Power Factor,Watts,kWh
04/26/2013,10:04:05,203.18,1.169,0.58,135,182
04/26/2013,10:05:05,203.55,0.987,0.69,139,182
04/26/2013,10:06:05,203.14,1.150,0.60,137,182
"""
# As the published table has it: two lines of headings, tabs, no comma.
SECOND = """Log Date\tLog Time\tOutput\t\tLoad Group Watts
(mm/dd/yyyy)\t(hh:mm:ss)\tVoltage (V)\tCurrent (A)\t(W)
04/26/2013\t10:04:05\t202.13\t1.053\t164
04/26/2013\t10:05:06\t202.55\t1.017\t162
04/26/2013\t10:06:05\t202.30\t1.239\t166
"""


def moment(text):
    return datetime.strptime(f"2013-04-26 {text}", "%Y-%m-%d %H:%M:%S").astimezone().timestamp()


@pytest.fixture
def logs(tmp_path):
    for name, text in (("first", FIRST), ("second", SECOND)):
        (tmp_path / f"{name}.csv").write_text(text)
    return [tmp_path / "first.csv", tmp_path / "second.csv"]


def test_watts_are_found_by_their_heading(logs):
    assert read_power_log(logs[0]).watts == (135, 139, 137)
    assert read_power_log(logs[1]).watts == (164, 162, 166)


def test_two_supplies_are_added(logs):
    both = [read_power_log(path) for path in logs]
    samples = power_samples(both, moment("10:04:00"), 30)
    assert [(sample.at, sample.source, sample.metric, sample.value) for sample in samples] == [
        (5, "power", "watts", 135 + 164)
    ]


def test_a_run_between_two_readings_has_both(logs):
    samples = power_samples([read_power_log(logs[0])], moment("10:04:20"), 10)
    assert [sample.value for sample in samples] == [135, 139]


def test_a_run_that_the_log_does_not_reach_has_none(logs):
    assert power_samples([read_power_log(logs[0])], moment("11:00:00"), 60) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Date,Volts\n1,2\n", "expected headings with a date, a time and watts"),
        (FIRST + "04/27/2013,noon,1,1,1,9,1\n", "line 5: expected a date as mm/dd/yyyy"),
        (FIRST.splitlines()[0] + "\n", "expected readings below the headings"),
    ],
)
def test_a_log_that_makes_no_sense_is_refused(tmp_path, text, said):
    (tmp_path / "log.csv").write_text(text)
    with pytest.raises(Problem, match=said):
        read_power_log(tmp_path / "log.csv")


def test_a_log_that_fits_no_run_changes_nothing(tmp_path, logs, capsys):
    (tmp_path / "runs").mkdir()
    assert main(["lab", "power", str(logs[0]), "--out", str(tmp_path)]) == 1
    assert "do not reach over any of the runs" in capsys.readouterr().err
