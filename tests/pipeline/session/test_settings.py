"""What Spark is told, and what is refused before it starts."""

import socket
from collections.abc import Mapping

import pytest

from heliograph.errors import Problem
from heliograph.pipeline.session.settings import Machine, settings_of_session

FOUR_CORES = Machine(4, 8 << 30)


def settings(
    master: str | None = None, conf: Mapping[str, str] = {}, archive: tuple[str, ...] = (), *, quick: bool = False
) -> dict[str, str]:
    """Settings of a session on a machine with four cores and 8 GB."""
    return settings_of_session(FOUR_CORES, master, conf, archive, quick=quick)


def test_a_session_is_local_and_uses_the_machine() -> None:
    told = settings()
    assert told["spark.master"] == "local[4,4]"
    assert told["spark.sql.shuffle.partitions"] == "4"
    assert told["spark.driver.memory"] == "2048m"
    assert told["spark.driver.host"] == "127.0.0.1"


def test_a_cluster_sizes_itself() -> None:
    told = settings("yarn")
    assert told["spark.master"] == "yarn"
    assert not {"spark.sql.shuffle.partitions", "spark.driver.memory", "spark.driver.host"} & told.keys()


def test_conf_has_the_last_word() -> None:
    told = settings("local[2]", {"spark.master": "local[1]", "spark.driver.memory": "3g", "spark.executor.cores": "2"})
    assert (told["spark.master"], told["spark.driver.memory"], told["spark.executor.cores"]) == ("local[1]", "3g", "2")


def test_options_for_java_are_added_to_ours() -> None:
    told = settings(conf={"spark.driver.extraJavaOptions": "-Dx=1"}, archive=("-XX:Archive",))
    options = told["spark.driver.extraJavaOptions"].split()
    assert "-XX:Archive" in options
    assert options[-1] == "-Dx=1"
    assert any(option.startswith("-Dlog4j2.configurationFile=file:///") for option in options)


def test_only_a_quick_session_does_without_the_better_compiler() -> None:
    assert "-XX:TieredStopAtLevel=1" in settings(quick=True)["spark.driver.extraJavaOptions"]
    assert "-XX:TieredStopAtLevel=1" not in settings()["spark.driver.extraJavaOptions"]


def test_a_session_that_lives_long_leaves_the_better_compiler_until_code_has_proved_worth_it() -> None:
    assert "-XX:Tier4InvocationThreshold=50000" in settings()["spark.driver.extraJavaOptions"]
    assert "-XX:Tier4InvocationThreshold" not in settings(quick=True)["spark.driver.extraJavaOptions"]


def test_a_setting_that_is_not_sparks_is_refused() -> None:
    with pytest.raises(Problem, match=r'unknown setting "driver.memory"; settings of Spark begin with "spark."'):
        settings(conf={"driver.memory": "1g"})


def test_a_master_of_another_kind_is_refused() -> None:
    with pytest.raises(Problem, match='unknown master "mesos://here"; expected one of: local, '):
        settings("mesos://here")


@pytest.mark.parametrize("master", ["k8s://https://host:6443", "yarn", "local", "local[2]"])
def test_masters_of_spark_are_passed_on(master: str) -> None:
    assert settings(master)["spark.master"] == master


def test_a_master_that_does_not_answer_is_named_at_once() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(Problem, match=f"no Spark master answers at spark://{address} .*refused"):
            settings(f"spark://{address}")


def test_one_of_several_masters_is_enough() -> None:
    with socket.create_server(("127.0.0.1", 0)) as alive, socket.socket() as dead:
        dead.bind(("127.0.0.1", 0))
        master = f"spark://127.0.0.1:{dead.getsockname()[1]},127.0.0.1:{alive.getsockname()[1]}"
        assert settings(master)["spark.master"] == master


def test_a_master_without_port_is_refused() -> None:
    with pytest.raises(Problem, match='expected spark://HOST:PORT, found "host"'):
        settings("spark://host")
