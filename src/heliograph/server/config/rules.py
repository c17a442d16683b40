"""Rules that tie several keys of the configuration together. Each yields mistakes as `key: what is wrong`."""

from collections.abc import Iterator, Mapping
from itertools import combinations

from heliograph.broker import StreamOptions, filter_mistake, plain_name_mistake
from heliograph.objects import value_text
from heliograph.server.config.schema import AccessConfig, ClientCertificates, HttpConfig, ListenerConfig, ListenerKind
from heliograph.server.hosts import EVERY_INTERFACE, address_text, is_host, is_loopback
from heliograph.server.http.host_names import is_origin


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
