"""Reading a stream from another machine, over the server's HTTP pages. Records come as they are, to be decoded here."""

import json
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection, RemoteDisconnected
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from heliograph.errors import Problem
from heliograph.log.record import BadRecord
from heliograph.log.room import Room
from heliograph.log.stream_block import BLOCK_SIZE, Block, Data, block_of
from heliograph.log.stream_index import UnknownStream
from heliograph.log.stream_span import OffsetAhead, OffsetGone, StreamSource, StreamState

_TIMEOUT = 30.0
_MUCH = 4 << 20
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
        self._asked = ""
        """What the server has been asked, and has not been listened to yet."""
        try:
            told = self.describe()
        except BaseException:
            self.close()
            raise
        self.identity = str(told.get("identity", ""))
        self.directory = str(told.get("directory", ""))
        """Where the log is on the server's machine."""

    def describe(self) -> dict[str, Any]:
        """What the server says of the stream."""
        body, _ = self._get(self._path)
        description: dict[str, Any] = json.loads(bytes(body))
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

    def state(self) -> StreamState:
        """What it is like now."""
        told = self.describe()
        extents = [(int(one["earliest"]), int(one["latest"])) for one in told["partitions"]]
        return StreamState(told.get("identity", ""), extents)

    def _of(self, partition: int, key: str) -> int:
        partitions = self.describe()["partitions"]
        if not 0 <= partition < len(partitions):
            raise UnknownStream(f"stream {self.name}: no partition {partition}")
        return int(partitions[partition][key])

    def offset_at(self, partition: int, time_ms: int) -> int:
        """The offset of the first message that came at this time, in milliseconds since 1970, or later."""
        _, headers = self._get(f"{self._path}/{partition}?format=records&time={time_ms}&limit=1")
        return int(headers["heliograph-offset"])

    def blocks(
        self, partition: int, offset: int, end: int | None = None, size: int = BLOCK_SIZE, room: Room | None = None
    ) -> Iterator[Block]:
        """See StreamSource. The server may give fewer bytes at a time than `size`.

        Whoever has a room reads a lot: then the server is asked for much at a time, whatever the size, and for the next
        block before this one is looked at.
        """
        if room is not None:
            size = _MUCH
        while end is None or offset < end:
            body, headers = self._get(self._records(partition, offset, end, size), room)
            if not len(body):
                return
            following = int(headers["heliograph-next-offset"])
            if room is not None and end is not None and following < end:
                self._ask_ahead(self._records(partition, following, end, size))
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

    def _records(self, partition: int, offset: int, end: int | None, size: int) -> str:
        limit = {} if end is None else {"limit": end - offset}
        query = urlencode({"format": "records", "offset": offset, "bytes": size, **limit})
        return f"{self._path}/{partition}?{query}"

    def _get(self, path: str, room: Room | None = None) -> tuple[Data, Mapping[str, str]]:
        try:
            try:
                status, headers, body = self._ask(path, room)
            except (RemoteDisconnected, ConnectionError):
                # Servers close connections that nobody has used for a while; if that is not why, it comes up again.
                status, headers, body = self._ask(path, room)
        except (OSError, HTTPException) as error:
            raise Unreachable(f"{self._url}: the server cannot be reached: {_why(error)}") from None
        if status != HTTPStatus.OK:
            raise self._problem(status, bytes(body))
        return body, headers

    def _ask(self, path: str, room: Room | None) -> tuple[int, Mapping[str, str], Data]:
        try:
            if self._asked != path:
                if self._asked:  # nobody wants to know any more
                    self._connection.close()
                self._connection.request("GET", path)
            self._asked = ""
            answer = self._connection.getresponse()
            body = answer.read() if room is None or not answer.length else _read_into(room, answer, answer.length)
        except BaseException:
            self._asked = ""
            self._connection.close()  # the next request makes another one
            raise
        return answer.status, {key.lower(): value for key, value in answer.getheaders()}, body

    def _ask_ahead(self, path: str) -> None:
        """Ask something that will be wanted soon."""
        try:
            self._connection.request("GET", path)
            self._asked = path
        except (OSError, HTTPException):
            self._connection.close()  # it is asked again when it is wanted, and then it matters

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


def _read_into(room: Room, answer: HTTPResponse, size: int) -> memoryview:
    body = room.take(size)
    done = 0
    while done < size:
        more = answer.readinto(body[done:])
        if not more:
            room.give_back(size)
            raise ConnectionError(f"the answer ends after {done} of {size} bytes")
        done += more
    return body


def _why(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
