"""Rules of the configuration that span several attributes or objects. Each finds mistakes, as texts for its user."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from urllib.parse import urlsplit

from heliograph.broker import (
    DEAD_LETTER_QUEUE,
    TEMPORARY_MODEL,
    Elsewhere,
    QueueKind,
    StreamOptions,
    filter_mistake,
    plain_name_mistake,
)
from heliograph.objects import value_text
from heliograph.server.config.schema import (
    AccessConfig,
    ClientCertificates,
    HttpConfig,
    ListenerConfig,
    ListenerKind,
    PipelineConfig,
    QueueConfig,
    QueueManagerConfig,
)
from heliograph.server.errors import ConfigurationError
from heliograph.server.hosts import EVERY_INTERFACE, address_text, is_host, is_loopback, is_origin

_PORTS = {"amqp": 5672, "amqps": 5671}


def elsewhere(url: str) -> Elsewhere:
    """The server that a URL names; ConfigurationError if it names none."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if not host or parts.scheme not in _PORTS or parts.path.strip("/") or parts.username is not None:
        raise ConfigurationError(f"expected amqp://HOST:PORT or amqps://HOST:PORT, found {value_text(url)}")
    return Elsewhere(host, _PORTS[parts.scheme] if port is None else port, parts.scheme)


def failover_mistakes(urls: Sequence[str]) -> Iterator[str]:
    """What is wrong with the servers to go to."""
    for number, url in enumerate(urls, 1):
        try:
            elsewhere(url)
        except ConfigurationError as problem:
            yield f"server.failover[{number}]: {problem}"


def listener_mistakes(listener: ListenerConfig, where: str) -> Iterator[str]:
    """What is wrong within one listener, whatever the rest of the file says."""
    if listener.kind is ListenerKind.UNIX:
        yield from _unix_mistakes(listener, where)
    else:
        yield from host_mistakes(listener.host, f"{where}.host")
        yield from _path_mistakes(listener, where)
    yield from _origin_mistakes(listener, where)
    yield from _tls_mistakes(listener, where)


def host_mistakes(host: str, key: str) -> Iterator[str]:
    """What is wrong with the host of a socket."""
    if not is_host(host):
        yield f'{key}: expected an IP address, a host name, or "*" for every interface, found {value_text(host)}'


def http_mistakes(http: HttpConfig, where: str) -> Iterator[str]:
    """What is wrong with where the pages are."""
    yield from host_mistakes(http.host, f"{where}.host")
    for name in http.hosts:
        if name in EVERY_INTERFACE or not is_host(name):
            yield f"{where}.hosts: expected host names without a port, found {value_text(name)}"


def _unix_mistakes(listener: ListenerConfig, where: str) -> Iterator[str]:
    if not listener.path:
        yield f"{where}.path: expected the path of the socket file, which a unix listener needs, found none"
    if listener.host:
        yield f"{where}.host: expected none for a unix listener, found {value_text(listener.host)}"
    if listener.port:
        yield f"{where}.port: expected none for a unix listener, found {listener.port}"


def _path_mistakes(listener: ListenerConfig, where: str) -> Iterator[str]:
    if listener.kind in {ListenerKind.WS, ListenerKind.WSS}:
        if not listener.path.startswith("/"):
            yield f'{where}.path: expected a URL path, which starts with "/", found {value_text(listener.path)}'
    elif listener.path:
        yield f"{where}.path: expected none for a {listener.kind} listener, found {value_text(listener.path)}"


def _origin_mistakes(listener: ListenerConfig, where: str) -> Iterator[str]:
    if listener.origins and listener.kind not in {ListenerKind.WS, ListenerKind.WSS}:
        yield f"{where}.origins: expected none for a {listener.kind} listener, which web pages cannot use"
    for origin in listener.origins:
        if not is_origin(origin):
            found = value_text(origin)
            yield f'{where}.origins: expected an origin, as in "https://app.example.com", or "*", found {found}'


def _tls_mistakes(listener: ListenerConfig, where: str) -> Iterator[str]:
    wants_client_certificates = listener.client_certificates is not ClientCertificates.NONE
    if not listener.encrypted:
        # Refused rather than ignored: who names a certificate here believes that the listener is encrypted.
        for key in ("cert", "key", "client_ca"):
            if getattr(listener, key):
                yield f"{where}.{key}: expected none, because a {listener.kind} listener is not encrypted"
        if wants_client_certificates:
            yield f'{where}.client_certificates: expected "none", because a {listener.kind} listener is not encrypted'
        return
    for key in ("cert", "key"):
        if not getattr(listener, key):
            yield f"{where}.{key}: expected the path of a file, which a {listener.kind} listener needs, found none"
    if wants_client_certificates and not listener.client_ca:
        yield (
            f"{where}.client_ca: expected the path of a file, which "
            f'client_certificates = "{listener.client_certificates}" needs, found none'
        )
    if listener.client_ca and not wants_client_certificates:
        yield f'{where}.client_certificates: expected "optional" or "required" beside client_ca, found "none"'


def admission_mistakes(listener: ListenerConfig, access: AccessConfig, where: str) -> Iterator[str]:
    """Whether there is any way at all for a client to be let in."""
    by_certificate = listener.client_certificates is not ClientCertificates.NONE and listener.certificate_user
    if listener.anonymous or access.password_file or by_certificate:
        return
    certificates = 'client_certificates = "required" with certificate_user = true, ' if listener.encrypted else ""
    yield (
        f"{where}: nobody could connect to {listener.name}: it takes no anonymous clients and there is no password "
        f"file to know others by; set access.password_file, {certificates}or anonymous = true on this listener"
    )


def shared_address_mistakes(listeners: Mapping[str, ListenerConfig], pages: Mapping[str, HttpConfig]) -> Iterator[str]:
    """Sockets that would want the same address. All by their place in the file; without a port, no conflict."""
    sockets = [
        (where, listener.host, listener.port, listener.address)
        for where, listener in listeners.items()
        if listener.kind is not ListenerKind.UNIX and listener.port
    ]
    sockets += [
        (where, http.host, http.port, address_text(http.host, http.port))
        for where, http in pages.items()
        if http.enabled and http.port
    ]
    for (first, host, port, _), (second, other_host, other_port, address) in combinations(sockets, 2):
        if port == other_port and (host.lower() == other_host.lower() or EVERY_INTERFACE & {host, other_host}):
            yield f"{second}.port: expected an address of its own, found {address}, which {first} takes already"
    files = [(where, listener.path) for where, listener in listeners.items() if listener.kind is ListenerKind.UNIX]
    for (first, path), (second, other_path) in combinations(files, 2):
        if path == other_path:
            yield f"{second}.path: expected a socket file of its own, found {path}, which {first} takes already"


def stream_mistakes(streams: Mapping[str, StreamOptions], most_levels: int) -> Iterator[str]:
    """What is wrong between streams, by their place in the file, and with what this server's limits allow."""
    names: dict[str, str] = {}
    for where, stream in streams.items():
        if stream.name in names:
            yield f"{where}.name: expected a name of its own, found {stream.name}, as in {names[stream.name]}"
        names.setdefault(stream.name, where)
        yield from filter_mistakes(stream.filter, f"{where}.filter", most_levels)


def filter_mistakes(topic_filter: str, key: str, most_levels: int) -> Iterator[str]:
    """What is wrong with a topic filter that messages are collected by."""
    if mistake := filter_mistake(topic_filter, most_levels):
        yield f"{key}: {mistake}"


def name_mistakes(name: str, key: str) -> Iterator[str]:
    """What is wrong with the name of something that has a folder of that name."""
    if mistake := plain_name_mistake(name):
        yield f"{key}: {mistake}"


def http_warnings(http: HttpConfig) -> Iterator[str]:
    """What is allowed but deserves a second look."""
    if http.enabled and not is_loopback(http.host):
        yield (
            f"http.host: everyone who can reach {address_text(http.host, http.port)} can read the metrics, the "
            "statistics and all messages of all streams; there is no access control on them"
        )
        if http.make_streams:
            yield "http.make_streams: and they can make streams, each of which costs disk, and delete them"


def pattern_mistakes(patterns: Sequence[str]) -> Iterator[str]:
    """What is wrong with the names of queues that clients may have made."""
    for number, pattern in enumerate(patterns, 1):
        if not pattern or pattern.startswith("$"):
            key = f"queues.create[{number}]"
            yield f'{key}: expected the names of queues, as in "dev.*", found {value_text(pattern)}'


def queue_mistakes(
    queues: Mapping[str, QueueConfig], dead_letters: str, most_levels: int, *, all_known: bool = True
) -> Iterator[str]:
    """What is wrong with queues, by their place in the file; `all_known`: whether no other has mistakes of its own."""
    places: dict[str, str] = {}
    kinds = {DEAD_LETTER_QUEUE: QueueKind.LOCAL, dead_letters: QueueKind.LOCAL, TEMPORARY_MODEL: QueueKind.MODEL}
    for where, queue in queues.items():
        if queue.name in places:
            yield f"{where}.name: expected a name of its own, found {queue.name}, as in {places[queue.name]}"
        places.setdefault(queue.name, where)
        kinds[queue.name] = queue.kind
    for where, queue in queues.items():
        mistakes = list(_own_mistakes(queue, where))
        yield from mistakes
        if not mistakes and all_known:
            yield from _other_mistakes(queue, where, kinds)
        for number, topic_filter in enumerate(queue.topics, 1):
            yield from filter_mistakes(topic_filter, f"{where}.topics[{number}]", most_levels)


def _own_mistakes(queue: QueueConfig, where: str) -> Iterator[str]:
    if queue.kind is not QueueKind.LOCAL and queue.topics:
        yield f"{where}.topics: expected none, because only a local queue has messages, and this is {_article(queue)}"
    if queue.kind is QueueKind.LOCAL and queue.temporary:
        yield f"{where}.temporary: expected false, because a queue of the configuration stays, found true"
    if queue.name.startswith("$"):
        yield f'{where}.name: expected a name that does not begin with "$", found {value_text(queue.name)}'


def _article(queue: QueueConfig) -> str:
    return "an alias" if queue.kind is QueueKind.ALIAS else "a model"


def _other_mistakes(queue: QueueConfig, where: str, kinds: Mapping[str, QueueKind]) -> Iterator[str]:
    """What is wrong with the queues that a queue names."""
    for key in ("target", "backout_queue", "dead_letter_queue"):
        name = getattr(queue, key)
        if not name:
            continue
        kind = kinds.get(name)
        if kind is None:
            yield f"{where}.{key}: expected the name of a queue in this file, found {value_text(name)}"
        elif kind is not QueueKind.LOCAL:
            yield f"{where}.{key}: expected the name of a local queue, found {value_text(name)}, of kind {kind}"


def manager_mistakes(managers: Mapping[str, QueueManagerConfig], main_directory: str) -> Iterator[str]:
    """What is wrong with queue managers, their listeners and queues aside."""
    names: dict[str, str] = {}
    folders = {str(Path(main_directory)): "storage"} if main_directory else {}
    for where, manager in managers.items():
        if mistakes := list(name_mistakes(manager.name, f"{where}.name")):
            yield from mistakes
        elif manager.name in names:
            yield f"{where}.name: expected a name of its own, found {manager.name}, as in {names[manager.name]}"
        else:
            names[manager.name] = where
            folder = str(Path(manager.directory))
            if folder in folders:
                yield f"{where}.directory: expected a folder of its own, found {folder}, as in {folders[folder]}"
            folders.setdefault(folder, where)


_OF_FLOWS = ("sinks", "env", "input", "lookup_cache", "state")


def pipeline_mistakes(pipelines: Mapping[str, PipelineConfig], *, has_pages: bool) -> Iterator[str]:
    """What is wrong with pipelines, by their place in the file; `has_pages`: whether this server has HTTP pages."""
    names: dict[str, str] = {}
    for where, pipeline in pipelines.items():
        if mistakes := list(name_mistakes(pipeline.name, f"{where}.name")):
            yield from mistakes
        elif pipeline.name in names:
            yield f"{where}.name: expected a name of its own, found {pipeline.name}, as in {names[pipeline.name]}"
        names.setdefault(pipeline.name, where)
        yield from _program_mistakes(pipeline, where)
        kind, _, rest = pipeline.source.partition(":")
        if kind not in {"stream", "topic"} or not rest:
            yield f'{where}.source: expected "stream:NAME" or "topic:FILTER", found {value_text(pipeline.source)}'
        if "://" in pipeline.state:
            yield f"{where}.state: expected a folder, found {value_text(pipeline.state)}"
        if not has_pages and not pipeline.server:
            yield f"{where}.server: expected the pages of a server, since those of this one are not enabled, found none"


def _program_mistakes(pipeline: PipelineConfig, where: str) -> Iterator[str]:
    """What is wrong with what the pipeline runs."""
    if bool(pipeline.flow) == bool(pipeline.job):
        yield f"{where}: expected a flow or a job, found {'both' if pipeline.flow else 'neither'}"
    elif pipeline.flow and not Path(pipeline.flow).exists():
        yield f"{where}.flow: expected the folder of a flow, found nothing at {value_text(pipeline.flow)}"
    elif pipeline.job and not Path(pipeline.job).is_file():
        yield f"{where}.job: expected a Python file, found none at {value_text(pipeline.job)}"
    if pipeline.job:
        for key in _OF_FLOWS:
            if getattr(pipeline, key):
                yield f"{where}.{key}: expected none, because this is for flows; a job does that itself"
