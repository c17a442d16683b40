"""Our own server as a system under test."""

import sys

from heliograph import __version__
from heliograph.lab.bytestream import HOST, Address
from heliograph.lab.targets.heliograph_statistics import HeliographStatistics
from heliograph.lab.targets.layout import Door
from heliograph.lab.targets.statistics import Statistics
from heliograph.lab.targets.target import Listener, Setup, Target


class Heliograph(Target):
    """Ours, which acknowledges what it stores when that has been forced to the disk."""

    name = "heliograph"
    knows = frozenset(
        {"mqtt", "mqtt31", "mqtt5", "qos2", "tls", "websocket", "durable", "shared", "amqp", "queues"}
    ) | {
        "transactions",
        "selectors",
        "queue-managers",
        "flows",
    }
    durability = "disk"

    def version(self) -> str | None:
        """The version of this package."""
        return __version__

    def command(self, setup: Setup) -> list[str]:
        """Limits out of the way of ten thousand connections, and no line in the log for each, as for the peers."""
        config = setup.directory / "heliograph.toml"
        config.write_text(
            f"""
{"".join(_listener(listener, setup) for listener in setup.listeners)}
{_queue_tables(setup)}
[storage]
directory = "{setup.data}"
durability = "{self.durability}"
[log]
level = "warning"
[http]
{f'host = "{HOST}"' if setup.pages else "enabled = false"}
{f"port = {setup.pages}" if setup.pages else ""}
[limits]
connections = 100000
connects_per_second = 100000
inflight = 65535
{_LONG_QUEUES if setup.durable else "max_messages = 100000"}
"""
        )
        return [sys.executable, "-m", "heliograph.cli.main", "serve", "--config", str(config)]

    def doors(self, setup: Setup) -> tuple[Door, ...]:
        """One queue manager is the server itself; of several, each is a process with a port of its own."""
        if not setup.amqp:
            return ()
        amqp = [listener.port for listener in setup.listeners if listener.protocol == "amqp"]
        ports = amqp[:1] if setup.layout.managers == 1 else setup.spare_ports[: setup.layout.managers]
        return tuple(Door(Address(port)) for port in ports)

    def statistics(self, setup: Setup) -> Statistics | None:
        """From its pages for operators."""
        return HeliographStatistics(setup.pages) if setup.pages else None


def _listener(listener: Listener, setup: Setup) -> str:
    lines = ["[[listener]]", f'protocol = "{listener.protocol}"', f'kind = "{listener.transport}"']
    if listener.encrypted:
        lines += [f'cert = "{setup.certificate.cert}"', f'key = "{setup.certificate.key}"']
    return "\n".join([*lines, f'host = "{HOST}"', f"port = {listener.port}\n"])


def _queue_tables(setup: Setup) -> str:
    managers, queues = setup.layout.managers, setup.layout.queues
    if managers == 1:
        return "".join(f'[[queue]]\nname = "{queue}"\nmax_depth = {_DEPTH}\n' for queue in queues)
    tables = ""
    for number, port in zip(range(managers), setup.spare_ports, strict=False):
        tables += f'[[queue_manager]]\nname = "QM{number}"\n'
        tables += f'[[queue_manager.listener]]\nprotocol = "amqp"\nhost = "{HOST}"\nport = {port}\n'
        for queue in queues:
            tables += f'[[queue_manager.queue]]\nname = "{queue}"\nmax_depth = {_DEPTH}\n'
    return tables


_DEPTH = 100_000_000  # no limit that a load reaches
# Room for ten million messages that wait for one consumer.
_LONG_QUEUES = """max_messages = 20000000
max_bytes = 17179869184
buffered_bytes = 17179869184"""


class HeliographMemory(Heliograph):
    """Ours, which acknowledges as soon as the kernel has what it stores: shows what waiting for the disk costs."""

    name = "heliograph-memory"
    durability = "memory"
    only_compared = True
