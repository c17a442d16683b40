"""Any configuration, written as TOML, loads again as the same."""

import tomllib
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.broker.core.queue_definition import DEAD_LETTER_QUEUE, QueueKind
from heliograph.broker.storage.streams import StreamOptions
from heliograph.objects.attributes import Attribute, attributes_of
from heliograph.objects.toml import toml_document, value_text
from heliograph.server.config.loading import Config, load_config
from heliograph.server.config.schema import (
    AccessConfig,
    ClientCertificates,
    HttpConfig,
    ListenerConfig,
    ListenerKind,
    PipelineConfig,
    QueueConfig,
    QueueManagerConfig,
    QueuesConfig,
    StorageConfig,
)

texts = st.text(st.characters(exclude_categories=["Cs"]))
descriptions = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
"""What other people are to read has no null characters."""


def values(attribute: Attribute) -> st.SearchStrategy[Any]:
    """What a key may hold, as far as its declaration says."""
    if attribute.many:
        return st.just(())
    if attribute.is_table:
        return tables(attribute.type)
    if issubclass(attribute.type, StrEnum):
        return st.sampled_from(list(attribute.type))
    low, high = attribute.about.range.low, attribute.about.range.high
    if attribute.type is int:
        return st.integers(int(low), None if high is None else int(high))
    if attribute.type is float:
        return st.floats(low, high, allow_infinity=False)
    tables_of_texts = st.dictionaries(texts, texts, max_size=3)
    return {bool: st.booleans(), str: texts, Path: st.none(), dict: tables_of_texts}[attribute.type]


def tables(cls: type, **given_keys: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    fields = {attribute.field: values(attribute) for attribute in attributes_of(cls)}
    return st.builds(cls, **{**fields, **given_keys})


ports = st.integers(0, 65535)
hosts = st.sampled_from(["127.0.0.1", "::1", "", "*", "broker.example", "192.0.2.1"])
listeners = st.one_of(
    tables(
        ListenerConfig,
        kind=st.just(ListenerKind.TCP),
        host=hosts,
        port=st.just(0),
        path=st.just(""),
        client_certificates=st.just(ClientCertificates.NONE),
        anonymous=st.just(True),
    ),
    st.builds(
        ListenerConfig,
        kind=st.just(ListenerKind.UNIX),
        path=st.uuids().map("/run/{}.sock".format),
        name=texts,
    ),
)
names = st.uuids().map(str)
queues = st.one_of(
    tables(
        QueueConfig,
        name=names,
        kind=st.just(QueueKind.LOCAL),
        topics=st.lists(st.sampled_from(["a/+/#", "#", "b"])).map(tuple),
        backout_queue=st.just(DEAD_LETTER_QUEUE),
        dead_letter_queue=st.sampled_from(["", DEAD_LETTER_QUEUE]),
        target=st.just(""),
        temporary=st.just(False),
        description=descriptions,
    ),
    st.builds(
        QueueConfig, name=names, kind=st.just(QueueKind.MODEL), temporary=st.booleans(), description=descriptions
    ),
    st.builds(QueueConfig, name=names, kind=st.just(QueueKind.ALIAS), target=st.just(DEAD_LETTER_QUEUE)),
)
many_queues = st.lists(queues, max_size=2, unique_by=lambda queue: queue.name).map(tuple)
managers = tables(
    QueueManagerConfig,
    name=names,
    directory=st.uuids().map("/var/lib/{}".format),
    listeners=st.lists(listeners, min_size=1, max_size=2).map(tuple),
    queues=many_queues,
    http=tables(HttpConfig, host=hosts, port=st.just(0)),
)
pipelines = tables(
    PipelineConfig,
    name=names,
    flow=st.just("/"),  # it has to be there
    job=st.just(""),
    source=st.sampled_from(["stream:s", "topic:a/#"]),
    server=st.just("http://broker:15880"),
    checkpoint=st.sampled_from(["", "/var/lib/x", "hdfs://x/y"]),
    state=st.sampled_from(["", "/var/lib/state"]),
)
configs = tables(
    Config,
    listeners=st.lists(listeners, min_size=1, max_size=3).map(tuple),
    http=tables(HttpConfig, host=hosts, port=ports),
    access=st.just(AccessConfig()),
    storage=tables(StorageConfig, directory=st.uuids().map("/var/lib/{}".format)),
    streams=st.lists(
        tables(
            StreamOptions,
            name=st.uuids().map(str),
            filter=st.sampled_from(["a/+/#", "#", "$SYS/x"]),
        ),
        max_size=3,
        unique_by=lambda stream: stream.name,
    ).map(tuple),
    queues=st.just(QueuesConfig()),
    declared_queues=many_queues,
    queue_managers=st.lists(managers, max_size=1, unique_by=lambda manager: manager.name).map(tuple),
    pipelines=st.lists(pipelines, max_size=2, unique_by=lambda pipeline: pipeline.name).map(tuple),
)


@settings(max_examples=50, deadline=None)
@given(configs)
def test_a_configuration_survives_being_written_and_read(
    tmp_path_factory: pytest.TempPathFactory, config: Config
) -> None:
    file = tmp_path_factory.mktemp("config") / "heliograph.toml"
    file.write_text(toml_document(config), "utf-8")
    assert load_config(file) == config


def test_files_are_written_with_their_whole_path_so_that_the_text_may_move(tmp_path: Path) -> None:
    (tmp_path / "users").touch()
    (tmp_path / "elsewhere").mkdir()
    here, there = tmp_path / "here.toml", tmp_path / "elsewhere" / "there.toml"
    here.write_text('[access]\npassword_file = "users"\n[[listener]]\nkind = "unix"\npath = "mqtt.sock"')
    there.write_text(toml_document(load_config(here)))
    assert load_config(there) == load_config(here)


@given(texts)
def test_any_text_can_be_written(text: str) -> None:
    assert tomllib.loads(f"key = {value_text(text)}") == {"key": text}
