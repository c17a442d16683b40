"""A well-behaved client that uses the server while others attack it: how long did it have to wait?"""

import threading
import time
from types import TracebackType
from typing import Self

from heliograph.mqtt import Publish
from plain_client import PlainClient

PATIENT = 1.0
"""Seconds that a bystander may have to wait on a machine that runs other tests besides. Attacks held everybody up for
much longer than that before they were seen to."""

_PAUSE = 0.005
"""Seconds between two messages."""


class Bystander:
    """Publishes to itself all the time. `worst` is the longest that one of its messages took, in seconds."""

    def __init__(self, port: int, client_id: str = "bystander") -> None:
        self.worst = 0.0
        self.count = 0
        self.failure: Exception | None = None
        self._topic = f"{client_id}/echo"
        self._client = PlainClient(port).connected(client_id)
        self._client.subscribe(self._topic)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopped.set()
        self._thread.join()
        self._client.close()
        if kind is None:
            assert self.failure is None, f"the bystander was not served: {self.failure!r}"
            assert self.count, "the bystander got no message at all"

    def _run(self) -> None:
        try:
            last = False
            while not last:  # one more when it is stopped: the server must be there until the end
                last = self._stopped.wait(_PAUSE)
                start = time.monotonic()
                self._client.send(Publish(self._topic, b"still there?"))
                self._client.receive()
                self.worst = max(self.worst, time.monotonic() - start)
                self.count += 1
        except Exception as failure:
            self.failure = failure
