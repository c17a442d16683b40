"""At a smaller scale everything becomes less, and ratios stay."""

import pytest

from heliograph.errors import Problem
from heliograph.lab.load.plan import Group, Plan
from heliograph.lab.scenarios import all_scenarios, load_scenario
from heliograph.lab.scenarios.parameters import Parameter, Values

SCALES = (1.0, 0.3, 0.1, 0.01, 0.001)


def group(plan: Plan, name: str) -> Group:
    return next(group for group in plan.groups if group.name == name)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize(("variant", "fan_out"), [("1:100", 100), ("1:10", 10), ("1:1", 1)])
def test_fan_out_keeps_its_ratio(variant: str, fan_out: int, scale: float) -> None:
    for name in ("FANOUT", "FANOUT.SEC"):
        plan = load_scenario(name).plan(scale, variant)
        producers, consumers = plan.groups
        assert producers.destinations == producers.clients == consumers.destinations
        assert consumers.clients == fan_out * producers.destinations


@pytest.mark.parametrize("scale", SCALES)
def test_devices_keep_their_message_a_second(scale: float) -> None:
    for scenario in all_scenarios():
        if scenario.name.startswith("FANIN"):
            producers = group(scenario.plan(scale), "producers")
            at_full_scale = group(scenario.plan(), "producers")
            assert producers.rate is not None
            assert at_full_scale.rate is not None
            each = producers.rate / producers.clients
            assert each == pytest.approx(at_full_scale.rate / at_full_scale.clients), scenario.name


@pytest.mark.parametrize("scale", SCALES)
def test_a_broadcast_keeps_the_messages_of_each_device(scale: float) -> None:
    producer, devices = load_scenario("BROADCAST").plan(scale).groups
    assert producer.rate == 20
    assert devices.clients == max(50, round(512000 * scale))


@pytest.mark.parametrize("scale", SCALES)
def test_consumers_of_a_queue_or_topic_stay_as_many(scale: float) -> None:
    producers, consumers = load_scenario("JMSQUEUE").plan(scale).groups
    assert consumers.clients == 10 * producers.clients
    producers, consumers = load_scenario("JMSPERSISTENT").plan(scale).groups
    assert producers.clients == 3 * consumers.clients
    producers, consumers = load_scenario("JMSFANOUT").plan(scale).groups
    assert consumers.clients == 30 * producers.clients


@pytest.mark.parametrize("scale", [1.0, 0.5, 0.3, 0.2])
def test_queue_managers_keep_their_requesters_and_responders(scale: float) -> None:
    plan, setup = load_scenario("C3").plan(scale), load_scenario("C3").setup(scale)
    requesters = [group for group in plan.groups if group.role == "request"]
    responders = [group for group in plan.groups if group.role == "respond"]
    assert setup.managers == len(requesters) == len(responders) == 10 * scale
    assert [group.door for group in requesters] == [f"QM{number}" for number in range(setup.managers)]
    assert {group.clients for group in requesters} == {30}
    assert {group.clients for group in responders} == {30}  # three for each of ten queues


def test_at_scale_1_it_is_what_the_document_says() -> None:
    producers, consumers = load_scenario("FANOUT").plan().groups
    assert (producers.clients, producers.rate, consumers.clients, producers.payload.sizes) == (10, 162000, 1000, (32,))
    assert load_scenario("FANIN").plan().groups[0].clients == 400_000
    assert load_scenario("CONNBURST").plan().groups[0].clients == 1_000_000
    assert load_scenario("CONNECTIONS").plan().groups[0].rate == 600  # 60,000 requesters, once in 100 s
    assert load_scenario("HA.DR").plan(variant="10QM 20KB").groups[0].clients == 30
    plan = load_scenario("LATENCY").plan(variant="50K producers")
    assert [(one.clients, one.rate) for one in plan.groups] == [(50_000, 50_000), (10, None), (1, 10_000)]
    assert plan.seconds == 300


def test_time_shrinks_to_its_least_and_never_grows() -> None:
    scenario = load_scenario("FANIN")
    assert [scenario.plan(scale).seconds for scale in (2.0, 1.0, 0.1, 0.001)] == [600, 600, 60, 1]
    assert scenario.plan(0.001).warm_up == 0.5
    assert load_scenario("CONNBURST").plan(0.001).warm_up == 0


def test_many_clients_are_spread_over_processes() -> None:
    assert load_scenario("CONNBURST").plan().processes == 50
    assert load_scenario("CONNBURST").plan(0.001).processes == 1


def test_what_is_set_is_not_scaled_and_what_follows_from_it_follows() -> None:
    plan = load_scenario("FANIN").plan(0.001, overrides={"producers": "1234", "seconds": "7", "processes": 3})
    assert (plan.groups[0].clients, plan.groups[0].rate, plan.seconds, plan.processes) == (1234, 1234, 7, 3)
    assert load_scenario("FANIN").plan(0.001, overrides={"rate": "50.5"}).groups[0].rate == 50.5
    assert load_scenario("FANOUT").plan(0.001, overrides={"fan_out": 7}).groups[1].clients == 7


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"rate": "fast"}, "rate is a number, not 'fast'"),
        ({"seconds": "soon"}, "seconds is a number, not 'soon'"),
        ({"seconds": 0}, "seconds is above 0, not 0"),
        ({"producers": 0}, "group producers has 0 clients; expected a whole number from 1 on"),
        ({"producers": 1.5}, "group producers has 1.5 clients; expected a whole number from 1 on"),
        ({"rate": 0}, "group producers has a rate of 0; expected messages a second, above 0"),
    ],
)
def test_values_that_make_no_sense_are_refused(overrides: dict[str, str | int], message: str) -> None:
    with pytest.raises(Problem, match=message):
        load_scenario("FANIN").plan(overrides=overrides)


def test_a_scale_is_above_nothing() -> None:
    with pytest.raises(Problem, match="a scale is above 0, not 0"):
        load_scenario("FANIN").plan(0)


def test_a_value_below_the_least_stays_what_it_is() -> None:
    parameter = Parameter("clients", 300, scaled=True, least=10)
    assert [parameter.at_scale(300, scale) for scale in (1, 0.1, 0.001)] == [300, 30, 10]
    assert [parameter.at_scale(1, scale) for scale in (1, 0.001)] == [1, 1]


def test_parameters_that_are_made_of_each_other_are_refused() -> None:
    parameters = {"a": Parameter("a", "${b + 1}"), "b": Parameter("b", "${a}")}
    with pytest.raises(Problem, match="a -> b -> a: these parameters depend on each other"):
        Values(parameters, {}, 1.0).get("a")
