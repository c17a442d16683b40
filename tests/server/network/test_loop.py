"""The bell of the loop: another thread has news, and clients hear of it without asyncio. Pauses between two turns."""

import asyncio
import select
import socket
import threading
import time
from collections.abc import Callable

import pytest

from heliograph.server.network.loop import HAS_EPOLL, ClientLoop

pytestmark = pytest.mark.skipif(not HAS_EPOLL, reason="needs epoll")
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

        def serve_clients(_events: object) -> float:
            happened.append("clients")
            return 0.0

        loop.on_events(serve_clients)
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

        def handle(_events: object) -> float:
            if len(raised) < 3:
                raise RuntimeError("clients")
            done.set()
            return 0.0

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


# Pauses


def after_a_pause(pause: float, during: Callable[[ClientLoop], None]) -> float:
    """Seconds between a turn that asks for a pause and the next one, though a client has sent something at once."""
    turns: list[float] = []

    async def run() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, ClientLoop)
        done = asyncio.Event()
        theirs, ours = socket.socketpair()

        def handle(events: list[tuple[int, int]]) -> float:
            if ours.fileno() not in dict(events):
                return 0.0
            ours.recv(100)
            turns.append(time.monotonic())
            if len(turns) > 1:
                loop.call_soon_threadsafe(done.set)
                return 0.0
            theirs.send(b"second")
            during(loop)
            return pause

        with theirs, ours:
            theirs.send(b"first")
            loop.epoll.register(ours, select.EPOLLIN)
            loop.on_events(handle)
            await asyncio.wait_for(done.wait(), PATIENCE)
            loop.epoll.unregister(ours)

    with asyncio.Runner(loop_factory=ClientLoop) as runner:
        runner.run(run())
    return turns[1] - turns[0]


def test_in_a_pause_no_client_is_listened_to() -> None:
    assert after_a_pause(0.1, lambda _loop: None) >= 0.09


def test_a_pause_shorter_than_the_clock_of_the_kernel_is_none() -> None:
    assert after_a_pause(0.0009, lambda _loop: None) < PATIENCE


def test_the_bell_ends_a_pause() -> None:
    assert after_a_pause(PATIENCE, lambda loop: loop.ring()) < PATIENCE / 2


def test_work_for_asyncio_ends_a_pause() -> None:
    assert after_a_pause(PATIENCE, lambda loop: loop.call_soon_threadsafe(lambda: None)) < PATIENCE / 2


def test_a_timer_ends_a_pause() -> None:
    def during(loop: ClientLoop) -> None:
        loop.call_later(0.01, lambda: None)

    assert after_a_pause(PATIENCE, during) < PATIENCE / 2
