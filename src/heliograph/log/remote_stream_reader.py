"""Reading a stream from another machine, over the server's HTTP pages. Records come as they are, to be decoded here."""

import json
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPSConnection, RemoteDisconnected
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from heliograph.errors import Problem
from heliograph.log.record import BadRecord
from heliograph.log.stream_block import BLOCK_SIZE, Block, block_of
from heliograph.log.stream_index import UnknownStream
from heliograph.log.stream_span import OffsetAhead, OffsetGone, StreamSource

_TIMEOUT = 30.0
_FOR_EVER = 1 << 63
"""More than any offset."""


class Unreachable(Problem):
    """The server does not answer, for now."""


class RemoteStreamReader(StreamSource):
    """Reads one stream, as a StreamReader does. A Problem says why the server cannot be reached."""

    def __init__(self, url: str, name: str, timeout: float = _TIMEOUT) -> None:
        """`url` is that of the server's pages, as in "http://broker:8080"; UnknownStream if it has no such stream."""
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise Problem(f"expected the URL of a server's pages, as in http://127.0.0.1:8080, found {url!r}")
        connection = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._connection = connection(parts.hostname, parts.port, timeout=timeout)
        self._url = url
        self._path = f"{parts.path.rstrip('/')}/streams/{quote(name, safe='')}"
        self.name = name
        try:
            self.describe()
        except BaseException:
            self.close()
            raise

    def describe(self) -> dict[str, Any]:
        """What the server says of the stream."""
        body, _ = self._get(self._path)
        description: dict[str, Any] = json.loads(body)
        return description

    @property
    def partitions(self) -> int:
        """How many partitions there are, numbered from 0."""
        return len(self.describe()["partitions"])

    def earliest(self, partition: int) -> int:
        """The oldest offset that is still there."""
        return self._of(partition, "earliest")

    def latest(self, partition: int) -> int:
        """The offset that the next message gets: all before it are safe."""
        return self._of(partition, "latest")

    def size(self, partition: int) -> int:
        """Bytes of the records with the partition's messages."""
        return self._of(partition, "bytes")

    def extents(self) -> list[tuple[int, int]]:
        """The earliest and the latest offset of each partition, as they are now."""
        return [(int(told["earliest"]), int(told["latest"])) for told in self.describe()["partitions"]]

    def _of(self, partition: int, key: str) -> int:
        partitions = self.describe()["partitions"]
        if not 0 <= partition < len(partitions):
            raise UnknownStream(f"stream {self.name}: no partition {partition}")
        return int(partitions[partition][key])

    def offset_at(self, partition: int, time_ms: int) -> int:
        """The offset of the first message that came at this time, in milliseconds since 1970, or later."""
        _, headers = self._get(f"{self._path}/{partition}", format="records", time=time_ms, limit=1)
        return int(headers["heliograph-offset"])

    def blocks(self, partition: int, offset: int, end: int | None = None, size: int = BLOCK_SIZE) -> Iterator[Block]:
        """See StreamSource. The server may give fewer bytes at a time than `size`."""
        while end is None or offset < end:
            limit = {} if end is None else {"limit": end - offset}
            query = {"format": "records", "offset": offset, "bytes": size, **limit}
            body, headers = self._get(f"{self._path}/{partition}", **query)
            if not body:
                return
            try:
                block = block_of(body, 0, int(headers["heliograph-cursor"]), offset, _FOR_EVER)
            except BadRecord as bad:
                raise Problem(f"{self._url}: the answer is damaged at its beginning: {bad}") from None
            if block.used < len(body) or not len(block):
                raise Problem(f"{self._url}: the answer is damaged at byte {block.used} of {len(body)}")
            yield block
            offset = block.next

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _get(self, path: str, **query: object) -> tuple[bytes, Mapping[str, str]]:
        whole = f"{path}?{urlencode(query)}" if query else path
        try:
            try:
                status, headers, body = self._ask(whole)
            except (RemoteDisconnected, ConnectionError):
                # Servers close connections that nobody has used for a while; if that is not why, it comes up again.
                status, headers, body = self._ask(whole)
        except (OSError, HTTPException) as error:
            raise Unreachable(f"{self._url}: the server cannot be reached: {_why(error)}") from None
        if status != HTTPStatus.OK:
            raise self._problem(status, body)
        return body, headers

    def _ask(self, path: str) -> tuple[int, Mapping[str, str], bytes]:
        try:
            self._connection.request("GET", path)
            answer = self._connection.getresponse()
            body = answer.read()
        except BaseException:
            self._connection.close()  # the next request makes another one
            raise
        return answer.status, {key.lower(): value for key, value in answer.getheaders()}, body

    def _problem(self, status: int, body: bytes) -> Problem:
        try:
            told: dict[str, Any] = json.loads(body)
        except ValueError:
            told = {"error": f"status {status}"}
        if status == HTTPStatus.NOT_FOUND:
            return UnknownStream(told["error"])
        if status == HTTPStatus.GONE:
            return OffsetGone(f"stream {self.name}", told["offset"], told["earliest"])
        if "latest" in told:
            return OffsetAhead(f"stream {self.name}", told["offset"], told["latest"])
        return Problem(f"{self._url}: {told['error']}")


def _why(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
