"""The queue managers of a server: one process each, started and stopped with the server, restarted when it dies."""

import asyncio
import socket
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from heliograph.broker import NOT_ALLOWED, NOT_FOUND, Elsewhere, Refused
from heliograph.server.config.loading import Config
from heliograph.server.processes.supervision import Command, State, SupervisedProcess


def serving(config_file: str) -> Command:
    """Serve queue managers of this configuration file with this Python and these sources."""
    return lambda name: [
        *(sys.executable, "-m", "heliograph.cli.main", "serve"),
        *("--config", config_file, "--queue-manager", name, "--supervised"),
    ]


class QueueManagerProcess(SupervisedProcess):
    """Keeps one queue manager running. It reports its addresses, queues and messages."""

    what = "queue manager"

    @property
    def addresses(self) -> list[str]:
        """Where it is, as URLs; nowhere while it does not run."""
        return list(self.report.get("addresses", ()))


Facts = dict[str, Any]

_WILDCARDS = {"0.0.0.0", "::", "*"}  # noqa: S104 - to know them, not to listen there


class QueueManagers:
    """The server itself, which is a queue manager too, and those that it runs as processes of their own."""

    def __init__(self, config: Config, own: Callable[[], Facts], command: Command) -> None:
        """`own` returns the state and figures of the server itself."""
        self._own = own
        self._processes = {
            manager.name: QueueManagerProcess(manager.name, command) for manager in config.queue_managers
        }
        self._changing: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        """Start all of them."""
        for process in self._processes.values():
            process.start()

    async def settled(self) -> None:
        """Wait until each is ready or has failed to start; those that failed are tried again in the background."""
        await asyncio.gather(*(process.settled() for process in self._processes.values()))

    async def stop(self) -> None:
        """Stop all of them, and wait until they have."""
        await asyncio.gather(*(process.stop() for process in self._processes.values()))

    def reload(self) -> None:
        """Have all of them read the configuration again."""
        for process in self._processes.values():
            process.reload()

    # What management asks for

    def list(self) -> list[Facts]:
        """The state and figures of each queue manager, the server itself first."""
        return [self.own(), *map(_facts, self._processes.values())]

    def own(self) -> Facts:
        """The state and figures of the server itself."""
        return self._own()

    def start_one(self, name: str) -> None:
        """Start a queue manager; it is not ready at once. Refused if there is none of this name."""
        self._find(name).start()

    def stop_one(self, name: str) -> None:
        """Stop a queue manager until it is started again or the server is; this takes a moment."""
        stopping = asyncio.ensure_future(self._find(name).stop())
        self._changing.add(stopping)
        stopping.add_done_callback(self._changing.discard)

    def _find(self, name: str) -> QueueManagerProcess:
        if name in self._processes:
            return self._processes[name]
        if name == self.own()["name"]:
            raise Refused(NOT_ALLOWED, f"{name} is the server itself, which is started and stopped as a process")
        raise Refused(NOT_FOUND, f"there is no queue manager {name}")

    @property
    def redirects(self) -> Mapping[str, Elsewhere | None]:
        """Where the AMQP clients of each queue manager are to go, as it is at the moment of looking."""
        return _Redirects(self._processes)


class _Redirects(Mapping[str, Elsewhere | None]):
    """The addresses of queue managers by name; None for one that does not run or speaks no AMQP."""

    def __init__(self, processes: Mapping[str, QueueManagerProcess]) -> None:
        self._processes = processes

    def __getitem__(self, name: str) -> Elsewhere | None:
        process = self._processes[name]
        return _amqp_address(process.addresses) if process.state is State.RUNNING else None

    def __iter__(self) -> Iterator[str]:
        return iter(self._processes)

    def __len__(self) -> int:
        return len(self._processes)


def _facts(process: QueueManagerProcess) -> Facts:
    return {
        "name": process.name,
        "state": str(process.state),
        "pid": process.pid or 0,
        "addresses": process.addresses,
        "queues": process.report.get("queues", 0),
        "depth": process.report.get("depth", 0),
        "restarts": process.restarts,
    }


def _amqp_address(addresses: Iterable[str]) -> Elsewhere | None:
    for wanted in ("amqp", "amqps"):
        for address in addresses:
            scheme, _, rest = address.partition("://")
            if scheme == wanted:
                host, _, port = rest.rpartition(":")
                host = host.strip("[]")
                return Elsewhere(socket.gethostname() if host in _WILDCARDS else host, int(port), scheme)
    return None
