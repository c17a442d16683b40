"""How far behind a pipeline is."""

import time
from collections.abc import Mapping

from heliograph.errors import Problem
from heliograph.log.streams import RemoteStreamReader, StreamReader, StreamSource, stream_lag
from heliograph.pipeline.running.pipeline import Pipeline

_TIMEOUT = 5.0


class LagMeter:
    """Looks at the streams that a pipeline reads."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._server = pipeline.server
        self._readers: dict[str, StreamSource] = {}

    def measure(self, offsets: Mapping[str, Mapping[str, int]]) -> tuple[int | None, float | None]:
        """Messages and seconds; nothing if the server cannot be asked or there is no offset yet."""
        messages, seconds = 0, 0.0
        if not offsets:
            return None, None
        try:
            for stream, partitions in offsets.items():
                done = {int(number): offset for number, offset in partitions.items()}
                lag = stream_lag(self._reader(stream), done, time.time() * 1000)
                messages, seconds = messages + lag.messages, max(seconds, lag.seconds)
        except (Problem, OSError):
            return None, None
        return messages, round(seconds, 3)

    def _reader(self, stream: str) -> StreamSource:
        if stream not in self._readers:
            remote = self._server.startswith(("http://", "https://"))
            self._readers[stream] = (
                RemoteStreamReader(self._server, stream, _TIMEOUT) if remote else StreamReader(self._server, stream)
            )
        return self._readers[stream]

    def close(self) -> None:
        """Let go of what is open."""
        for reader in self._readers.values():
            reader.close()
