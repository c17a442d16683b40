"""Failover: try the servers in turn, follow redirections, and pause longer after each round."""

import random
from typing import Final, Protocol

from heliograph.client.core.settings import Server, Servers
from heliograph.client.errors import ConnectionLost, MessagingProblem, NoAnswer, SecurityError
from heliograph.common.backoff import Backoff

FIRST_PAUSE: Final = 0.05
LONGEST_PAUSE: Final = 30.0
_MOST_REDIRECTIONS: Final = 5


class Redirected(ConnectionLost):
    """The server sent us to another."""

    condition = "amqp:connection:redirect"

    def __init__(self, text: str, server: Server) -> None:
        super().__init__(text)
        self.server = server


class Connecting(Protocol):
    """What is needed of a connection to find a server for it."""

    servers: Servers

    async def try_server(self, server: Server) -> None: ...

    async def sleep(self, seconds: float) -> None: ...

    def check(self) -> None: ...


async def connect_to_any(connection: Connecting, *, patient: bool, begin_with: Server | None = None) -> None:
    """Connect to one of the servers. If `patient`, try until one accepts us or all refuse our credentials."""
    # A random pause, so that the clients of a server that went down do not all reconnect at the same moment.
    backoff = Backoff(FIRST_PAUSE, LONGEST_PAUSE, lambda: random.uniform(0.5, 1.0))  # noqa: S311 - nothing secret
    while True:
        problems: list[MessagingProblem] = []
        others = connection.servers.round()
        for server in others if begin_with is None else [begin_with, *others]:
            try:
                await _follow(connection, server)
            except MessagingProblem as problem:
                connection.check()
                problems.append(problem)
            else:
                if server in others:
                    connection.servers.current = server
                return
        begin_with = None
        if not patient or all(isinstance(problem, SecurityError) for problem in problems):
            raise _summary(problems)
        await connection.sleep(backoff.pause())
        connection.check()


async def _follow(connection: Connecting, server: Server) -> None:
    for _ in range(_MOST_REDIRECTIONS):
        try:
            await connection.try_server(server)
        except Redirected as redirection:
            server = redirection.server
        else:
            return
    raise ConnectionLost(f"{server}: redirected {_MOST_REDIRECTIONS} times and still not connected")


def _summary(problems: list[MessagingProblem]) -> MessagingProblem:
    if len(problems) == 1:
        return problems[0]
    telling = [problem for problem in problems if not isinstance(problem, ConnectionLost | NoAnswer)]
    kind = type(telling[0]) if telling else ConnectionLost
    return kind("; ".join(str(problem) for problem in problems))
