"""A report says what was measured, the same in every format, and what is missing."""

import csv
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from heliograph.errors import Problem
from heliograph.lab.report import FORMATS, write_report
from heliograph.lab.report.results import SCORES
from lab.report import synthetic
from lab.report.synthetic import Made

TABLES = tuple(SCORES)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of all synthetic runs, in every format."""
    directory = synthetic.write(tmp_path_factory.mktemp("results"))
    write_report(directory)
    return directory / "report"


@pytest.fixture(scope="module")
def said(folder: Path) -> dict[str, Any]:
    """Its sections by name, from JSON."""
    return sections(folder)


def sections(folder: Path) -> dict[str, Any]:
    found = json.loads((folder / "report.json").read_text())
    return {section["name"]: section for section in found["sections"]}


def rows(section: dict[str, Any], **wanted: object) -> list[dict[str, Any]]:
    found = [row for table in section["tables"] for row in table["rows"]]
    return [row for row in found if all(row[key] == value for key, value in wanted.items())]


def report_of(directory: Path, made: list[Made], without: tuple[str, ...] = ()) -> dict[str, Any]:
    write_report(synthetic.write(directory, made, without), ["json"])
    return sections(directory / "report")


def test_files(tmp_path: Path) -> None:
    synthetic.write(tmp_path, synthetic.runs()[:1])
    assert write_report(tmp_path) == [
        tmp_path / "report" / name for name in ("report.html", "csv", "report.md", "report.json")
    ]
    assert all(file.exists() for file in write_report(tmp_path))


def test_only_the_formats_that_are_asked_for(tmp_path: Path) -> None:
    write_report(synthetic.write(tmp_path, synthetic.runs()[:1]), ["md"])
    assert [file.name for file in (tmp_path / "report").iterdir()] == ["report.md"]


def test_an_unknown_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Problem, match="unknown format 'pdf': expected any of html, csv, md, json"):
        write_report(synthetic.write(tmp_path, synthetic.runs()[:1]), ["pdf"])


# The score card


def test_the_median_of_several_runs_is_shown(said: dict[str, Any]) -> None:
    (row,) = rows(said["score-card"], name="FANOUT 1:100", target="heliograph")
    assert row["value"] == pytest.approx(1_620_000)
    assert row["ingress"] == pytest.approx(16_200)
    assert row["remark"] == "3 runs, 1.51 M to 1.7 M"


def test_the_published_figure_and_the_scale_stand_beside_the_measured_one(said: dict[str, Any]) -> None:
    (row,) = rows(said["score-card"], name="FANOUT 1:100", target="mosquitto")
    assert (row["published"], row["published_unit"], row["scale"]) == (16_200_000, "msg/s", 0.001)


def test_a_latency_is_that_of_the_group_that_the_scenario_names(said: dict[str, Any]) -> None:
    (row,) = rows(said["score-card"], name="LATENCY 150K producers", target="heliograph")
    assert row["value"] is None
    assert [row[key] for key in ("avg_ms", "p99_ms", "max_ms")] == pytest.approx([0.084, 0.252, 1.176])
    assert (row["published"], row["published_unit"]) == (84, "µs")


def test_a_run_that_does_not_count_says_why(said: dict[str, Any]) -> None:
    (failed,) = rows(said["score-card"], name="PERSISTENT")
    assert failed["remark"] == "not passed: average latency 12 ms, above 10 ms"
    (bound,) = rows(said["score-card"], name="FANIN 400K producers", target="heliograph")
    assert bound["remark"] == "limited by the generator"


def test_a_search_shows_its_confirmation_and_not_its_steps(said: dict[str, Any]) -> None:
    (row,) = rows(said["score-card"], name="C1 2KB", target="heliograph")
    assert row["value"] == pytest.approx(5200)


def test_the_newest_experiment_counts(tmp_path: Path) -> None:
    old = Made("PERSISTENT", "heliograph", 999, 1.0, experiment="old", round=1)
    new = Made("PERSISTENT", "heliograph", 460, 1.0, experiment="new")
    said = report_of(tmp_path, [old, new])
    assert [row["value"] for row in rows(said["score-card"])] == [460]


# Other tables


def test_requests_have_rate_cpu_clients_and_the_latency_of_a_single_requester(said: dict[str, Any]) -> None:
    (row,) = rows(said["requests"], test="C1 2KB", target="heliograph")
    assert [row[key] for key in ("rate", "cpu_percent", "clients")] == [pytest.approx(5200), 45, 10]
    assert row["latency_ms"] == pytest.approx(0.2)
    assert (row["published_rate"], row["published_cpu_percent"], row["published_clients"]) == (423_218, 99.26, 280)


def test_a_delay_is_told_as_a_share_of_the_direct_connection(said: dict[str, Any]) -> None:
    (row,) = rows(said["requests"], test="HA.DISTANCE 1ms 2KB")
    assert row["vs_direct"] == pytest.approx(20)
    assert row["published_vs_direct"] == 20.7


def test_flows_have_rate_cpu_and_cpu_time_per_message_by_size(said: dict[str, Any]) -> None:
    small, large = rows(said["flows"])
    assert [row["size"] for row in (small, large)] == [1024, 16384]
    assert [small[key] for key in ("rate", "cpu_percent", "persistent")] == [5100.5, 40, False]
    assert small["cpu_ms"] == pytest.approx(800 / 5100.5)
    assert [small[f"published_{key}"] for key in ("rate", "cpu_percent", "cpu_ms")] == [1095.67, 41, 1.5]


def test_curves_have_a_line_for_each_target_and_each_kind_of_figure_a_chart(said: dict[str, Any]) -> None:
    charts = {chart["name"]: chart for part in said["scenarios"]["parts"] for chart in part.get("charts", [])}
    assert set(charts["c1-2kb-0-001-throughput-clients"]["rows"][0]) == {"x", "heliograph", "mosquitto"}
    assert set(charts["c1-2kb-0-001-latency-clients"]["rows"][0]) == {
        "x",
        *(f"{target}, {name}" for target in ("heliograph", "mosquitto") for name in ("AVG", "99P")),
    }
    fan_out = charts["fanout-1-100-0-001-fan-out-curve-fan-out"]["rows"]
    assert [row["x"] for row in fan_out] == [1, 10, 100, 1000]
    assert fan_out[2]["heliograph, out"] == pytest.approx(100 * fan_out[2]["heliograph, in"])


def test_pairs_have_an_interval_and_name_who_is_better(said: dict[str, Any]) -> None:
    rate, latency = rows(said["comparison"])
    assert [rate[key] for key in ("ratio", "low", "high", "verdict")] == [2.6, 2.4, 2.8, "heliograph is better"]
    assert latency["verdict"] == "no difference shown"


def test_bottlenecks_have_evidence_and_outliers_their_usual_value(said: dict[str, Any]) -> None:
    (bound,) = rows(said["bottlenecks"], bottleneck="generator")
    assert bound["evidence"] == "a process of it used 97 % of its core"
    (odd, *_) = rows(said["outliers"])
    assert [odd[key] for key in ("second", "value", "usual")] == [7, 3.1e5, 1.6e6]


def test_high_water_marks_stand_beside_the_published_ones(said: dict[str, Any]) -> None:
    (row,) = rows(said["health"], name="FANIN 400K producers", target="heliograph")
    assert [row[key] for key in ("high_water", "published_high_water", "discarded", "lost")] == [277, 277, 0, 0]


def test_a_configuration_is_told_once_without_ports_and_folders(tmp_path: Path) -> None:
    def made(number: int) -> Made:
        text = f'port = {40000 + number}\ndirectory = "/var/tmp/lab-{number}/data"\nmax_messages = 1000000\n'
        setup = json.dumps({"wanted": {}, "configuration": {"heliograph.toml": text}})
        return Made("PERSISTENT" if number else "CONNBURST", "heliograph", 460, 1.0, other={"setup": setup})

    (row,) = report_of(tmp_path, [made(0), made(1)])["configuration"]["tables"][0]["rows"]
    assert row["content"] == 'port = PORT\ndirectory = ".../data"\nmax_messages = 1000000'
    assert row["scenarios"] == "PERSISTENT, CONNBURST"


def test_the_commands_repeat_the_runs(said: dict[str, Any], folder: Path) -> None:
    out = f"--out {folder.parent}"
    commands = said["repeat"]["commands"]
    assert f"helio lab search C1 --scale 0.001 --target heliograph --target mosquitto --seconds 20 {out}" in commands
    assert f"helio lab run COMPUTE.SIMPLE --scale 0.001 --target heliograph --variant 16KB {out}" in commands
    assert any(line.startswith("helio lab run FANOUT FANIN ") and "--repeats 3" in line for line in commands)
    assert commands[-1] == f"helio lab report {folder.parent}"


def test_what_was_set_by_hand_is_part_of_the_command(tmp_path: Path) -> None:
    values = {"topics": 1, "fan_out": 7, "producers": 1, "consumers": 7, "rate": 162.0, "size": 32}
    made = Made("FANOUT", "heliograph", 100, 1.0, "1:100", other={"parameters": json.dumps(values)})
    said = report_of(tmp_path, [made])
    assert "--set fan_out=7 --seconds 20" in said["repeat"]["commands"][0]


def test_limitations_are_facts_of_the_runs(said: dict[str, Any]) -> None:
    told = " ".join(said["limitations"]["points"])
    assert "on one machine with 2 cores" in told
    assert "load average before the runs was 1.5: other processes were using the machine when 17 of 17" in told
    assert "used 40 % to 42.9 % of the CPU" in told
    assert "In 1 of 17 results the load generator was the limit" in told
    assert "FANIN 400K producers on heliograph" in told
    assert "scale 0.001" in told


def test_the_summary_has_the_best_result_and_what_others_did_in_the_same_scenario(said: dict[str, Any]) -> None:
    assert said["summary"]["points"][:2] == [
        "Most messages delivered per second (FANOUT 1:100, scale 0.001): heliograph 1.62 M; mosquitto 623 K.",
        (
            "Shortest latency on average (LATENCY 150K producers, scale 0.001): heliograph 84 µs, 99 % within 252 µs; "
            "mosquitto 218 µs, 99 % within 655 µs."
        ),
    ]


def test_what_the_generator_limited_is_a_headline_only_where_there_is_no_other(tmp_path: Path) -> None:
    limit = {"passed": False, "generator_bound": True, "verdict": "the generator was the limit: 99 % of a core"}
    bound = Made("FANOUT", "heliograph", 900, 1.0, "1:100", 100, other=limit)
    own = Made("PERSISTENT", "heliograph", 460, 1.0)
    summary = report_of(tmp_path / "both", [bound, own])["summary"]
    assert summary["points"][0].endswith("(PERSISTENT, scale 0.001): heliograph 460.")
    assert "1 of 2 results passed; in 1 the load generator" in summary["paragraphs"][0]
    summary = report_of(tmp_path / "one", [bound])["summary"]
    assert summary["points"][0].endswith("heliograph at least 90 K (limited by the generator).")


# Formats


def test_csv_has_exact_values_of_every_table_and_chart(folder: Path, said: dict[str, Any]) -> None:
    with (folder / "csv" / "score_card.csv").open() as file:
        written = list(csv.DictReader(file))
    expected = rows(said["score-card"])
    assert [row["name"] for row in written] == [row["name"] for row in expected]
    assert [float(row["value"] or 0) for row in written] == [row["value"] or 0 for row in expected]
    charts = [chart for part in said["scenarios"]["parts"] for chart in part.get("charts", [])]
    assert all((folder / "csv" / "charts" / f"{chart['name']}.csv").exists() for chart in charts)


def test_markdown_tables_are_even(folder: Path) -> None:
    text = (folder / "report.md").read_text()
    tables = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    assert len(tables) > 10
    for table in tables:
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1


class _Page(HTMLParser):
    """Looks for what a page must not have, and whether elements are closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.outside: list[str] = []
        self.ids: list[str] = []
        self.unscoped = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        self.ids += [str(named["id"])] if "id" in named else []
        self.unscoped += tag == "th" and "scope" not in named
        self.outside += [tag] if tag in {"script", "link", "img", "iframe"} else []
        self.outside += [str(named[key]) for key in ("src", "href") if key in named and named[key][:1] != "#"]  # type: ignore[index]
        if tag not in {"meta", "wbr"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass


def test_the_page_needs_nothing_else_and_is_well_formed(folder: Path) -> None:
    text = (folder / "report.html").read_text()
    page = _Page()
    page.feed(text)
    assert page.open == []
    assert page.outside == []
    assert page.unscoped == 0
    assert len(page.ids) == len(set(page.ids))
    assert "url(" not in text
    assert "@import" not in text


def test_names_cannot_break_the_page(tmp_path: Path) -> None:
    odd = {"verdict": "<script>alert('|')</script>", "passed": False}
    write_report(synthetic.write(tmp_path, [Made("PERSISTENT", "heliograph", 460, 1.0, other=odd)]))
    assert "<script" not in (tmp_path / "report" / "report.html").read_text()


# What is missing


@pytest.mark.parametrize("table", TABLES)
def test_a_missing_table_is_a_sentence_and_no_crash(tmp_path: Path, table: str) -> None:
    said = report_of(tmp_path, synthetic.runs()[:2], without=(table,))
    assert set(said) >= {"summary", "score-card", "limitations"}


def test_without_any_scores_the_report_says_so(tmp_path: Path) -> None:
    said = report_of(tmp_path, synthetic.runs()[:2], without=TABLES)
    assert "There are no message rates: the table scores/rates is missing" in said["summary"]["paragraphs"][1]
    assert "scores/costs is missing" in said["costs"]["tables"][0]["otherwise"]
    write_report(tmp_path, FORMATS)
    assert "scores/costs is missing" in (tmp_path / "report" / "report.html").read_text()


def test_an_empty_table_is_like_a_missing_one(tmp_path: Path) -> None:
    synthetic.write(tmp_path, synthetic.runs()[:1])
    file = tmp_path / "scores" / "bottlenecks" / "part-0.parquet"
    pq.write_table(pq.read_table(file).slice(0, 0), file)
    write_report(tmp_path, ["json"])
    assert "scores/bottlenecks" in sections(tmp_path / "report")["bottlenecks"]["tables"][0]["otherwise"]


def test_a_scenario_of_another_version_is_shown_by_what_its_run_says(tmp_path: Path) -> None:
    directory = synthetic.write(tmp_path, [Made("PERSISTENT", "heliograph", 460, 1.0)])
    (file,) = (directory / "runs").glob("*/manifest.parquet")
    manifest = pq.read_table(file).to_pylist()[0] | {"scenario": "OF.TOMORROW"}
    pq.write_table(pa.Table.from_pylist([manifest]), file)
    write_report(directory, ["json"])
    (row,) = rows(sections(directory / "report")["score-card"])
    assert (row["name"], row["value"], row["published"]) == ("OF.TOMORROW", 460, None)


def test_a_folder_without_runs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Problem, match=r"expected runs/\*/manifest.parquet, found none"):
        write_report(tmp_path)


def test_a_file_that_is_no_parquet_is_named(tmp_path: Path) -> None:
    synthetic.write(tmp_path, synthetic.runs()[:1])
    (tmp_path / "scores" / "rates" / "part-0.parquet").write_text("no")
    with pytest.raises(Problem, match="scores/rates: cannot read it as Parquet"):
        write_report(tmp_path)
