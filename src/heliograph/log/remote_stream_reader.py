"""Reading a stream from another machine, over the server's HTTP pages. Records come as they are, to be decoded here."""

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode
from urllib.request import urlopen

from heliograph.errors import Problem
from heliograph.log.messages import offset_for
from heliograph.log.record import BadRecord, read_record
from heliograph.log.stream_index import UnknownStream
from heliograph.log.stream_span import LIMIT_BYTES, OffsetAhead, OffsetGone, StreamSource, StreamSpan, span_of

_TIMEOUT = 30.0


class RemoteStreamReader(StreamSource):
    """Reads one stream, as a StreamReader does. A Problem says why the server cannot be reached."""

    def __init__(self, url: str, name: str, timeout: float = _TIMEOUT) -> None:
        """`url` is that of the server's pages, as in "http://broker:8080"; UnknownStream if it has no such stream."""
        if not url.startswith(("http://", "https://")):
            raise Problem(f"expected the URL of a server's pages, as in http://127.0.0.1:8080, found {url!r}")
        self._url = f"{url.rstrip('/')}/streams/{quote(name, safe='')}"
        self._timeout = timeout
        self.name = name
        self.describe()

    def describe(self) -> dict[str, Any]:
        """What the server says of the stream."""
        body, _ = self._get(self._url)
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

    def _of(self, partition: int, key: str) -> int:
        partitions = self.describe()["partitions"]
        if not 0 <= partition < len(partitions):
            raise UnknownStream(f"stream {self.name}: no partition {partition}")
        return int(partitions[partition][key])

    def offset_at(self, partition: int, time_ms: int) -> int:
        """The offset of the first message that came at this time, in milliseconds since 1970, or later."""
        _, headers = self._get(f"{self._url}/{partition}", format="records", time=time_ms, limit=1)
        return int(headers["heliograph-offset"])

    def read(
        self, partition: int, offset: int, *, limit_messages: int | None = None, limit_bytes: int = LIMIT_BYTES
    ) -> list[StreamSpan]:
        """See StreamSource. The server may give fewer bytes at a time than `limit_bytes`."""
        query = {"format": "records", "offset": offset, "bytes": limit_bytes}
        if limit_messages is not None:
            if limit_messages <= 0:
                return []
            query["limit"] = limit_messages
        body, headers = self._get(f"{self._url}/{partition}", **query)
        cursor = int(headers["heliograph-cursor"])
        end = None if limit_messages is None else offset + limit_messages
        spans = []
        at = 0
        while at < len(body):
            try:
                record = read_record(body, at, at)
            except BadRecord as bad:
                raise Problem(f"{self._url}: the answer is damaged at byte {at}: {bad}") from None
            at = record.end
            first = offset_for(record.body, cursor)
            if first is None:
                raise Problem(f"{self._url}: the answer has a record of another partition at byte {record.position}")
            span = span_of(record, first)
            spans.append(span.part(offset, span.next if end is None else end))
        return spans

    def close(self) -> None:
        """Nothing is kept open between two calls."""

    def _get(self, url: str, **query: object) -> tuple[bytes, Mapping[str, str]]:
        whole = f"{url}?{urlencode(query)}" if query else url
        try:
            with urlopen(whole, timeout=self._timeout) as answer:  # noqa: S310  (the scheme has been looked at)
                return answer.read(), {key.lower(): value for key, value in answer.headers.items()}
        except HTTPError as error:
            raise self._problem(error) from None
        except (URLError, OSError) as error:
            raise Problem(f"{whole}: {getattr(error, 'reason', error)}") from None

    def _problem(self, error: HTTPError) -> Problem:
        try:
            told: dict[str, Any] = json.loads(error.read())
        except ValueError:
            told = {"error": error.reason}
        finally:
            error.close()
        if error.code == HTTPStatus.NOT_FOUND:
            return UnknownStream(told["error"])
        if error.code == HTTPStatus.GONE:
            return OffsetGone(f"stream {self.name}", told["offset"], told["earliest"])
        if "latest" in told:
            return OffsetAhead(f"stream {self.name}", told["offset"], told["latest"])
        return Problem(f"{error.url}: {told['error']}")
