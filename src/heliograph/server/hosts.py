"""Hosts, addresses and origins: what listening sockets stand for, and which names in requests are the server's own."""

import ipaddress
import re
import socket
from collections.abc import Collection

EVERY_INTERFACE = frozenset({"", "*"})

_NAME = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?\.?")


def is_host(text: str) -> bool:
    """Whether this may stand as a host: an IPv4 or IPv6 address, a name, or one of the words for every interface."""
    return text in EVERY_INTERFACE or _ip(text) is not None or _NAME.fullmatch(text) is not None


def is_loopback(host: str) -> bool:
    """Whether a socket on this host can be reached from this machine only. Of names, only localhost is trusted."""
    ip = _ip(host)
    return host.lower() == "localhost" if ip is None else ip.is_loopback


def bind_host(host: str) -> str | None:
    """The host as asyncio's `create_server` wants it: None binds every interface, both families."""
    return None if host in EVERY_INTERFACE else host


def address_text(host: str, port: int) -> str:
    """`host:port` for people: `127.0.0.1:1883`, `[::1]:1883`, `*:1883`."""
    return f"[{host}]:{port}" if ":" in host else f"{host or '*'}:{port}"


def address_from_here(host: str, port: int) -> str:
    """`host:port` for programs on this machine, which reach a socket on every interface by its family's loopback."""
    ip = _ip(host)
    if host in EVERY_INTERFACE or (ip is not None and ip.is_unspecified):
        host = "::1" if ip is not None and ip.version == 6 else "127.0.0.1"
    return address_text(host, port)


def _ip(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


ANY = "*"

_ORIGIN = re.compile(r"https?://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+)(:\d{1,5})?|null|\*", re.ASCII)
_DEFAULT_PORT = {"http": ":80", "https": ":443"}


def is_origin(text: str) -> bool:
    """Whether this may stand among the origins of a listener."""
    return _ORIGIN.fullmatch(text) is not None


def is_own_host(header: str, names: Collection[str]) -> bool:
    """Whether a Host header means this server: an IP address, localhost, this machine's name, or one of these names."""
    name = _without_port(header)
    return _is_ip(name) or name == "localhost" or name in _machine_names() or name in map(_canonical, names)


def may_be_own_host(name: str, names: Collection[str]) -> bool:
    """Whether an AMQP client that asks for this host may mean this server: also by any name of the DNS."""
    return "." in name or _is_ip(name) or is_own_host(name, names)


def is_own_origin(origin: str, host_header: str) -> bool:
    """Whether an origin is the very address that is asked for. Some programs write https there whatever they use."""
    return origin.lower() in {f"http://{host_header.lower()}", f"https://{host_header.lower()}"}


def is_listed(origin: str, origins: Collection[str]) -> bool:
    """Whether an origin is among those that a listener names."""
    return ANY in origins or _plain(origin) in map(_plain, origins)


def _plain(origin: str) -> str:
    scheme = origin.lower().partition("://")[0]
    return origin.lower().removesuffix(_DEFAULT_PORT.get(scheme, "/"))


def _canonical(name: str) -> str:
    return name.lower().removesuffix(".")


def _without_port(header: str) -> str:
    if header.startswith("["):
        return header[1:].partition("]")[0]
    return _canonical(header.partition(":")[0])


def _is_ip(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _machine_names() -> set[str]:
    name = _canonical(socket.gethostname())
    return {name, name.partition(".")[0]}
