"""The connection to the server, which a worker process keeps from one task to the next."""

import json
import urllib.error
import urllib.request
from contextlib import suppress
from http.client import HTTPException
from urllib.parse import urlsplit

from heliograph.client import Connection, ConnectionLost, MessagingProblem, Producer, Session, connect
from heliograph.common.network_errors import network_error_text
from heliograph.pipeline.errors import PublishingFailed
from heliograph.pipeline.sink.options import SinkOptions

_TIMEOUT = 20.0
_EVERYWHERE = frozenset({"0.0.0.0", "::", ""})  # noqa: S104 - found, not bound


class Channel:
    """A connection with the session of its units of work, and a producer in it that sends anywhere."""

    def __init__(self, options: SinkOptions) -> None:
        self.connection: Connection = connect(
            amqp_address(options),
            reconnect=False,  # a unit of work that was lost with its connection is begun anew by those who know it
            timeout=_TIMEOUT,
            ca=options.ca or None,
            cert=options.cert or None,
            key=options.key or None,
        )
        try:
            self.work: Session = self.connection.session("transacted")
            self.producer: Producer = self.work.producer()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the connection; the server rolls back what was not committed."""
        with suppress(MessagingProblem):
            self.connection.close()


_kept: dict[SinkOptions, Channel] = {}
_reached: set[SinkOptions] = set()


def channel_to(options: SinkOptions) -> Channel:
    """The channel of this process; connects if there is none."""
    channel = _kept.get(options)
    if channel is None:
        channel = _kept[options] = Channel(options)
        _reached.add(options)
    return channel


def was_reached(options: SinkOptions) -> bool:
    """Whether this process was ever connected to the server: only then is it worth waiting for."""
    return options in _reached


def drop_channel(options: SinkOptions) -> None:
    """Close a channel that is broken; the next call of `channel_to` connects again."""
    channel = _kept.pop(options, None)
    if channel is not None:
        channel.close()


def amqp_address(options: SinkOptions) -> str:
    """The server's AMQP address, as its pages give it."""
    parts = urlsplit(options.server)
    if parts.scheme in {"amqp", "amqps"}:
        return options.with_user(options.server)
    for listener in _listeners(options.server):
        if listener.get("protocol") == "amqp" and listener.get("kind") in {"tcp", "tls"}:
            host = parts.hostname if listener["host"] in _EVERYWHERE else listener["host"]
            host = f"[{host}]" if ":" in str(host) else host
            scheme = "amqps" if listener["kind"] == "tls" else "amqp"
            return options.with_user(f"{scheme}://{host}:{listener['port']}")
    raise PublishingFailed(f"the server at {options.server} has no AMQP listener, which is needed for writing")


def _listeners(server: str) -> list[dict[str, object]]:
    page = server.rstrip("/") + "/listeners"
    try:
        with urllib.request.urlopen(page, timeout=_TIMEOUT) as answer:  # noqa: S310 - the scheme was checked
            listeners: list[dict[str, object]] = json.load(answer)
            return listeners
    except urllib.error.HTTPError as error:
        raise PublishingFailed(f"cannot ask the server where it listens ({page}): {error}") from None
    except (OSError, HTTPException) as error:  # the server is away, as if its AMQP listener had not answered
        raise ConnectionLost(f"cannot ask the server where it listens: {network_error_text(error, page)}") from None
    except ValueError as error:
        raise PublishingFailed(f"{page}: expected the listeners of a server, found something else: {error}") from None
