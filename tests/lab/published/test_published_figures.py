"""Published figures are those of the documents, and belong to scenarios that exist."""

import csv
from importlib import resources

import pytest

from heliograph.lab.flows.published_rows import published_rows
from heliograph.lab.published import PublishedFigure, every_figure, figures
from heliograph.lab.scenarios import SOURCES, all_scenarios, load_scenario
from heliograph.lab.scenarios.scenario_terms import VALUES


def table(name: str) -> list[dict[str, str]]:
    text = (resources.files("heliograph.lab.published") / name).read_text("utf-8")
    return list(csv.DictReader(text.splitlines()))


def one(scenario: str, variant: str = "", **wanted: str) -> PublishedFigure:
    found = [f for f in figures(scenario, variant) if all(getattr(f, name) == wanted[name] for name in wanted)]
    assert len(found) == 1, found
    return found[0]


def test_every_figure_belongs_to_a_variant_that_exists() -> None:
    known = {s.name: {variant.name for variant in s.variants} or {""} for s in all_scenarios()}
    for figure in every_figure():
        assert figure.variant in known[figure.scenario], figure
        assert load_scenario(figure.scenario).document == figure.document
        assert figure.metric in {"", *VALUES}, figure


def test_every_scenario_with_a_score_in_its_document_has_it() -> None:
    without = {scenario.name for scenario in all_scenarios() if not any(figures(scenario.name))}
    silent = {"LARGEMSG", "BRIDGE.SINGLEFWD"}  # whose documents have no results
    assert {name for name in without if not name.startswith("FANIN.")} == silent
    assert figures("FANIN.Q0.PARTITIONS")  # the only one of those that can be read


def test_the_score_card_of_the_appliance() -> None:
    assert one("FANIN", table="score card").value == 400_000
    assert one("FANIN", table="score card").high_water == 277
    assert one("FANOUT", table="score card", metric="received_rate").value == 16_200_000
    assert one("FANOUT", table="score card", metric="sent_rate").value == 162_000
    assert one("JMSQUEUE").value == 800_000
    assert one("WMQDURABLE").value == 92_000
    latency = one("LATENCY", table="score card")
    assert (latency.avg, latency.p50, latency.p99, latency.max, latency.stdev, latency.unit) == (
        84,
        83,
        144,
        427,
        25,
        "us",
    )
    assert one("CONNBURST", table="score card").value == 65
    assert one("CONNBURST", table="key results", metric="connect_seconds").bound == "less than"
    assert one("PERSISTENT.MPU").value == 230_000
    assert one("FANOUT.SEC", "1:100", metric="sent_rate").value == 20_000


def test_the_logs_of_both_power_supplies_make_up_messages_per_watt() -> None:
    watts = [[float(row["Watts (W)"]) for row in table(f"messagesight_pdu_{number}.csv")] for number in (1, 2)]
    assert [len(log) for log in watts] == [9, 12]
    drawn = sum(sum(log) / len(log) for log in watts)
    assert one("PERSISTENT.MPW", table="score card").value == pytest.approx(460_000 / drawn, rel=0.005)


def test_what_can_be_read_of_the_virtual_edition() -> None:
    assert one("FANIN.Q0.PARTITIONS").value == 500_000
    assert one("BROADCAST").value == 512_000
    assert one("CONNECTIONS.PER.GB").value * 128 == 512_000


def test_round_trips_of_the_queue_appliance() -> None:
    peak = one("C1", "256B", system="M2003A")
    assert (peak.value, peak.cpu_percent, peak.clients, peak.unit) == (485_405, 98.86, 220, "round trips/s")
    assert one("C4", "200KB", system="M2003B").value == 11_871
    far = one("DR.DISTANCE", "100ms 200KB")
    assert (far.value, far.latency_ms, far.vs_direct_percent) == (385, 14.5, 3.4)
    assert one("HA.DISTANCE", "10ms 20KB single thread").value == 51.9
    assert one("HA.DR", "10QM 20KB", system="M2003B HA and DR").value == 27_630
    assert one("HA2", "2KB", system="M2002A HA").latency_ms == 0.8
    assert one("CONNECTIONS").value == 30


def test_every_table_of_the_queue_appliance_is_there() -> None:
    rows = table("mq_appliance.csv")
    sizes = {"table 10": 4, "table 11": 12, "table 14": 16}
    for number in range(1, 23):
        name = f"table {number}"
        assert sum(row["table"] == name for row in rows) == sizes.get(name, 8), name


def test_clients_of_a_variant_are_those_of_the_published_peak() -> None:
    for scenario in all_scenarios("mq-appliance"):
        for variant in scenario.variants:
            for figure in figures(scenario.name, variant.name):
                if figure.system.startswith("M2003A") and figure.metric == "round_trips":
                    assert scenario.values(variant=variant.name)["clients"] == figure.clients


def test_vs_direct_is_the_rate_over_that_without_delay() -> None:
    for name, direct in (("HA.DISTANCE", "HA2"), ("DR.DISTANCE", "DR2")):
        for variant in load_scenario(name).variants:
            for figure in figures(name, variant.name):
                if figure.vs_direct_percent is not None:
                    without = figures(direct, variant.name.split()[1])[0].value
                    assert figure.value / without * 100 == pytest.approx(figure.vs_direct_percent, abs=0.06)


def test_figures_of_flows_stand_by_their_scenarios() -> None:
    assert one("TRIVIAL").value == 2727
    assert one("COMPUTE.SIMPLE", "1KB persistent").value == 83.67
    assert one("SWIFT").cpu_ms == 328.95
    assert one("GROUPS.8").value == one("MESSAGE.UPDATE").value == 397
    assert one("MESSAGE.ROUTING").value == 1954
    assert not figures("DATABASE.UPDATE", "1KB SQLite")  # the document's was coordinated
    of_flows = [figure for figure in every_figure() if figure.cpu_ms is not None]
    assert len(of_flows) == len(published_rows())


def test_tables_in_the_text_agree_with_the_measurement_data() -> None:
    for figure in every_figure():
        if figure.table in {"table 1", "table 2"} and figure.metric == "flow_rate":
            [data] = [f for f in figures(figure.scenario, figure.variant) if f.table.startswith("section 10.")]
            assert data.value == figure.value


def test_layouts_and_parameters_are_what_the_scenarios_have() -> None:
    for row in table("messagesight_forwarding.csv"):
        values = load_scenario(row["scenario"]).values(variant=row["variant"])
        assert (values["producers"], values["topics"]) == (int(row["producers"]), int(row["topics"]))
    bridge = load_scenario("BRIDGE.SINGLEFWD")
    for name in ("cpus", "producers", "size"):
        tried = {bridge.values(variant=variant.name)[name] for variant in bridge.variants}
        listed = {int(row["value"]) for row in table("messagesight_bridge.csv") if row["parameter"] == name}
        assert tried == listed
    assert len(bridge.variants) == 8 * 2 * 3


def test_specifications_are_of_documents_that_exist() -> None:
    rows = table("specifications.csv")
    assert {row["document"] for row in rows} <= {source.name for source in SOURCES}
    assert all(row["table"] and row["name"] and row["value"] for row in rows)
