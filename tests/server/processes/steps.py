"""Steps of a test in an event loop, and waiting for a condition."""

import asyncio
from collections.abc import Awaitable, Callable

from running import PATIENCE


def run(steps: Callable[[], Awaitable[None]]) -> None:
    """Do the steps in an event loop of their own, in time."""

    async def in_time() -> None:
        await asyncio.wait_for(steps(), PATIENCE)

    asyncio.run(in_time())


async def until(condition: Callable[[], bool]) -> None:
    """Wait until the condition holds."""
    while not condition():  # noqa: ASYNC110 - the one watched knows of no event
        await asyncio.sleep(0.005)
