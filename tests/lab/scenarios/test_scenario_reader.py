"""A mistake in the file of a scenario is told with its place and, where there is one, the right word."""

import pytest

from heliograph.errors import Problem
from heliograph.lab.scenarios.scenario_reader import read_scenario

GOOD = """\
name: SMALL
order: 1
type: Throughput
title: A small one
description: >
  Nothing
  much.
needs: [mqtt]
parameters:
  producers: {value: 10, scaled: true, least: 2}
  rate: "${producers * 5}"
variants:
  - {name: few}
  - {name: many, producers: 100, default: true}
groups:
  - name: producers
    role: publish
    clients: "${producers}"
    destination: "t/{client}"
    rate: "${rate}"
setup: {queues: [{name: "Q{partition}", count: "${producers}", topics: ["t/{partition}"]}]}
measure: {seconds: 10, warm_up: 1}
search: {parameter: rate}
pass: {lost: 0}
score: {value: received_rate, unit: msg/s, group: producers}
"""


def mistakes(old: str, new: str) -> str:
    assert old in GOOD
    with pytest.raises(Problem) as problem:
        read_scenario(GOOD.replace(old, new, 1), "SMALL.yaml", "none")
    return str(problem.value)


def test_a_good_file_is_read() -> None:
    scenario = read_scenario(GOOD, "SMALL.yaml", "none")
    assert (scenario.description, scenario.default) == ("Nothing much.", "many")
    assert scenario.plan(0.5, "many").groups[0].rate == 250
    assert scenario.plan(0.5, "few").groups[0].clients == 5
    assert [queue.name for queue in scenario.setup(0.5, "few").queues] == ["Q0", "Q1", "Q2", "Q3", "Q4"]
    assert scenario.setup(0.5, "few").queues[3].topics == ("t/3",)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("title:", "titel:", "SMALL.yaml:4:1: titel is not known here (did you mean title?)"),
        ("title: A small one\n", "", "SMALL.yaml:1:1: title is missing"),
        ("Throughput", "Throughputs", "SMALL.yaml:3:1: Throughputs is not known here (did you mean Throughput?)"),
        ("[mqtt]", "[mqtt, amqpp]", "SMALL.yaml:8:15: amqpp is not known here (did you mean amqp?)"),
        ("least: 2", "at_least: 2", "SMALL.yaml:10:40: at_least is not known here (did you mean least?)"),
        ("value: 10", "value: ten", "SMALL.yaml:10:3: producers is scaled, so its value has to be a number, not 'ten'"),
        ('"${producers * 5}"', '"${producer * 5}"', "SMALL.yaml:11:3: there is no parameter producer (did you mean"),
        ('"${producers * 5}"', '"${producers *}"', "SMALL.yaml:11:3: ${producers *} is not arithmetic of parameters"),
        ("producers: 100,", "producer: 100,", "SMALL.yaml:14:18: producer is not known here (did you mean producers?)"),
        ("{name: few}", "{name: many}", "SMALL.yaml:14:5: there are two variants many"),
        ("destination:", "destinatoin:", "SMALL.yaml:19:5: destinatoin is not known here (did you mean destination?)"),
        ('count: "$', 'number: "$', "SMALL.yaml:21:41: number is not known here (did you mean name?)"),
        ("seconds: 10, ", "", "SMALL.yaml:22:1: seconds is missing"),
        ("parameter: rate", "parameter: rates", "SMALL.yaml:23:10: rates is not known here (did you mean rate?)"),
        ("lost: 0", "losses: 0", "SMALL.yaml:24:8: losses is not known here (did you mean lost?)"),
        ("value: received_rate", "value: receive_rate", "receive_rate is not known here (did you mean received_rate?)"),
        ("group: producers}", "group: consumers}", "25:44: consumers is not known here; there are producers"),
        ("search:", "flow: 10.1\nsearch:", "SMALL.yaml:1:1: a scenario has either groups or a flow"),
        ("needs: [mqtt]", "needs: [mqtt", "this is not YAML"),
        ("[mqtt]", "mqtt", "SMALL.yaml:8:1: needs is a list, not 'mqtt'"),
        ("title: A small one", "title: 5", "SMALL.yaml:4:1: title is a text, not 5"),
        ("seconds: 10", "seconds: ten", "SMALL.yaml:22:11: seconds is a number, not 'ten'"),
        ("lost: 0", "lost: none", "SMALL.yaml:24:8: lost is a number, true, false or null, not 'none'"),
        ("producers: {value", "seconds: {value", "SMALL.yaml:10:3: seconds can be set of every scenario"),
    ],
)
def test_mistakes_are_told(old: str, new: str, message: str) -> None:
    assert message in mistakes(old, new)


def test_all_mistakes_are_told_at_once() -> None:
    told = mistakes("title: A small one\n", "titel: A small one\nneed: [mqtt]\n")
    assert [line.split(": ", 1)[1] for line in told.splitlines()] == [
        "titel is not known here (did you mean title?)",
        "need is not known here (did you mean needs?)",
        "title is missing",
    ]


def test_a_flow_says_which_messages_it_takes() -> None:
    text = GOOD.replace(GOOD[GOOD.index("groups:") : GOOD.index("measure:")], 'flow: "10.1"\n')
    with pytest.raises(Problem, match=r"SMALL.yaml:9:1: a flow needs the parameter size\n.*parameter persistent"):
        read_scenario(text.replace(", group: producers", ""), "SMALL.yaml", "none")
