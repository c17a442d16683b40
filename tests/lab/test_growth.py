"""The cases that show what growth costs, on our own server and with very few of everything."""

import pytest

from heliograph.lab.case import Case, Effort, Site
from heliograph.lab.growth import GROWTH, Depth, Queues, RetainedMessages, Sessions, Subscriptions, topic
from heliograph.lab.link import Link
from heliograph.lab.targets.heliograph_server import Heliograph
from heliograph.lab.targets.running import running

EFFORT = Effort(0.1, 1, 10)
FEW: list[Case] = [
    kind(name="growth", about="", sizes=(3, 7)) for kind in (Sessions, Subscriptions, RetainedMessages, Queues, Depth)
]


@pytest.mark.parametrize("case", FEW, ids=lambda case: type(case).__name__)
def test_there_are_figures_for_each_size(case: Case) -> None:
    with running(Heliograph(), None, durable=case.durable, amqp="amqp" in case.needs) as broker:
        outcome = case.measure(Site(broker.address, broker.meter, EFFORT, restart=broker.restart, doors=broker.doors))
    assert outcome.delivered > 0
    names = ["B each", "µs per message"]
    if not isinstance(case, Subscriptions):
        names += ["B each after a restart", "s to restart"]
        assert outcome.figures["s to restart at 7"] > 0
    assert set(outcome.figures) == {f"{name} at {size}" for name in names for size in (3, 7)}


def test_devices_that_have_been_there_have_sessions_and_messages() -> None:
    case = Sessions(name="growth", about="", sizes=(3,))
    with running(Heliograph(), None, durable=True) as broker:
        case.measure(Site(broker.address, broker.meter, EFFORT, restart=broker.restart))
        device = Link(broker.address, "device-0000002", durable=True)
        assert device._expect(0x20) == b"\x01\x00", "there is a session"
        assert topic(2).encode() in device._expect(0x32)
        device.close()


def test_a_short_run_has_the_same_sizes_in_little() -> None:
    assert {case.name for case in GROWTH} == {
        "growth-sessions",
        "growth-subscriptions",
        "growth-retained",
        "growth-queues",
        "growth-depth",
    }
    with running(Heliograph(), None) as broker:
        case = Subscriptions(name="growth", about="", sizes=(1_000, 10_000))
        outcome = case.measure(Site(broker.address, broker.meter, Effort(0.1, 1, 10, backlog=0.002)))
    assert {name.rpartition(" ")[2] for name in outcome.figures} == {"2", "20"}
