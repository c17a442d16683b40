"""What is seen while a load runs, and what can be said to it."""

import io

import pytest

from heliograph.cli.lab.progress import Console, Progress
from heliograph.errors import Problem
from heliograph.lab.load import Group, Histogram, Interval, Plan

PLAN = Plan((Group("producers", "publish", 1, destination="t", rate=100.0),), seconds=5)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def second(number, *, process=0, sent=50, received=500):
    latencies = {"message": Histogram({2_000_000: 10}, 10, 2_000_000, 2_000_000, 20_000_000, 4e13)}
    yield Interval(number, process, "producers", sent=sent, connected=1)
    yield Interval(number, process, "consumers", received=received, lost=1, connected=10, latencies=latencies)


def feed(progress, *seconds):
    for intervals in seconds:
        for interval in intervals:
            progress.on_interval(interval)


def test_a_second_is_shown_when_it_is_over_over_all_processes():
    terminal = Terminal()
    progress = Progress(terminal)
    progress.begin("FANOUT")
    feed(progress, second(0), second(0, process=1))
    assert "in " not in terminal.getvalue()
    feed(progress, second(1))
    shown = terminal.getvalue().rpartition("\x1b[K")[2]
    assert shown == "FANOUT: 1 s, in 100/s, out 1,000/s, latency 2 ms, 99P 2 ms, lost 2, connected 22"


def test_warm_up_is_called_so():
    terminal = Terminal()
    progress = Progress(terminal)
    progress.begin("FANOUT")
    feed(progress, second(-1), second(0))
    assert "FANOUT: warm-up, in 50/s" in terminal.getvalue()


def test_a_file_gets_no_lines_that_rewrite_themselves():
    file = io.StringIO()
    progress = Progress(file)
    progress.begin("FANOUT")
    feed(progress, second(0), second(1))
    progress.tell("done")
    assert file.getvalue() == "done\n"


@pytest.fixture
def console():
    progress = Progress(io.StringIO())
    progress.begin("FANOUT")
    console = Console(progress, [])
    console.shown = progress._stream
    console.progress = progress
    return console


def test_the_rate_can_be_changed_while_a_load_runs(console):
    control = console.make_control()
    console.obey("rate=250")
    assert control.take(PLAN) == [2.5]


def test_nothing_can_be_changed_before_a_load_runs(console):
    with pytest.raises(Problem, match="no load runs yet"):
        console.obey("rate=250")


def test_a_load_can_be_stopped(console):
    control = console.make_control()
    console.obey("stop")
    assert control.take(PLAN) == ["stop"]
    assert console.stopped


def test_an_empty_line_asks_for_statistics(console):
    feed(console.progress, second(0), second(1))
    console.obey("")
    assert "in 50/s, out 500/s" in console.shown.getvalue()


@pytest.mark.parametrize(("command", "said"), [("faster", "rate=N"), ("rate=much", "expected rate=NUMBER")])
def test_what_is_not_understood_is_answered_with_what_would_be(console, command, said):
    console.make_control()
    with pytest.raises(Problem, match=said):
        console.obey(command)
