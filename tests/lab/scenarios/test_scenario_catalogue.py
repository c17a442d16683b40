"""The catalogue has every test of the five documents, and each of them can be planned at any scale."""

import numpy as np
import pytest

from heliograph.errors import Problem
from heliograph.lab.flows.flow_cases import Storage
from heliograph.lab.load.accounts import Expectation
from heliograph.lab.load.naming import filters_of, topics_of
from heliograph.lab.load.plan import Address, Plan
from heliograph.lab.scenarios import Scenario, all_scenarios, load_scenario
from heliograph.lab.trials.flow_trial import flow_case

NAMES = {
    "messagesight": """
        FANIN FANOUT PERSISTENT JMSPUBSUB JMSQUEUE JMSPERSISTENT JMSFANOUT WMQPUBSUB WMQDURABLE FANIN.SEC FANOUT.SEC
        LATENCY CONNBURST LARGEMSG PERSISTENT.MPW PERSISTENT.MPU""",
    "messagesight-ve": """
        FANIN.Q0.SINGLE FANIN.SEC.Q0.JMS.SINGLE FANIN.Q0.PARTITIONS FANIN.Q1.PERSISTENT.PARTITIONS
        FANIN.Q2.PERSISTENT.PARTITIONS FANIN.SEC.Q0.PARTITIONS FANIN.SEC.Q1.PERSISTENT.PARTITIONS
        FANIN.SEC.Q2.PERSISTENT.PARTITIONS FANIN.Q0.JMS.PARTITIONS FANIN.SEC.Q0.JMS.PARTITIONS
        FANIN.SEC.Q1.PERSISTENT.JMS.PARTITIONS FANIN.SEC.Q2.PERSISTENT.JMS.PARTITIONS FANIN.Q0.SHARED
        FANIN.Q1.PERSISTENT.SHARED FANIN.Q2.PERSISTENT.SHARED FANIN.SEC.Q0.SHARED FANIN.SEC.Q1.PERSISTENT.SHARED
        FANIN.SEC.Q2.PERSISTENT.SHARED FANIN.SEC.Q0.JMS.SHARED FANIN.Q1.PERSISTENT.JMS.SHARED
        FANIN.Q2.PERSISTENT.JMS.SHARED FANIN.SEC.Q1.PERSISTENT.JMS.SHARED FANIN.SEC.Q2.PERSISTENT.JMS.SHARED
        FANIN.Q0.HA.PARTITIONS BROADCAST CONNECTIONS.PER.GB""",
    "mq-appliance": "C1 C2 C3 C4 CONNECTIONS HA1 HA2 HA.DISTANCE DR1 DR2 DR.DISTANCE HA.DR",
    "messagesight-bridge": "BRIDGE.SINGLEFWD",
    "message-broker": """
        MESSAGE.ROUTING MESSAGE.ENRICHMENT MESSAGE.UPDATE MESSAGE.TRANSFORMATION COMPLEX.PROCESSING
        TRIVIAL AGGREGATION
        COMPUTE.SIMPLE COMPUTE.COMPLEX COMPUTE.MULTIPLE COMPUTE.VERYCOMPLEX COMPUTE.NESTEDSELECT
        DATABASE.INSERTDELETE DATABASE.UPDATE DATABASE.READ FILTER FLOWORDER.WITHOUT FLOWORDER
        MAPPING.CWF-TDS MAPPING.MRMXML-CWF MAPPING.TDS-XML
        CONVERT.XML-XML CONVERT.XML-CWF CONVERT.XML-MRMXML CONVERT.XML-TDS
        CONVERT.CWF-XML CONVERT.CWF-CWF CONVERT.CWF-MRMXML CONVERT.CWF-TDS
        CONVERT.MRMXML-XML CONVERT.MRMXML-CWF CONVERT.MRMXML-MRMXML CONVERT.MRMXML-TDS
        CONVERT.TDS-XML CONVERT.TDS-CWF CONVERT.TDS-MRMXML CONVERT.TDS-TDS
        SWIFT PUBLISH.1 PUBLISH.10 PUBLISH.100 PUBLISH.1000 PUBLISH.CONTENT ROUTETOLABEL.1 ROUTETOLABEL.100
        INSTANCES.1 INSTANCES.2 INSTANCES.4 INSTANCES.8 GROUPS.1 GROUPS.2 GROUPS.4 GROUPS.8""",
}
SECTIONS = (
    "2.1 2.2 2.3 2.4 2.5 3.1 3.2 3.3.1 3.3.2 3.3.3 3.3.4 3.3.5 3.4.1 3.4.2 3.4.3 3.5 3.6 3.7.1 3.8.1 3.8.2 "
    "3.9.1.1 3.9.1.2 3.9.2 3.10 4.1 4.2"
)
LOADS = [scenario for scenario in all_scenarios() if not scenario.is_flow]
FLOWS = [scenario for scenario in all_scenarios() if scenario.is_flow]


def variants(scenario: Scenario) -> list[str]:
    return [variant.name for variant in scenario.variants] or [""]


def addresses(plan: Plan) -> dict[str, Address]:
    """Doors of queue managers lead to those, all others to one server."""
    doors = {group.door for group in plan.groups}
    return {door: Address(1, manager=door if door.startswith("QM") else "") for door in doors}


@pytest.mark.parametrize("document", NAMES)
def test_every_test_of_a_document_is_there_in_its_order(document: str) -> None:
    assert [scenario.name for scenario in all_scenarios(document)] == NAMES[document].split()


def test_names_are_unique() -> None:
    names = [scenario.name for scenario in all_scenarios()]
    assert len(names) == len(set(names)) == sum(len(text.split()) for text in NAMES.values())


def test_every_section_of_chapters_2_3_and_4_is_measured() -> None:
    assert list(dict.fromkeys(scenario.section for scenario in all_scenarios("message-broker"))) == SECTIONS.split()


@pytest.mark.parametrize("name", ["C1", "C2", "C3", "C4", "HA1", "HA2", "DR1", "DR2"])
def test_requests_come_in_four_sizes_each_also_with_a_single_requester(name: str) -> None:
    scenario = load_scenario(name)
    for label, size in (("256B", 256), ("2KB", 2048), ("20KB", 20480), ("200KB", 204800)):
        assert scenario.values(variant=label)["size"] == size
        alone = scenario.plan(variant=f"{label} single thread")
        assert sum(group.clients for group in alone.groups if group.role == "request") == 1


def test_distances_are_those_of_the_document() -> None:
    for name, delays in (("HA.DISTANCE", (1, 2, 5, 10)), ("DR.DISTANCE", (10, 20, 50, 100))):
        scenario = load_scenario(name)
        for delay in delays:
            for size in ("256B", "2KB", "20KB", "200KB"):
                assert scenario.setup(variant=f"{delay}ms {size}").replication_delay_ms == delay


@pytest.mark.parametrize("scenario", LOADS, ids=lambda scenario: scenario.name)
def test_a_load_can_be_planned_at_every_scale_and_survives_json(scenario: Scenario) -> None:
    for variant in variants(scenario):
        for scale in (1.0, 0.001):
            plan = scenario.plan(scale, variant)
            plan.check()
            assert Plan.from_json(plan.to_json()) == plan
            scenario.setup(scale, variant)


@pytest.mark.parametrize("scenario", LOADS, ids=lambda scenario: scenario.name)
def test_a_thousandth_is_small_enough_for_two_cores(scenario: Scenario) -> None:
    for variant in variants(scenario):
        plan = scenario.plan(0.001, variant)
        assert plan.processes == 1
        assert plan.seconds + plan.warm_up <= 1.5
        assert 1 <= sum(group.clients for group in plan.groups) <= 1100
        ingress = sum(group.rate or 0 for group in plan.groups)
        assert ingress <= 5000
        assert scenario.setup(0.001, variant).managers <= 2


@pytest.mark.parametrize("scenario", LOADS, ids=lambda scenario: scenario.name)
def test_every_message_is_for_somebody_and_everybody_gets_some(scenario: Scenario) -> None:
    """So that a message that is lost is missed: topics, filters, queues and what feeds them fit together."""
    if scenario.name in {"CONNBURST", "CONNECTIONS.PER.GB"}:
        return  # nobody sends anything
    plan = scenario.plan(0.001)
    one_each = {at: np.ones(group.clients, int) for at, group in enumerate(plan.groups) if group.sends}
    owed = {plan.groups[at].name: count for at, count in Expectation(plan, addresses(plan)).of(one_each).items()}
    assert all(owed.values())
    sent = sum(group.clients for group in plan.groups if group.sends)
    assert sum(owed[group.name] for group in plan.groups if group.role != "request" and group.receives) == (
        sent * int(scenario.values(0.001).get("fan_out", 1)) if scenario.name != "BROADCAST" else 512
    )


def test_requests_to_a_queue_manager_are_for_its_own_responders() -> None:
    plan = load_scenario("C3").plan(0.001)
    names = [group.name for group in plan.groups]
    counts = {names.index("requesters-0"): np.full(10, 7), names.index("requesters-1"): np.full(10, 1)}
    owed = Expectation(plan, addresses(plan)).of(counts)
    assert owed[names.index("responders-0")] == 70
    assert owed[names.index("responders-1")] == 10


def test_queues_that_a_load_uses_are_set_up() -> None:
    for scenario in LOADS:
        for scale in (1.0, 0.001):
            queues = {f"queue://{queue.name}" for queue in scenario.setup(scale).queues}
            used = set()
            for group in scenario.plan(scale).groups:
                some = range(min(group.clients, 1000))
                used |= {name for client in some for name in topics_of(group, client) if group.sends}
                used |= {name for client in some for name in filters_of(group, client) if group.receives}
            assert {name for name in used if name.startswith("queue://")} == queues, scenario.name


def test_forwarding_rules_lead_from_every_topic_to_a_queue() -> None:
    for name in ("WMQPUBSUB", "WMQDURABLE"):
        plan, setup = load_scenario(name).plan(0.001), load_scenario(name).setup(0.001)
        producers = plan.groups[0]
        published = {topics_of(producers, client)[0] for client in range(producers.clients)}
        assert published == {topic for queue in setup.queues for topic in queue.topics}


@pytest.mark.parametrize("scenario", FLOWS, ids=lambda scenario: scenario.name)
def test_a_flow_is_a_case_of_the_flow_bench(scenario: Scenario) -> None:
    for variant in variants(scenario):
        flow = scenario.flow(variant)
        case = flow_case(flow, processors=2)
        assert case.section == flow.section
        assert case.groups >= 2 or not flow.fill


def test_database_flows_are_coordinated_unless_a_variant_says_otherwise() -> None:
    scenario = load_scenario("DATABASE.UPDATE")
    assert flow_case(scenario.flow(), 2).storage is Storage.POSTGRESQL
    assert flow_case(scenario.flow("4KB SQLite"), 2).storage is Storage.SQLITE


def test_a_flow_that_fills_the_machine_runs_in_a_group_for_each_processor() -> None:
    case = flow_case(load_scenario("MESSAGE.ROUTING").flow(), processors=3)
    assert case.groups == 3
    assert "execution_groups: 3\n" in case.files["flow.yaml"]


def test_throughput_is_held_without_loss_and_with_cpu_to_spare() -> None:
    for scenario in all_scenarios():
        if scenario.type == "Throughput":
            rule = scenario.passing
            assert (rule.lost, rule.held, rule.average_latency_ms, rule.busiest_cpu) == (0, True, 500, 85), (
                scenario.name
            )
            assert scenario.measure.seconds == 600


def test_a_search_can_begin_wherever_there_is_a_peak() -> None:
    for scenario in LOADS:
        assert scenario.search_parameter or scenario.type == "Latency", scenario.name


def test_what_is_not_built_says_so() -> None:
    heliograph = {"mqtt", "mqtt5", "tls", "websocket", "amqp", "queues", "transactions", "durable", "shared"}
    heliograph |= {"queue-managers", "flows"}
    waiting = {scenario.name for scenario in all_scenarios() if scenario.missing(heliograph)}
    assert waiting == {
        *(
            "HA1",
            "HA2",
            "HA.DISTANCE",
            "DR1",
            "DR2",
            "DR.DISTANCE",
            "HA.DR",
            "BRIDGE.SINGLEFWD",
            "FANIN.Q0.HA.PARTITIONS",
        )
    }
    assert load_scenario("HA.DR").missing(heliograph) == ("ha", "dr")
    sentence = load_scenario("BRIDGE.SINGLEFWD").refusal("heliograph", heliograph)
    assert sentence == (
        "BRIDGE.SINGLEFWD needs a bridge that forwards messages to another server, "
        "which heliograph does not have; that is not built yet"
    )
    assert (
        load_scenario("C1").refusal("mosquitto", {"mqtt"})
        == "C1 needs AMQP 1.0 and queues, which mosquitto does not have"
    )
    assert load_scenario("C1").refusal("heliograph", heliograph) == ""


def test_unknown_names_are_refused_with_a_suggestion() -> None:
    with pytest.raises(Problem, match=r"there is no scenario FANNIN \(did you mean FANIN\?\)"):
        load_scenario("FANNIN")
    with pytest.raises(Problem, match=r"there is no document mq-aplliance \(did you mean mq-appliance\?\)"):
        all_scenarios("mq-aplliance")
    with pytest.raises(Problem, match=r"C1 has no variant '3KB' \(did you mean 2KB\?\)"):
        load_scenario("C1").plan(variant="3KB")
    with pytest.raises(Problem, match=r"there is no parameter rat \(did you mean rate\?\)"):
        load_scenario("FANOUT").plan(overrides={"rat": 1})


def test_loads_and_flows_are_not_taken_for_each_other() -> None:
    with pytest.raises(Problem, match="FILTER measures a message flow"):
        load_scenario("FILTER").plan()
    with pytest.raises(Problem, match="FANIN measures clients of a broker"):
        load_scenario("FANIN").flow()
