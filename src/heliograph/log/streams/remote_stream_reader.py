"""Reading a stream from another machine, over the server's HTTP pages. Records come as they are, to be decoded here.

Theory of operation
1. One connection is kept open, with one request at a time. `_asked` is a request whose answer was not read yet, and
   `_answer` the last answer. A different request in between closes the connection; what was lost is requested again.
2. An answer has whole records, but bytes arrive in any pieces. A block is made as soon as enough has arrived; an
   incomplete record at its end begins the next block.
3. While the caller decodes the last block of an answer, the next request is already sent (`_ask_ahead`).
4. A connection that breaks half-way is no error if some records have arrived: the rest is requested from there on. Only
   an attempt that brings nothing raises ServerUnreachable, so every round makes progress.
"""

import json
from collections.abc import Iterator
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPMessage, HTTPResponse, HTTPSConnection, RemoteDisconnected
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from heliograph.common.network_errors import network_error_text
from heliograph.common.ports import PAGES_URL
from heliograph.errors import InvalidInput, Problem
from heliograph.log.buffer_pool import BufferPool
from heliograph.log.errors import (
    BadAnswer,
    BadRecord,
    OffsetAhead,
    OffsetGone,
    RequestRefused,
    ServerUnreachable,
    UnknownStream,
)
from heliograph.log.record import record_room
from heliograph.log.streams.stream_block import BLOCK_SIZE, BlockData, StreamBlock, block_of
from heliograph.log.streams.stream_source import StreamSource, StreamState

_TIMEOUT = 30.0
_MUCH = 4 << 20
_FOR_EVER = 1 << 63
"""More than any offset."""


def _connection_to(url: str, timeout: float) -> tuple[HTTPConnection, str]:
    """A connection that is made with the first request, and the path of the pages on that server."""
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise InvalidInput(f"expected the URL of a server's pages, as in {PAGES_URL}, found {url!r}")
    make = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    return make(parts.hostname, parts.port, timeout=timeout), parts.path.rstrip("/")


def request_page(server: str, path: str, method: str = "GET", body: str | None = None) -> Any:
    """Send one request to the pages of a server and decode the answer; RequestRefused if it is an error.

    `server` is the URL of the pages, `path` the path below it.
    """
    connection, base = _connection_to(server, _TIMEOUT)
    headers = {"Content-Type": "application/json"} if body is not None else {}
    try:
        connection.request(method, base + path, body, headers)
        answer = connection.getresponse()
        return decode_page(answer.status, answer.read())
    except (OSError, HTTPException) as error:
        raise ServerUnreachable(
            f"{server}: the server cannot be reached: {network_error_text(error, server)}"
        ) from None
    finally:
        connection.close()


def decode_page(status: int, body: bytes) -> Any:
    """Decode an answer of the pages; RequestRefused if it is an error."""
    try:
        found = json.loads(body)
        error = "" if status in {HTTPStatus.OK, HTTPStatus.CREATED} else str(found["error"])
    except (ValueError, KeyError, TypeError):
        raise BadAnswer(f"expected an answer of heliograph's pages, found status {status} and something else") from None
    if error:
        raise RequestRefused(error)
    return found


class RemoteStreamReader(StreamSource):
    """Reads one stream, as a StreamReader does. A Problem says why the server cannot be reached."""

    def __init__(self, url: str, name: str, timeout: float = _TIMEOUT) -> None:
        """`url` is that of the server's pages, as in "http://broker:15880"; UnknownStream if it has no such stream."""
        self._connection, base = _connection_to(url, timeout)
        self._url = url
        self._path = f"{base}/streams/{quote(name, safe='')}"
        self.name = name
        self._asked = ""
        """The request whose answer has not been read yet."""
        self._answer: HTTPResponse | None = None
        """The last answer."""
        try:
            told = self.describe()
        except BaseException:
            self.close()
            raise
        self.identity = str(told.get("identity", ""))
        self.directory = str(told.get("directory", ""))
        """Where the log is on the server's machine."""

    def describe(self) -> dict[str, Any]:
        """The description of the stream that the server gives."""
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

    def state(self) -> StreamState:
        """Its identity and extents now."""
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
        self,
        partition: int,
        offset: int,
        end: int | None = None,
        size: int = BLOCK_SIZE,
        pool: BufferPool | None = None,
    ) -> Iterator[StreamBlock]:
        """See StreamSource.

        A pool means bulk reading: several blocks are requested at a time, and the next ones before the last of them is
        decoded.
        """
        much = size if pool is None else max(size, _MUCH)
        while end is None or offset < end:
            answer = self._open(self._records(partition, offset, end, much))
            if not answer.length:
                self._body(answer)  # http.client allows the next request only after even an empty body was read
                return
            following = int(answer.headers["heliograph-next-offset"])
            ahead = pool is not None and end is not None and following < end
            then = self._records(partition, following, end, much) if ahead else ""
            before = offset
            try:
                for block in self._blocks_in(answer, offset, size, pool, then):
                    yield block
                    offset = block.next
            except ServerUnreachable:
                if offset == before:
                    raise
                # The connection broke half-way. If the server is really gone, the next request says so.

    def _blocks_in(
        self, answer: HTTPResponse, offset: int, size: int, pool: BufferPool | None, then: str
    ) -> Iterator[StreamBlock]:
        """The records of an answer, as they arrive. `then` is the request to send when the whole answer has arrived."""
        cursor, total, rest, first = int(answer.headers["heliograph-cursor"]), answer.length or 0, b"", offset
        if pool is None:
            size = total
        try:
            while answer.length:
                if self._answer is not answer:  # another request came in between: the rest is requested again
                    return
                wanted = max(size, record_room(rest, 0), len(rest) + 1)
                data = self._more(answer, rest, min(wanted - len(rest), answer.length), pool)
                if not answer.length and then:
                    self._ask_ahead(then)
                if answer.length and record_room(data, 0) > len(data):
                    rest = bytes(data)
                    continue
                block = self._block(data, cursor, offset)
                rest = bytes(data[block.used :])
                if len(block):
                    yield block
                    offset = block.next
        finally:
            if answer.length and self._answer is answer:  # the caller has stopped reading
                self.close()
        if rest or offset == first:
            raise BadAnswer(f"{self._url}: the answer is damaged at byte {total - len(rest)} of {total}")

    def _block(self, data: BlockData, cursor: int, offset: int) -> StreamBlock:
        try:
            return block_of(data, 0, cursor, offset, _FOR_EVER)
        except BadRecord as bad:
            raise BadAnswer(f"{self._url}: the answer is damaged: {bad}") from None

    def _more(self, answer: HTTPResponse, rest: bytes, size: int, pool: BufferPool | None) -> BlockData:
        """The incomplete record `rest`, followed by `size` more bytes of the answer."""
        whole = len(rest) + size
        data = memoryview(bytearray(whole)) if pool is None else pool.take(whole)
        view = memoryview(data)
        view[: len(rest)] = rest
        done = len(rest)
        try:
            while done < whole:
                more = answer.readinto(view[done:])
                if not more:
                    raise ConnectionError(f"the answer ends {answer.length} bytes too early")
                done += more
        except (OSError, HTTPException) as error:
            raise self._unreachable(error) from None
        return data

    def close(self) -> None:
        """Close the connection; the next request makes another one."""
        self._asked, self._answer = "", None
        self._connection.close()

    def _records(self, partition: int, offset: int, end: int | None, size: int) -> str:
        limit = {} if end is None else {"limit": end - offset}
        query = urlencode({"format": "records", "offset": offset, "bytes": size, **limit})
        return f"{self._path}/{partition}?{query}"

    def _get(self, path: str) -> tuple[bytes, HTTPMessage]:
        answer = self._open(path)
        return self._body(answer), answer.headers

    def _open(self, path: str) -> HTTPResponse:
        """Send a request. Returns the answer with its body unread; raises if the server reports an error."""
        try:
            try:
                answer = self._ask(path)
            except (RemoteDisconnected, ConnectionError):
                # Servers close idle connections, so try once more. Any other reason raises again.
                answer = self._ask(path)
        except (OSError, HTTPException) as error:
            raise self._unreachable(error) from None
        if answer.status != HTTPStatus.OK:
            raise self._problem(answer.status, self._body(answer))
        return answer

    def _body(self, answer: HTTPResponse) -> bytes:
        try:
            return answer.read()
        except (OSError, HTTPException) as error:
            raise self._unreachable(error) from None

    def _unreachable(self, error: Exception) -> ServerUnreachable:
        self.close()
        return ServerUnreachable(f"{self._url}: the server cannot be reached: {network_error_text(error, self._url)}")

    def _ask(self, path: str) -> HTTPResponse:
        try:
            if self._asked != path:
                if self._asked or (self._answer is not None and self._answer.length):  # the caller asks something else
                    self.close()
                self._connection.request("GET", path)
            self._asked = ""
            self._answer = self._connection.getresponse()
            return self._answer
        except BaseException:
            self.close()
            raise

    def _ask_ahead(self, path: str) -> None:
        """Send the next request before its answer is needed."""
        try:
            self._connection.request("GET", path)
            self._asked = path
        except (OSError, HTTPException):
            self._connection.close()  # not an error yet: the request is sent again when its answer is needed

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
        return RequestRefused(f"{self._url}: {told['error']}")
