"""Build the SparkSession that pipelines run in, and prepare the machine for it."""

import importlib
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pyspark
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from heliograph.pipeline import register
from heliograph.pipeline.errors import PipelineError
from heliograph.pipeline.session.archive import archive_directory, archive_of, make_archive, options_to_use
from heliograph.pipeline.session.java import Java, find_java
from heliograph.pipeline.session.settings import is_local, settings_of_session, this_machine

_QUICK_PYTHON = {
    "PYSPARK_PYTHON": str(Path(__file__).with_name("launcher") / "bin" / "python"),
    "HELIOGRAPH_PYTHON": sys.executable,
}
"""Where Spark is the installed package, its workers can import that; see the launcher."""
_IMPORTED_LATER = ("pyspark.testing", "heliograph.pipeline.data_source")
"""What takes time to import, and is imported by Spark's first call of Java (with pandas, for no reason) and by us."""
# For the small program that puts Spark's command line together before Spark itself starts.
_LAUNCHER_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


def build_session(
    name: str = "heliograph",
    *,
    master: str | None = None,
    conf: Mapping[str, str] = {},
    quick: bool = False,
    mllib: bool | None = None,
) -> SparkSession:
    """A SparkSession with our data sources, on this machine unless `master` names a cluster.

    `conf` has the last word on every setting. `quick` is for tests and jobs of seconds: it starts sooner, and code that
    runs long never gets as fast as Java could make it. `mllib` says whether `pyspark.ml` is wanted, without which a
    session starts a second sooner; unless said, it is if it has been imported. Where this process has a session
    already, that one is returned.
    """
    java = find_java()
    mllib = "pyspark.ml" in sys.modules if mllib is None else mllib
    archive = archive_of(java, _spark_home() / "jars", archive_directory())
    settings = settings_of_session(this_machine(), master, conf, options_to_use(archive), quick=quick)
    builder = SparkSession.builder.appName(name)
    for key, value in settings.items():
        builder = builder.config(key, value)
    with _environment(_variables(java, settings, mllib=mllib)), _importing(_IMPORTED_LATER):
        try:
            spark = builder.getOrCreate()
        except PySparkRuntimeError as error:
            raise PipelineError(f"Spark did not start with {java}; what it said is above. {error}") from error
    if is_local(settings["spark.master"]):
        _leave_out_checksum_files(spark)
    register(spark)
    return spark


def _leave_out_checksum_files(spark: SparkSession) -> None:
    """Files of checkpoints without a file beside them for a checksum.

    Hadoop starts a process (`chmod`) for each file that it makes on this machine, and a micro-batch has four of them.
    """
    context = spark.sparkContext
    assert context._jvm is not None
    files = context._jvm.org.apache.hadoop.fs.FileSystem.getLocal(context._jsc.hadoopConfiguration())
    files.setWriteChecksum(False)


def set_up(report: Callable[[str], None]) -> None:
    """Do what makes sessions start quickly and needs doing only once; `report` gets a line for each thing done."""
    java = find_java()
    report(f"Java: {java}")
    make_archive(archive_of(java, _spark_home() / "jars", archive_directory()), report)


def _spark_home() -> Path:
    return Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent)


def _variables(java: Java, settings: Mapping[str, str], *, mllib: bool) -> dict[str, str]:
    """What Spark's scripts take from the environment, and nowhere else."""
    variables = {
        **java.environment,
        "HELIOGRAPH_MLLIB": "with" if mllib else "without",
        "SPARK_HOME": str(_spark_home()),
        "SPARK_LAUNCHER_OPTS": os.environ.get("SPARK_LAUNCHER_OPTS") or _LAUNCHER_OPTIONS,
    }
    if python := settings.get("spark.pyspark.python"):
        variables["PYSPARK_PYTHON"] = python
    elif is_local(settings["spark.master"]):
        variables |= {"PYSPARK_PYTHON": sys.executable} if "SPARK_HOME" in os.environ else _QUICK_PYTHON
    return variables


@contextmanager
def _importing(modules: Sequence[str]) -> Iterator[None]:
    """Import what will be imported, while nothing is done but wait for Java to start."""

    def import_all() -> None:
        for module in modules:
            with suppress(ImportError):  # whoever needs it says so
                importlib.import_module(module)

    thread = threading.Thread(target=import_all)
    thread.start()
    try:
        yield
    finally:
        thread.join()


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Spark is started with these; whatever else this process starts is not to see them."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
