"""A thread with an event loop for one connection, and the calls by which other threads communicate with it."""

import asyncio
import queue
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Final, TypeVar

from heliograph.client.errors import IllegalState, NoAnswer
from heliograph.client.network import LOG, Network
from heliograph.client.pending import Pending

T = TypeVar("T")
# How long the thread may delay messages that nobody waits for, so that they are sent in runs.
_LINGER: Final = 0.001
# At this number of messages there is no delay.
_RUN: Final = 256


class ThreadNetwork(Network):
    """The driver of a core that lives in an `IoThread`."""

    thread: "IoThread"

    def submit(self, call: Callable[[], object]) -> None:
        self.thread.post(call)

    def tell(self, hook: Callable[..., object], *what: object) -> None:
        self.thread.hooks.put(lambda: hook(*what))


class CallbackThread:
    """A thread that runs the application's callbacks, one after the other. It starts with the first."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._queue: queue.SimpleQueue[Callable[[], object] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def put(self, call: Callable[[], object]) -> None:
        """Run this when everything before it is done."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()
        self._queue.put(call)

    def _run(self) -> None:
        while (call := self._queue.get()) is not None:
            try:
                call()
            except Exception:
                LOG.exception("a callback of the application raised")

    def stop(self) -> None:
        """End, when the callback that is running has returned."""
        if self._thread is not None:
            self._queue.put(None)
            if self._thread is not threading.current_thread():
                self._thread.join()


class IoThread:
    """Runs a core. All calls into the core are posted here."""

    def __init__(self, make: Callable[[], ThreadNetwork]) -> None:
        """Start the thread; `make` is called in it."""
        self._posted: deque[tuple[Callable[..., object], tuple[Any, ...]]] = deque()
        self._called = False
        self._looks_again = False
        self._stopped = False
        self._gathers = False
        self._network: ThreadNetwork | None = None
        self._loop = asyncio.new_event_loop()
        self.hooks = CallbackThread("heliograph-hooks")
        self._thread = threading.Thread(target=self._run, name="heliograph-io", daemon=True)
        self._thread.start()
        made: Pending[ThreadNetwork] = Pending()
        self._post_now(lambda: made.resolve(make()))
        network = self.wait(lambda: made)
        network.thread = self
        self.core = network.core
        self._network = network

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        self._loop.close()

    def post(self, call: Callable[..., object], *arguments: Any) -> None:
        """Call this in the thread, soon, without waiting for it."""
        self._posted.append((call, arguments))
        self._gathers = True
        if not self._looks_again or len(self._posted) >= _RUN:
            self._call_thread()

    def _post_now(self, call: Callable[..., object], *arguments: Any) -> None:
        self._posted.append((call, arguments))
        self._call_thread()

    def call(self, begin: Callable[[], T]) -> Pending[T]:
        """Have this called in the thread, soon; its result is to be waited for there."""
        outcome: Pending[T] = Pending()

        def run() -> None:
            try:
                outcome.resolve(begin())
            except Exception as error:
                outcome.fail(error)

        self._post_now(run)
        return outcome

    def _call_thread(self) -> None:
        if self._stopped:
            raise IllegalState("the connection is closed")
        # The flag is read without a lock: at worst, the thread is called once too often.
        if not self._called:
            self._called = True
            self._loop.call_soon_threadsafe(self._look)

    def _look(self) -> None:
        self._called = False
        self._work()
        # Whoever does not wait is likely to have more in a moment.
        if self._gathers and not self._looks_again:
            self._gathers = False
            self._looks_again = True
            self._loop.call_later(_LINGER, self._look_again)

    def _look_again(self) -> None:
        """While there is more each time, other threads need not wake this one."""
        if self._posted:
            self._work()
            self._loop.call_later(_LINGER, self._look_again)
            return
        self._looks_again = False
        # Somebody may have relied on the flag just before it fell.
        self._work()

    def _work(self) -> None:
        posted = self._posted
        while posted:
            call, arguments = posted.popleft()
            call(*arguments)
        # What came of it is written now, not in the next turn of the loop.
        self.write()

    def write(self) -> None:
        """Write what there is to be written; to be called in the thread."""
        if self._network is not None:
            self._network.flush()

    def wait(self, begin: Callable[[], Pending[T]], timeout: float | None = None) -> T:
        """Begin something in the thread, and wait for its result."""
        if threading.get_ident() == self._thread.ident:
            raise IllegalState("this would wait for itself: a completion callback must not call methods that wait")
        outcome: list[Pending[T]] = []
        ready = threading.Lock()
        ready.acquire()

        def finished(pending: Pending[T]) -> None:
            outcome.append(pending)
            ready.release()

        def run() -> None:
            try:
                pending = begin()
            except Exception as error:
                pending = Pending()
                pending.fail(error)
            pending.when_done(finished)

        self._post_now(run)
        if not ready.acquire(timeout=-1 if timeout is None else timeout):
            raise NoAnswer(f"not done in {timeout} seconds")
        return outcome[0].result()

    def stop(self) -> None:
        """End the thread, after a moment for what is still to be written."""
        self.hooks.stop()
        self._stopped = True
        self._loop.call_soon_threadsafe(self._loop.create_task, self._wind_up())
        self._thread.join()

    async def _wind_up(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        if self._network is not None:
            await self._network.quiet()
        self._loop.stop()
