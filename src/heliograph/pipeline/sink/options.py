"""The options of `format("heliograph")` for writing."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, urlsplit, urlunsplit

from heliograph.common.ports import PAGES_URL
from heliograph.common.suggestions import closest_name
from heliograph.pipeline.errors import InvalidOption

LONGEST_JOB = 36
KNOWN = ("server", "user", "password", "ca", "cert", "key", "topic", "queue", "job")
_OF_SPARK = frozenset({"checkpointlocation", "path", "queryname"})
"""What Spark hands over beside our own; keys are in small letters then."""
_JOB = re.compile(r"[A-Za-z0-9._/%-]+")


@dataclass(frozen=True)
class SinkOptions:
    """The options, checked. It travels to the executors."""

    server: str = PAGES_URL
    """`http://host:port` of the server's pages, or `amqp://host:port`."""
    user: str = ""
    password: str = field(default="", repr=False)
    ca: str = ""
    cert: str = ""
    key: str = ""
    topic: str = ""
    """Where all messages go, whatever the columns say; or the queue."""
    queue: str = ""
    job: str = ""
    """The name by which a batch write is known when it is repeated."""

    def with_user(self, address: str) -> str:
        """An AMQP address, with the user and the password in it if there are any."""
        if not self.user:
            return address
        parts = urlsplit(address)
        host = parts.netloc.rpartition("@")[2]
        login = f"{quote(self.user, safe='')}:{quote(self.password, safe='')}"
        return urlunsplit(parts._replace(netloc=f"{login}@{host}"))


def sink_options(given: Mapping[str, str], *, streaming: bool) -> SinkOptions:
    """Parse and check the user's options; `InvalidOption` for unknown or invalid ones."""
    options: dict[str, str] = {}
    for name, value in given.items():
        name = name.lower()
        if name in KNOWN:
            options[name] = value
        elif name not in _OF_SPARK:
            raise InvalidOption(_unknown(name))
    _check_server(options.get("server", PAGES_URL))
    if "topic" in options and "queue" in options:
        raise InvalidOption(
            f'expected one of topic and queue, found both: "{options["topic"]}" and "{options["queue"]}"'
        )
    for name in ("topic", "queue"):
        if name in options and not options[name]:
            raise InvalidOption(f"expected a name as option {name}, found nothing")
    if "password" in options and "user" not in options:
        raise InvalidOption("the option password needs the option user")
    if "job" in options:
        _check_job(options["job"], streaming)
    return SinkOptions(**options)


def _unknown(name: str) -> str:
    close = closest_name(name, KNOWN)
    hint = f"; did you mean {close}?" if close else ""
    return f'unknown option "{name}" for writing to heliograph; options are: {", ".join(KNOWN)}{hint}'


def _check_server(server: str) -> None:
    if urlsplit(server).scheme not in {"http", "https", "amqp", "amqps"} or not urlsplit(server).netloc:
        raise InvalidOption(
            f'expected an address (http://host:15880 or amqp://host:5672) as option server, found "{server}"'
        )


def _check_job(job: str, streaming: bool) -> None:
    if streaming:
        raise InvalidOption("the option job is for batch writes; a streaming query is known by its checkpoint")
    if not _JOB.fullmatch(job) or len(job) > LONGEST_JOB:
        raise InvalidOption(
            f'expected at most {LONGEST_JOB} letters, digits and . _ / % - as option job, found "{job}"',
        )
