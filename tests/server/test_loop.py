"""The bell of the loop: another thread has news, and clients hear of it without asyncio."""

import asyncio
import threading
from collections.abc import Callable

import pytest

from heliograph.server.loop import AVAILABLE, ClientLoop

pytestmark = pytest.mark.skipif(not AVAILABLE, reason="needs epoll")
PATIENCE = 20.0


def serve(act: Callable[[ClientLoop], None], answer: Callable[[ClientLoop, asyncio.Event], None]) -> list[str]:
    """Run a loop until `answer` sets the event, while another thread acts; what happened in it, in order."""
    happened: list[str] = []

    async def run() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, ClientLoop)
        done = asyncio.Event()

        def answered() -> None:
            happened.append("answer")
            answer(loop, done)

        loop.on_ring(answered)
        loop.on_events(lambda _events: happened.append("clients"))
        thread = threading.Thread(target=act, args=(loop,))
        thread.start()
        await asyncio.wait_for(done.wait(), PATIENCE)
        thread.join()

    with asyncio.Runner(loop_factory=ClientLoop) as runner:
        runner.run(run())
    return happened


def test_a_ring_is_answered_and_clients_are_written_to_right_after() -> None:
    happened = serve(lambda loop: loop.ring(), lambda _loop, done: done.set())
    at = happened.index("answer")
    assert happened[at + 1] == "clients"


def test_no_ring_is_lost() -> None:
    rung, answered = [0], [0]
    again = threading.Semaphore(0)

    def act(loop: ClientLoop) -> None:
        for _ in range(1000):
            rung[0] += 1
            loop.ring()
            assert again.acquire(timeout=PATIENCE)

    def answer(_loop: ClientLoop, done: asyncio.Event) -> None:
        answered[0] = rung[0]
        again.release()
        if answered[0] == 1000:
            done.set()

    serve(act, answer)
    assert answered == [1000]


def test_rings_while_the_loop_is_busy_are_one() -> None:
    def act(loop: ClientLoop) -> None:
        for _ in range(100):
            loop.ring()
        loop.call_soon_threadsafe(last.set)

    last = threading.Event()

    def answer(_loop: ClientLoop, done: asyncio.Event) -> None:
        done.set()

    assert serve(act, answer).count("answer") < 100


def test_what_is_raised_while_clients_are_served_does_not_end_the_loop() -> None:
    raised: list[str] = []

    async def run() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, ClientLoop)
        loop.set_exception_handler(lambda _loop, context: raised.append(str(context["exception"])))
        done = asyncio.Event()

        def answer() -> None:
            raise RuntimeError("answer")

        def handle(_events: object) -> None:
            if len(raised) < 3:
                raise RuntimeError("clients")
            done.set()

        loop.on_ring(answer)
        loop.on_events(handle)
        loop.ring()
        while not done.is_set():
            loop.call_soon_threadsafe(lambda: None)  # an event of asyncio's own, which must not be lost
            await asyncio.sleep(0.001)
            if len(raised) >= 3:
                loop.on_ring(done.set)
                loop.ring()

    with asyncio.Runner(loop_factory=ClientLoop) as runner:
        runner.run(asyncio.wait_for(run(), PATIENCE))
    assert set(raised) == {"answer", "clients"}
