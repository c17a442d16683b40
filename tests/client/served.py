"""The small broker on a socket of loopback, in a thread of its own, for clients that block."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from client.small_broker import Broker, serving

PATIENCE = 20.0


class Served:
    """A broker that runs until it is stopped, and can be started again on its port."""

    def __init__(self, broker: Broker, **options: Any) -> None:
        self.broker = broker
        self.port = 0
        self._options = options
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._serving: Any = None

    @property
    def url(self) -> str:
        return f"amqp://127.0.0.1:{self.port}"

    def start(self) -> None:
        async def enter() -> int:
            self._serving = serving(self.broker, self.port, **self._options)
            return await self._serving.__aenter__()

        self.port = self._run(enter())

    def stop(self) -> None:
        """Cut all connections, and be gone."""
        serving, self._serving = self._serving, None
        if serving is not None:
            self._run(serving.__aexit__(None, None, None))

    def _run(self, steps: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(steps, self._loop).result(PATIENCE)

    def close(self) -> None:
        self.stop()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE)
        self._loop.close()


@contextmanager
def served(broker: Broker, **options: Any) -> Iterator[Served]:
    running = Served(broker, **options)
    running.start()
    try:
        yield running
    finally:
        running.close()


def wait_for(condition: Callable[[], bool]) -> None:
    """Until it is so, or the test has failed."""
    done = threading.Event()
    for _ in range(round(PATIENCE / 0.005)):
        if condition():
            return
        done.wait(0.005)
    raise AssertionError("it never came about")
