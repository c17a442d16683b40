"""What a turn of the server costs that has one small message to keep: append, force, wake, release.

A client sends one message and waits for its acknowledgement before it sends the next, so nothing is shared by several
messages. The same message that nobody keeps is the yardstick: the difference is the price of keeping it. Run
`python -m heliograph.lab.durable_turn`, with the `src` folders of other versions to measure those in turns with it.
"""

import socket
import statistics
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import heliograph
from heliograph.lab import wire
from heliograph.lab.link import Link
from heliograph.lab.machine import split_cores
from heliograph.lab.targets.heliograph_server import Heliograph
from heliograph.lab.targets.running import Broker, running
from heliograph.lab.targets.target import Setup

_TURNS = 300
_ROUNDS = 40
_PUBACK_SIZE = 4
_NOT_KEPT, _AWAY, _HERE = "nobody keeps it", "kept for a client that is away", "kept, sent to a client, acknowledged"


class _Version(Heliograph):
    """Our server from another folder."""

    def __init__(self, source: str, durability: str) -> None:
        self.name = source
        self.durability = durability

    def command(self, setup: Setup) -> list[str]:
        """The same, with that folder before any other."""
        program, _, module, *rest = super().command(setup)
        run = f"import runpy, sys; sys.path.insert(0, {self.name!r}); runpy.run_module({module!r}, run_name='__main__')"
        return [program, "-c", run, *rest]


def _publish(topic: str) -> bytes:
    return wire.Shape(qos=1).publish(topic, bytes(64), packet_id=1)


def _link(broker: Broker, client: str, topic: str = "") -> Link:
    """A client that is connected, with a durable session if it is to subscribe."""
    link = Link(broker.address, client, durable=bool(topic))
    link.finish()
    if topic:
        link.subscribe(topic, 1)
    return link


class _Server:
    """A server that runs, and clients that make it do one turn after the other."""

    def __init__(self, broker: Broker) -> None:
        self._tasks = Path(f"/proc/{broker.pid}/task")
        _link(broker, "away", _AWAY).leave()
        self._links = [_link(broker, "here", _HERE), _link(broker, "publisher")]
        self._here, self._publisher = (link.socket for link in self._links)

    def spend(self, way: str) -> float:
        """CPU microseconds of one turn in which a message goes this way."""
        packet, turn = _publish(way), self._send if way != _HERE else self._pass_on
        before = self._cpu()
        for _ in range(_TURNS):
            turn(packet)
        return (self._cpu() - before) / _TURNS / 1000

    def close(self) -> None:
        """Let the clients go."""
        for link in self._links:
            link.close()

    def _cpu(self) -> int:
        """Nanoseconds that the server's threads have run: the counters for whole processes are too coarse."""
        return sum(int((task / "schedstat").read_text().split()[0]) for task in self._tasks.iterdir())

    def _send(self, packet: bytes) -> None:
        self._publisher.sendall(packet)
        self._publisher.recv(_PUBACK_SIZE, socket.MSG_WAITALL)

    def _pass_on(self, packet: bytes) -> None:
        self._send(packet)
        found = self._here.recv(len(packet), socket.MSG_WAITALL)
        identifier = 4 + len(_HERE)
        self._here.sendall(b"\x40\x02" + found[identifier : identifier + 2])


@contextmanager
def _servers(sources: list[str], durability: str, core: int | None) -> Iterator[dict[str, _Server]]:
    with ExitStack() as stack:
        versions = {source: _Version(source, durability) for source in sources}
        brokers = {name: stack.enter_context(running(one, core, durable=True)) for name, one in versions.items()}
        servers = {name: _Server(broker) for name, broker in brokers.items()}
        for server in servers.values():
            stack.callback(server.close)
        yield servers


def _tell(way: str, found: dict[str, list[float]], first: list[float]) -> None:
    for source, spent in found.items():
        ratio = statistics.median(one / other for one, other in zip(spent, first, strict=True))
        print(f"  {way}: {statistics.median(spent):.1f} us of CPU, at best {min(spent):.1f}; {ratio:.2f}  {source}")


def main(sources: list[str]) -> None:
    """Print what turns cost, and the ratio to those of the first version."""
    with split_cores() as cores:
        for durability in ("memory", "disk"):
            print(f'durability = "{durability}"')
            with _servers(sources, durability, cores.broker) as servers:
                for way in (_NOT_KEPT, _AWAY, _HERE):
                    found: dict[str, list[float]] = {source: [] for source in sources}
                    for _ in range(_ROUNDS):
                        for source, server in servers.items():
                            found[source].append(server.spend(way))
                    _tell(way, found, found[sources[0]])


if __name__ == "__main__":
    main([*sys.argv[1:], str(Path(heliograph.__file__).parents[1])])
