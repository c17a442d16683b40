"""The pass rule: every part of it can fail a run, and says why; what others do on the machine does not count."""

import pytest

from heliograph.lab.load import Group, Histogram, Interval, LoadOutcome, Plan, Totals
from heliograph.lab.probes.probe import Sample
from heliograph.lab.scenarios import PassRule
from heliograph.lab.trials.verdict import busiest_cpu, judge, observations_of

RULE = PassRule(lost=0, average_latency_ms=500, busiest_cpu=85)
PLAN = Plan(
    (
        Group("producers", "publish", 1, destination="t", rate=100.0),
        Group("consumers", "consume", 2, filters=("t",)),
    ),
    seconds=6,
)


def latency(milliseconds):
    value = round(milliseconds * 1e6)
    return {"message": Histogram({value: 10}, 10, value, value, 10 * value, 10.0 * value * value)}


def outcome(*, lost=0, errors=0, milliseconds=1.0, bottleneck=None):
    groups = {
        "producers": Totals(sent=600),
        "consumers": Totals(
            received=1200 - lost,
            expected=1200,
            lost=lost,
            errors=errors,
            first_error="refused" if errors else "",
            latencies=latency(milliseconds),
        ),
    }
    return LoadOutcome(groups, cpu_seconds=(1.0,), busy=(0.1,), waited=(0.0,), seconds=6.0, bottleneck=bottleneck)


def intervals(sent=(100,) * 6, received=(200,) * 6):
    for second in range(6):
        yield Interval(second, 0, "producers", sent=sent[second])
        yield Interval(second, 0, "consumers", received=received[second])


def verdict(*, found=None, seconds=None, samples=(), rule=RULE, cores=1):
    found = found or outcome()
    facts = observations_of(PLAN, list(seconds or intervals()), found, samples, cores)
    return judge(rule, facts, found.bottleneck)


def server(metric, *values, name="77"):
    return [Sample(at + 1.0, "server", name, metric, value) for at, value in enumerate(values)]


def test_a_run_that_holds_everything_passes():
    found = verdict()
    assert found.passed
    assert found.why == ""


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"found": outcome(lost=3)}, "3 messages lost"),
        ({"found": outcome(errors=2)}, "2 errors, the first: refused"),
        ({"found": outcome(milliseconds=501)}, "average latency 501 ms, above 500 ms"),
        (
            {"seconds": intervals(sent=(100, 100, 90, 90, 110, 110))},
            "producers sent 90 of 100 msg/s (in third 2 of the measured time)",
        ),
        (
            {"seconds": intervals(received=(200,) * 4 + (150,) * 2)},
            "150 of 200 msg/s arrived (in third 3 of the measured time)",
        ),
        ({"samples": server("busiest_thread_percent", 90, 88)}, "busiest CPU 89 %, above 85 %"),
        ({"samples": server("discarded", 5, 9)}, "4 messages discarded by the server"),
    ],
)
def test_what_is_not_as_it_should_be_is_named(given, why):
    found = verdict(**given)
    assert not found.passed
    assert found.why == why
    assert not found.generator_bound


def test_what_the_rule_does_not_ask_for_is_not_judged():
    lenient = PassRule(lost=None, held=False)
    assert verdict(found=outcome(lost=3, milliseconds=900), seconds=intervals(sent=(1,) * 6), rule=lenient).passed


def test_a_run_whose_generator_was_the_limit_is_no_figure_of_the_broker():
    found = verdict(found=outcome(bottleneck="process 0 used 97 % of a core"))
    assert not found.passed
    assert found.generator_bound
    assert found.why == "the generator was the limit: process 0 used 97 % of a core"


def test_a_server_of_many_threads_is_as_busy_as_its_cores():
    samples = [*server("busiest_thread_percent", 30, 30), *server("cpu_percent", 180, 180)]
    assert busiest_cpu(samples, 2, 6.0) == 90
    assert busiest_cpu(samples, 16, 6.0) == 30


def test_a_server_elsewhere_is_not_judged_by_its_cpu():
    assert busiest_cpu([], 2, 6.0) is None
