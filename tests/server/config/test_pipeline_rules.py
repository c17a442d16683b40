"""What a configuration file may say about pipelines, and what is said about its mistakes."""

from pathlib import Path

import pytest

from heliograph.cli.pipeline.options import configured
from server.config.checked_files import loaded, mistakes

GOOD = """
[[pipeline]]
name = "orders"
flow = "flows/orders"
source = "stream:orders"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "flows" / "orders").mkdir(parents=True)
    (tmp_path / "job.py").touch()
    return tmp_path / "heliograph.toml"


def test_files_are_beside_the_configuration(file: Path) -> None:
    (one,) = loaded(file, GOOD).pipelines
    assert (one.flow, one.start) == (str(file.parent / "flows/orders"), True)
    (one,) = loaded(file, GOOD + 'checkpoint = "hdfs://x/y"').pipelines
    assert one.checkpoint == "hdfs://x/y"
    loaded(file, GOOD + 'state = "databases"')
    pipeline, _ = configured(file, "orders", None)
    assert pipeline.state_folder == str(file.parent / "databases")


def test_databases_are_in_a_folder(file: Path) -> None:
    assert mistakes(file, GOOD + 'state = "s3://x"') == ['pipeline[1].state: expected a folder, found "s3://x"']


def test_sinks_and_settings_are_tables_of_texts(file: Path) -> None:
    (one,) = loaded(file, GOOD + 'conf = { "spark.driver.memory" = "2g" }\n[pipeline.sinks]\nOut = "topic:x"').pipelines
    assert (one.sinks, one.conf) == ({"Out": "topic:x"}, {"spark.driver.memory": "2g"})
    assert mistakes(file, GOOD + "sinks = { Out = 5 }") == [
        'pipeline[1].sinks: expected a table of strings, as in sinks = { name = "value" }, found a table'
    ]


def test_messages_may_be_lost_if_it_is_said(file: Path) -> None:
    (one,) = loaded(file, GOOD).pipelines
    assert one.fail_on_data_loss
    loaded(file, GOOD + "fail_on_data_loss = false")
    pipeline, _ = configured(file, "orders", None)
    assert pipeline.source_options["failOnDataLoss"] == "false"


def test_a_pipeline_needs_a_name_something_to_run_and_a_source(file: Path) -> None:
    assert mistakes(file, "[[pipeline]]") == [
        'pipeline[1].name: expected letters, digits, "-", "_" and ".", a letter or digit first, at most 200, found ""',
        "pipeline[1]: expected a flow or a job, found neither",
        'pipeline[1].source: expected "stream:NAME" or "topic:FILTER", found ""',
    ]


def test_names_are_given_once(file: Path) -> None:
    assert mistakes(file, GOOD + GOOD) == [
        "pipeline[2].name: expected a name of its own, found orders, as in pipeline[1]"
    ]


def test_what_it_runs_has_to_be_there(file: Path) -> None:
    (told,) = mistakes(file, GOOD.replace("flows/orders", "flows/other"))
    assert told.startswith("pipeline[1].flow: expected the folder of a flow, found nothing at ")
    (told,) = mistakes(file, GOOD.replace("flow =", "job ="))
    assert told.startswith("pipeline[1].job: expected a Python file, found none at ")


def test_a_job_takes_nothing_that_is_for_flows(file: Path) -> None:
    text = GOOD.replace('flow = "flows/orders"', 'job = "job.py"\nlookup_cache = 5')
    assert mistakes(file, text) == [
        "pipeline[1].lookup_cache: expected none, because this is for flows; a job does that itself"
    ]


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("broker", "broker"),
        ("*", "127.0.0.1"),
        ("0.0.0.0", "127.0.0.1"),
        ("::", "[::1]"),
        ("0:0:0:0:0:0:0:0", "[::1]"),
        ("fd00::7", "[fd00::7]"),
    ],
)
def test_this_servers_pages_are_read_unless_said(file: Path, host: str, address: str) -> None:
    loaded(file, f'{GOOD}[http]\nport = 8081\nhost = "{host}"')
    pipeline, _ = configured(file, "orders", None)
    assert pipeline.server == f"http://{address}:8081"


def test_without_pages_a_pipeline_needs_another_server(file: Path) -> None:
    text = "[http]\nenabled = false\n" + GOOD
    (told,) = mistakes(file, text)
    assert told.startswith("pipeline[1].server: expected the pages of a server")
    assert loaded(file, text + 'server = "http://broker:15880"').pipelines
