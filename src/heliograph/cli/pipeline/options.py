"""What the commands that use Spark have in common: which pipeline, from the command line or a configuration file."""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from heliograph.cli.errors import UnknownPipeline
from heliograph.cli.flow.options import parameter
from heliograph.common.ports import PAGES_URL
from heliograph.errors import InvalidInput
from heliograph.pipeline.running import Pipeline
from heliograph.server import PIPELINES_FOLDER, Config, PipelineConfig, StorageConfig, address_from_here, load_config


def add_spark(parser: argparse.ArgumentParser) -> None:
    """Where Spark runs, and with which settings."""
    parser.add_argument(
        "--master",
        default="",
        metavar="URL",
        help="where Spark runs: spark://host:7077, yarn ... (default: this machine)",
    )
    parser.add_argument(
        "--conf", action="append", default=[], type=setting, metavar="KEY=VALUE", help="a setting of Spark; repeatable"
    )


def add_server(parser: argparse.ArgumentParser) -> None:
    """Which server streams are read from."""
    parser.add_argument(
        "--server",
        metavar="URL",
        help=f"the server's HTTP pages, or the folder of its log for reading only (default: {PAGES_URL})",
    )


def add_state(parser: argparse.ArgumentParser, default: str) -> None:
    """Where the embedded databases of a flow are."""
    parser.add_argument(
        "--state",
        default="",
        metavar="DIR",
        help=f"where embedded databases of the flow are, as DIR/NAME.db (default: {default})",
    )


def setting(text: str) -> tuple[str, str]:
    """`KEY=VALUE`."""
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise argparse.ArgumentTypeError(f"expected KEY=VALUE, found {text!r}")
    return key, value


def default_folder(name: str, server: str) -> Path:
    """Where a pipeline that is started by hand has its status and checkpoint: beside the log, if that is known."""
    data = StorageConfig().directory if "://" in server else server
    return Path(data).absolute() / PIPELINES_FOLDER / name


def configured(file: Path, name: str, server: str | None) -> tuple[Pipeline, Config]:
    """The pipeline of this name in a configuration file, and the file; `server` is where its server really is."""
    config = load_config(file)
    for one in config.pipelines:
        if one.name == name:
            return _pipeline(one, config, server), config
    there = ", ".join(one.name for one in config.pipelines) or "none"
    raise UnknownPipeline(f"{file}: no pipeline {name!r}; there are: {there}")


def _pipeline(one: PipelineConfig, config: Config, server: str | None) -> Pipeline:
    http = config.http
    own = f"http://{address_from_here(http.host, http.port)}"
    return Pipeline(
        name=one.name,
        source=one.source,
        folder=Path(config.storage.directory) / PIPELINES_FOLDER / one.name,
        flow=one.flow,
        job=one.job,
        sinks=one.sinks,
        server=one.server or server or own,
        user=one.user,
        password=one.password,
        env=one.env,
        parameters=parameters([f"{key}={value}" for key, value in one.set.items()]),
        input_node=one.input,
        starting=one.begin,
        fail_on_data_loss=one.fail_on_data_loss,
        most_messages=one.most_messages,
        interval=one.interval,
        lookup_cache=one.lookup_cache,
        state=one.state,
        master=one.master,
        conf=one.conf,
        checkpoint=one.checkpoint,
    )


def parameters(texts: list[str]) -> dict[str, Any]:
    """`NAME=VALUE`, with values read as in a parameters file of a flow."""
    try:
        return dict(parameter(text) for text in texts)
    except argparse.ArgumentTypeError as error:
        raise InvalidInput(str(error)) from None


def spark_settings(pipeline: Pipeline, args: argparse.Namespace) -> Pipeline:
    """The pipeline with what the command line says of Spark."""
    return replace(pipeline, master=args.master or pipeline.master, conf={**pipeline.conf, **dict(args.conf)})
