"""One request to the HTTP pages of a server: what there is of streams, a stream made or deleted."""

import json
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

from heliograph.common.network_errors import sentence
from heliograph.common.ports import PAGES_URL
from heliograph.errors import Problem

_TIMEOUT = 30.0


class ServerUnreachable(Problem):
    """The server does not answer, for now."""


def request_page(server: str, path: str, method: str = "GET", body: str | None = None) -> Any:
    """What the server answers; a Problem is what it says is wrong, or Unreachable.

    `server` is the URL of the pages, `path` where on them.
    """
    parts = urlsplit(server)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise Problem(f"expected the URL of a server's pages, as in {PAGES_URL}, found {server!r}")
    make = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    connection = make(parts.hostname, parts.port, timeout=_TIMEOUT)
    headers = {"Content-Type": "application/json"} if body is not None else {}
    try:
        connection.request(method, parts.path.rstrip("/") + path, body, headers)
        answer = connection.getresponse()
        return decode_page(answer.status, answer.read())
    except (OSError, HTTPException) as error:
        raise ServerUnreachable(f"{server}: the server cannot be reached: {sentence(error, server)}") from None
    finally:
        connection.close()


def decode_page(status: int, body: bytes) -> Any:
    """What an answer says; a Problem if that is what is wrong."""
    try:
        found = json.loads(body)
        error = "" if status in {HTTPStatus.OK, HTTPStatus.CREATED} else str(found["error"])
    except (ValueError, KeyError, TypeError):
        raise Problem(f"expected an answer of heliograph's pages, found status {status} and something else") from None
    if error:
        raise Problem(error)
    return found
