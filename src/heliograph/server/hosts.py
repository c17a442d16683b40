"""What the host of a listening socket stands for."""

import ipaddress
import re

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
