"""The configuration: one TOML file, checked as a whole, as frozen dataclasses."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, TypeVar

from heliograph.broker import DEAD_LETTER_QUEUE, Limits, StreamOptions
from heliograph.objects import About, Effect, TableReader, differences, parse_toml_file
from heliograph.server.config import rules
from heliograph.server.config.schema import (
    AccessConfig,
    HttpConfig,
    ListenerConfig,
    ListenerKind,
    ListenerProtocol,
    LogConfig,
    PipelineConfig,
    QueueConfig,
    QueueManagerConfig,
    QueuesConfig,
    ServerConfig,
    StorageConfig,
    SysTopicsConfig,
)
from heliograph.server.errors import ConfigurationError

T = TypeVar("T")


def _default_listeners() -> tuple[ListenerConfig, ...]:
    return (
        ListenerConfig(kind=ListenerKind.TCP),
        ListenerConfig(kind=ListenerKind.WS),
        ListenerConfig(protocol=ListenerProtocol.AMQP),
    )


@dataclass(frozen=True, slots=True)
class Config:
    """Everything that can be configured. Two configurations are equal when they mean the same, wherever they stood."""

    server: Annotated[ServerConfig, About("Who this server is.")] = field(default_factory=ServerConfig)
    log: Annotated[LogConfig, About("What is logged, to standard error.")] = field(default_factory=LogConfig)
    listeners: Annotated[
        tuple[ListenerConfig, ...],
        About(
            "Where clients connect: as many listeners as wanted. Without any: MQTT on tcp and ws, AMQP on tcp.",
            key="listener",
            effect=Effect.RESTART,
        ),
    ] = field(default_factory=_default_listeners)
    access: Annotated[AccessConfig, About("Who may connect.")] = field(default_factory=AccessConfig)
    limits: Annotated[Limits, About("What one client, or all of them together, may ask of the server.")] = field(
        default_factory=Limits
    )
    storage: Annotated[StorageConfig, About("Where sessions, messages and streams are kept.")] = field(
        default_factory=StorageConfig
    )
    streams: Annotated[
        tuple[StreamOptions, ...],
        About(
            "Topics whose messages are kept, whoever is subscribed: as many streams as wanted.",
            key="stream",
            effect=Effect.RESTART,
            whole=True,
        ),
    ] = ()
    queues: Annotated[QueuesConfig, About("What is true of all queues.")] = field(default_factory=QueuesConfig)
    declared_queues: Annotated[
        tuple[QueueConfig, ...],
        About(
            "Queues that are there from the start: as many as wanted. Others can be defined while the server runs.",
            key="queue",
            whole=True,
        ),
    ] = ()
    queue_managers: Annotated[
        tuple[QueueManagerConfig, ...],
        About(
            "Queue managers: processes of their own with their own queues, started and watched by this server.",
            key="queue_manager",
            effect=Effect.RESTART,
        ),
    ] = ()
    pipelines: Annotated[
        tuple[PipelineConfig, ...],
        About(
            "Pipelines on Spark: processes of their own, started and watched by this server.",
            key="pipeline",
            whole=True,
        ),
    ] = ()
    http: Annotated[HttpConfig, About("Pages for operators: `/metrics` for Prometheus, `/stats` and `/healthz`.")] = (
        field(default_factory=HttpConfig)
    )
    sys_topics: Annotated[SysTopicsConfig, About("Statistics published below `$SYS`.")] = field(
        default_factory=SysTopicsConfig
    )

    source: Path | None = field(default=None, compare=False)
    """The file that this came from."""
    warnings: tuple[str, ...] = field(default=(), compare=False)
    """What is allowed but deserves a second look, one sentence each."""


def load_config(path: Path | None) -> Config:
    """Read and check a configuration file; None gives the defaults. ConfigurationError has a line for each mistake."""
    if path is None:
        return Config(storage=StorageConfig(directory=str(Path(StorageConfig().directory).absolute())))
    tables = parse_toml_file(path)
    reader = TableReader(path.absolute().parent)
    found = reader.values(Config, tables)
    if "listeners" in found:
        found["listeners"] = _with_sockets_beside(path, found["listeners"])
    storage = found.setdefault("storage", StorageConfig())
    if storage and storage.directory:
        found["storage"] = storage = replace(storage, directory=str(_beside(path, storage.directory)))
    if managers := found.get("queue_managers"):
        found["queue_managers"] = tuple(one and _settled_manager(path, one, storage) for one in managers)
    if pipelines := found.get("pipelines"):
        found["pipelines"] = tuple(one and _settled_pipeline(path, one) for one in pipelines)
    mistakes = [f"{key}: {mistake}" for key, mistake in reader.mistakes] + list(_broken_rules(found))
    if mistakes:
        raise ConfigurationError("\n".join(f"{path}: {mistake}" for mistake in mistakes))
    config = Config(**found, source=path)
    return replace(config, warnings=tuple(rules.http_warnings(config.http)))


def _with_sockets_beside(path: Path, listeners: Any) -> Any:
    """The listeners, with relative socket files turned into files beside the configuration file."""
    return listeners and tuple(
        replace(listener, path=str(_beside(path, listener.path)))
        if listener and listener.kind is ListenerKind.UNIX and listener.path
        else listener
        for listener in listeners
    )


def _settled_manager(path: Path, manager: QueueManagerConfig, storage: StorageConfig | None) -> QueueManagerConfig:
    """The queue manager with its defaults in place and its files beside the configuration file."""
    directory = str(_beside(path, manager.directory)) if manager.directory else ""
    if not directory and storage:
        directory = f"{storage.directory.rstrip('/')}-{manager.name}"
    listeners = manager.listeners or (ListenerConfig(protocol=ListenerProtocol.AMQP, port=0),)
    return replace(manager, directory=directory, listeners=_with_sockets_beside(path, listeners))


def _settled_pipeline(path: Path, pipeline: PipelineConfig) -> PipelineConfig:
    """The pipeline with its files beside the configuration file; a URL is no file."""

    def beside(name: str) -> str:
        return name if not name or "://" in name else str(_beside(path, name))

    return replace(
        pipeline,
        flow=beside(pipeline.flow),
        job=beside(pipeline.job),
        checkpoint=beside(pipeline.checkpoint),
        state=beside(pipeline.state),
    )


def _beside(path: Path, name: str) -> Path:
    return path.absolute().parent / name


def _broken_rules(found: dict[str, Any]) -> Iterator[str]:
    """Mistakes between keys. A table that has mistakes of its own is None here, and no rule is tried on it."""
    listeners = found.get("listeners", _default_listeners())
    access = found.get("access", AccessConfig())
    http = found.get("http", HttpConfig())
    if listeners == ():
        yield "listener: expected at least one, found none"
    sound = _numbered("listener", listeners)
    yield from _listener_mistakes(sound, access)
    if http:
        yield from rules.http_mistakes(http, "http")
    if (storage := found.get("storage")) and not storage.directory:
        yield "storage.directory: expected the path of a folder, found none"
    if server := found.get("server"):
        yield from rules.failover_mistakes(server.failover)
    limits = found.get("limits", Limits()) or Limits()
    yield from rules.stream_mistakes(_numbered("stream", found.get("streams")), limits.topic_levels)
    queues = found.get("queues", QueuesConfig())
    dead_letters = (queues and queues.dead_letter_queue) or DEAD_LETTER_QUEUE
    yield from rules.pattern_mistakes(queues.create if queues else ())
    declared = found.get("declared_queues") or ()
    yield from rules.queue_mistakes(
        _numbered("queue", declared), dead_letters, limits.topic_levels, all_known=None not in declared
    )
    managers = _numbered("queue_manager", found.get("queue_managers"))
    yield from rules.manager_mistakes(managers, storage.directory if storage else "")
    has_pages = http.enabled if http else True
    pipelines = _numbered("pipeline", found.get("pipelines"))
    yield from rules.pipeline_mistakes(pipelines, has_pages=has_pages)
    pages = {"http": http} if http else {}
    for where, manager in managers.items():
        own = _numbered(f"{where}.listener", manager.listeners)
        yield from _listener_mistakes(own, access)
        yield from rules.http_mistakes(manager.http, f"{where}.http")
        yield from rules.queue_mistakes(_numbered(f"{where}.queue", manager.queues), dead_letters, limits.topic_levels)
        sound |= own
        pages[f"{where}.http"] = manager.http
    yield from rules.shared_address_mistakes(sound, pages)


def _numbered(key: str, tables: Sequence[T | None] | None) -> dict[str, T]:
    """The sound tables of an array by their place in the file."""
    return {f"{key}[{n}]": table for n, table in enumerate(tables or (), 1) if table}


def _listener_mistakes(listeners: Mapping[str, ListenerConfig], access: AccessConfig | None) -> Iterator[str]:
    for where, listener in listeners.items():
        mistakes = list(rules.listener_mistakes(listener, where))
        yield from mistakes
        if access and not mistakes:
            yield from rules.admission_mistakes(listener, access, where)


def queue_manager_config(config: Config, name: str) -> Config:
    """The configuration of the process that is this queue manager; ConfigurationError if there is none of the name.

    It has what is its own, and for the rest what the whole server has.
    """
    manager = next((one for one in config.queue_managers if one.name == name), None)
    if manager is None:
        known = ", ".join(one.name for one in config.queue_managers) or "none"
        raise ConfigurationError(f"expected the name of a queue manager ({known} in the configuration), found {name}")
    return replace(
        config,
        server=replace(config.server, name=name, failover=()),  # other servers have queue managers of their own
        listeners=manager.listeners,
        storage=replace(config.storage, directory=manager.directory),
        streams=(),
        declared_queues=manager.queues,
        queue_managers=(),
        pipelines=(),
        http=manager.http,
        warnings=tuple(rules.http_warnings(manager.http)),
    )


def restart_needed(old: Config, new: Config) -> list[str]:
    """The keys that differ between two configurations and that a reload cannot apply.

    Keys of a listener that need a restart are bound to its socket, which a reload leaves open; `client_ca` is among
    them because a living TLS context can learn of new authorities but cannot forget old ones.
    """
    return [one.key for one in differences(old, new) if one.effect is Effect.RESTART]
