"""The names of this server, and the origins of web pages that may open WebSockets: who may use it, and who is meant.

A browser lets any page that it shows send requests to any address, that of this machine included. Two headers, which no
page can forge, tell what is going on. `Host` has the name in the address that is asked for: a name that is not ours may
be one that a page's owner has made to lead to us (DNS rebinding), so that the browser takes us for the page's own
server. `Origin` has where the page came from; programs that are no browsers send none, or name the server itself.
"""

import ipaddress
import re
import socket
from collections.abc import Collection

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
