"""What a pipeline may be, and what is said about mistakes in it."""

from pathlib import Path
from typing import Any

import pytest

from heliograph.errors import Problem
from heliograph.pipeline.running.pipeline import JobSettings, Pipeline


def pipeline(**given: Any) -> Pipeline:
    return Pipeline(
        **{"name": "orders", "source": "stream:orders", "folder": Path("/data"), "flow": "flows/orders", **given}
    )


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"name": "../x"}, "as the name of a pipeline"),
        ({"flow": ""}, "pipeline orders: expected a flow or a job, found neither"),
        ({"job": "job.py"}, "expected a flow or a job, found both"),
        ({"source": "orders"}, "expected stream:NAME or topic:FILTER as source, found 'orders'"),
        ({"source": "stream:"}, "expected stream:NAME or topic:FILTER as source, found 'stream:'"),
        ({"source": "steam:x"}, "did you mean stream:x?"),
        ({"flow": "", "job": "j.py", "sinks": {"Out": "topic:x"}}, "a sink is for flows; a job does that itself"),
        ({"flow": "", "job": "j.py", "lookup_cache": 5}, "a look-up cache is for flows"),
        ({"flow": "", "job": "j.py", "state": "/x"}, "a folder of databases is for flows"),
        ({"state": "hdfs://x/y"}, "expected a folder as state, found 'hdfs://x/y'"),
    ],
)
def test_what_cannot_work_is_refused(given: dict[str, Any], told: str) -> None:
    with pytest.raises(Problem) as refused:
        pipeline(**given)
    assert told in str(refused.value)


def test_its_options_are_those_of_the_source() -> None:
    assert pipeline().source_options == {"server": "http://127.0.0.1:15880", "stream": "orders"}
    given = pipeline(source="topic:a/#", server="/log", starting="earliest", ending="latest", most_messages=7)
    assert given.source_options == {
        "server": "/log",
        "topic": "a/#",
        "startingOffsets": "earliest",
        "endingOffsets": "latest",
        "maxMessagesPerTrigger": "7",
    }


def test_messages_may_be_lost_only_if_it_is_said() -> None:
    assert "failOnDataLoss" not in pipeline().source_options
    assert pipeline(fail_on_data_loss=False).source_options["failOnDataLoss"] == "false"


def test_who_it_is_goes_to_the_sink() -> None:
    assert pipeline().sink_options == {"server": "http://127.0.0.1:15880"}
    assert pipeline(user="u", password="p").sink_options["password"] == "p"


def test_databases_are_in_its_folder_unless_said() -> None:
    assert pipeline().state_folder == "/data/state"
    assert pipeline(state="/shared").state_folder == "/shared"


def test_the_checkpoint_is_in_its_folder_unless_said() -> None:
    assert pipeline().spark_checkpoint == "/data/checkpoint"
    assert pipeline(checkpoint="hdfs://x/y").spark_checkpoint == "hdfs://x/y"


def test_a_job_gets_the_trigger_and_a_checkpoint_for_each_of_its_queries() -> None:
    job = pipeline(flow="", job="j.py", interval=0.25, parameters={"path": "/out"})
    settings = JobSettings(job, once=False)
    assert settings.trigger == {"processingTime": "250 milliseconds"}
    assert JobSettings(job, once=True).trigger == {"availableNow": True}
    assert settings.checkpoint("raw") == "/data/checkpoint/raw"
    assert settings.parameters == {"path": "/out"}
