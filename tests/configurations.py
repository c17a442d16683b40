"""Configurations of servers for tests: listeners and pages on ports that the kernel chooses.

`listener` makes a table for one listener; keys that are written behind it belong to it. PLAIN, AMQP and BOTH are whole
configurations, which others start from.
"""

from certificates import Authority, Pair

PAGES = "[http]\nport = 0\n"
NO_PAGES = "[http]\nenabled = false\n"
QUIET = '[log]\nlevel = "warning"\n'


def listener(
    kind: str = "",
    protocol: str = "",
    *,
    pair: Pair | None = None,
    port: int | str = 0,
    anonymous: bool | None = None,
) -> str:
    """A listener of this kind and protocol, unless they are the default; `pair` are its certificate and key."""
    lines = ["[[listener]]", f"port = {port}"]
    lines += [f'protocol = "{protocol}"'] if protocol else []
    lines += [f'kind = "{kind}"'] if kind else []
    lines += [f'cert = "{pair.cert}"', f'key = "{pair.key}"'] if pair is not None else []
    lines += [f"anonymous = {str(anonymous).lower()}"] if anonymous is not None else []
    return "\n".join([*lines, ""])


PLAIN = f"\n{listener()}{PAGES}"
"""A server for MQTT."""
AMQP = f"\n{listener(protocol='amqp')}{PAGES}"
"""A server for AMQP."""
BOTH = f"{PLAIN}{listener(protocol='amqp')}"
"""A server for MQTT and AMQP."""
PLANT = f"""{PLAIN}
[storage]
directory = "data"
[[stream]]
name = "plant"
filter = "plant/#"
"""
"""A server for MQTT with a stream; what is written behind it belongs to the stream."""


def all_kinds(pair: Pair, protocol: str = "mqtt") -> str:
    """A configuration with one listener of each kind, and the pages; the socket file is beside the configuration."""
    listeners = "".join(
        listener(kind, protocol, pair=pair if kind in {"tls", "wss"} else None) for kind in ("tcp", "tls", "ws", "wss")
    )
    return f'{listeners}[[listener]]\nprotocol = "{protocol}"\nkind = "unix"\npath = "{protocol}.sock"\n{PAGES}'


def tls_listener(authority: Authority) -> str:
    """A listener with TLS, and a certificate of this authority."""
    return listener("tls", pair=authority.issue("server", "server"))


def with_client_certificates(authority: Authority, wanted: str, more: str = "") -> str:
    """A configuration with TLS that asks for client certificates, "optional" or "required"."""
    rules = f'client_ca = "{authority.cert}"\nclient_certificates = "{wanted}"\n'
    return f"{tls_listener(authority)}{rules}{more}{NO_PAGES}"
