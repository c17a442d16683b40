"""A well-behaved client that uses the server while others attack it: how long did it have to wait?"""

import threading
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from heliograph.mqtt import Publish
from plain_client import PlainClient

PATIENT = 1.0
"""Seconds that a bystander may have to wait. Attacks held everybody up for much longer than that before they were seen
to."""

_PAUSE = 0.005
"""Seconds between two messages."""


class Bystander:
    """Publishes to itself all the time. `worst` is the longest that one of its messages took, in seconds.

    That is without the time that the server's process, if it is named, and the bystander itself wanted to run and could
    not, because the machine was busy with something else.
    """

    def __init__(self, port: int, client_id: str = "bystander", *, pid: int = 0) -> None:
        self.worst = 0.0
        self._pid = pid
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
                start, delayed = time.monotonic(), self._delayed()
                self._client.send(Publish(self._topic, b"still there?"))
                self._client.receive()
                took = time.monotonic() - start
                if took > self.worst:
                    self.worst = max(self.worst, took - (self._delayed() - delayed))
                self.count += 1
        except Exception as failure:
            self.failure = failure

    def _delayed(self) -> float:
        """Seconds that both have had to wait for a processor until now."""
        own = f"/proc/self/task/{threading.get_native_id()}/schedstat"
        return _waited(own) + (_waited(f"/proc/{self._pid}/task/{self._pid}/schedstat") if self._pid else 0.0)


def _waited(path: str) -> float:
    with suppress(OSError):  # the kernel does not tell, or the process has gone
        return int(Path(path).read_text().split()[1]) / 1e9
    return 0.0
