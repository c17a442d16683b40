"""The cases that show what growth costs, on our own server and with very few of everything."""

from xml.etree import ElementTree

import pytest

from heliograph.lab.bench.bench_case import BenchCase, BenchEffort, BrokerSite
from heliograph.lab.bench.growth import GROWTH, Depth, Queues, RetainedMessages, Sessions, Subscriptions, topic
from heliograph.lab.bench.growth_chart import growth_chart, standing_alone
from heliograph.lab.targets.broker_process import running_broker
from heliograph.lab.targets.heliograph_server import Heliograph
from paho_client import V311, PahoClient

EFFORT = BenchEffort(0.1, 1, 10)
FEW: list[BenchCase] = [
    kind(name="growth", about="", sizes=(3, 7)) for kind in (Sessions, Subscriptions, RetainedMessages, Queues, Depth)
]


@pytest.mark.parametrize("case", FEW, ids=lambda case: type(case).__name__)
def test_there_are_figures_for_each_size(case: BenchCase) -> None:
    with running_broker(Heliograph(), None, durable=case.durable, amqp="amqp" in case.needs) as broker:
        outcome = case.measure(
            BrokerSite(broker.address, broker.meter, EFFORT, restart=broker.restart, doors=broker.doors)
        )
    assert outcome.delivered > 0
    names = ["B each", "µs per message"]
    if not isinstance(case, Subscriptions):
        names += ["B each after a restart", "s to restart"]
        assert outcome.figures["s to restart at 7"] > 0
    assert set(outcome.figures) == {f"{name} at {size}" for name in names for size in (3, 7)}


def test_devices_that_have_been_there_have_sessions_and_messages() -> None:
    case = Sessions(name="growth", about="", sizes=(3,))
    with running_broker(Heliograph(), None, durable=True) as broker:
        case.measure(BrokerSite(broker.address, broker.meter, EFFORT, restart=broker.restart))
        device = PahoClient(V311, "device-0000002", clean=False).connect(broker.address.port)
        assert device.flags.session_present
        assert device.message().topic == topic(2)
        device.drop()


def test_a_short_run_has_the_same_sizes_in_little() -> None:
    assert {case.name for case in GROWTH} == {
        "growth-sessions",
        "growth-subscriptions",
        "growth-retained",
        "growth-queues",
        "growth-depth",
    }
    with running_broker(Heliograph(), None) as broker:
        case = Subscriptions(name="growth", about="", sizes=(1_000, 10_000))
        outcome = case.measure(BrokerSite(broker.address, broker.meter, BenchEffort(0.1, 1, 10, backlog=0.002)))
    assert {name.rpartition(" ")[2] for name in outcome.figures} == {"2", "20"}


def test_the_chart_has_a_line_for_each_case_and_names_it() -> None:
    figures = {"B each at 10": 5.0, "µs per message at 10": 2.0, "µs per message at 1,000": 3.0}
    rows = [
        {"case": "growth-sessions", "target": "heliograph", "median_figures": figures},
        {"case": "growth-depth", "target": "heliograph", "median_figures": figures},
        {"case": "growth-depth", "target": "mosquitto", "median_figures": figures},
        {"case": "qos0", "target": "heliograph", "median_figures": {}},
    ]
    chart = growth_chart(rows)
    assert [(one.name, one.points) for one in chart.series] == [
        ("sessions", ((10, 2.0), (1000, 3.0))),
        ("depth", ((10, 2.0), (1000, 3.0))),
    ]
    drawn = ElementTree.fromstring(standing_alone(chart))
    texts = [one.text for one in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert {"● sessions", "● depth"} <= set(texts)
    assert len(list(drawn.iter("{http://www.w3.org/2000/svg}polyline"))) == 2
