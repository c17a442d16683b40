"""The options of `format("mqtt")`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from heliograph.common.suggestions import closest_name
from heliograph.mqtt import ProtocolError, check_topic_filter
from heliograph.pipeline.errors import InvalidOption

_NAMES = (
    "server",
    "topic",
    "spool",
    "qos",
    "client_id",
    "user",
    "password",
    "ca",
    "cert",
    "key",
    "max_spool_bytes",
)
_PORTS = {"mqtt": 1883, "mqtts": 8883}


@dataclass(frozen=True)
class SpoolOptions:
    """The options of one query. It travels to the executors."""

    host: str
    port: int
    tls: bool
    topic: str
    spool: str
    """The directory of the spool, which the driver and all executors can reach."""
    qos: int = 1
    client_id: str = ""
    """Empty: one is made up, and kept in the spool."""
    user: str = ""
    password: str = field(default="", repr=False)
    ca: str = ""
    cert: str = ""
    key: str = ""
    max_spool_bytes: int = 1 << 30
    """When the spool is larger than this, nothing more is taken from the broker until Spark has caught up."""

    @property
    def server(self) -> str:
        """The broker, for people."""
        return f"{'mqtts' if self.tls else 'mqtt'}://{self.host}:{self.port}"


def spool_options(options: Mapping[str, str]) -> SpoolOptions:
    """Parse and check options; a `Problem` for unknown, missing or invalid ones."""
    given: dict[str, str] = {}
    for name, value in options.items():
        if name.lower() not in _NAMES:
            raise InvalidOption(_unknown(name))
        given[name.lower()] = value
    for name, what in (("topic", "a topic filter"), ("spool", "a directory")):
        if not given.get(name):
            raise InvalidOption(f'expected option "{name}" ({what}), found none')
    try:
        check_topic_filter(given["topic"])
    except ProtocolError as error:
        raise InvalidOption(f'topic: expected a topic filter, found "{given["topic"]}": {error}') from None
    if "password" in given and not given.get("user"):
        raise InvalidOption("the option password needs the option user")
    host, port, tls = _server(given.get("server", "mqtt://127.0.0.1:1883"))
    return SpoolOptions(
        host,
        port,
        tls,
        topic=given["topic"],
        spool=given["spool"],
        qos=_number("qos", given.get("qos", "1"), 0, 2),
        max_spool_bytes=_number("max_spool_bytes", given.get("max_spool_bytes", str(1 << 30)), 1, 1 << 60),
        **{name: given[name] for name in ("client_id", "user", "password", "ca", "cert", "key") if name in given},
    )


def _server(text: str) -> tuple[str, int, bool]:
    parts = urlsplit(text)
    try:
        port = parts.port
    except ValueError:
        port = -1
    if parts.scheme not in _PORTS or not parts.hostname or port == -1 or parts.username is not None:
        raise InvalidOption(f'server: expected mqtt://host:1883 or mqtts://host:8883, found "{text}"')
    return parts.hostname, port or _PORTS[parts.scheme], parts.scheme == "mqtts"


def _number(name: str, text: str, least: int, most: int) -> int:
    if not (text.isascii() and text.isdigit() and least <= int(text) <= most):
        raise InvalidOption(f'{name}: expected a whole number from {least} to {most}, found "{text}"')
    return int(text)


def _unknown(name: str) -> str:
    if name.lower() == "path":
        return 'expected load() without a path, and the option "spool" for the directory'
    near = closest_name(name, _NAMES)
    hint = f', did you mean "{near}"?' if near else ""
    return f'unknown option "{name}"{hint}; options are: {", ".join(_NAMES)}'
