"""Our own server as a system under test, with its statistics pages."""

import json
import sys
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPException
from typing import Any

from heliograph import __version__
from heliograph.lab.load.plan import Address
from heliograph.lab.machine import HOST
from heliograph.lab.targets.requirements import Door, Layout
from heliograph.lab.targets.target import Listener, Statistic, Statistics, Target, TargetSetup

_PATIENCE = 2.0  # seconds: a server that is busy for longer has no figures for this moment
_SUBSCRIPTIONS = 20  # the fullest ones are enough, whatever their number

_DEPTH = 100_000_000  # no limit that a load reaches
_FRAMING = 65536  # room for topic and properties beside the message
# Room for ten million messages that wait for one consumer.
_LONG_QUEUES = ["max_messages = 20000000", "max_bytes = 17179869184", "buffered_bytes = 17179869184"]


class HeliographStatistics:
    """Reads /stats and /subscriptions over one connection."""

    def __init__(self, port: int, host: str = HOST) -> None:
        self._connection = HTTPConnection(host, port, timeout=_PATIENCE)

    def read(self) -> list[Statistic]:
        """The figures now."""
        try:
            stats, subscriptions = self._page("/stats"), self._page("/subscriptions")
        except (OSError, HTTPException, ValueError):
            self._connection.close()
            return []
        return [*_of_server(stats), *_of_queues(stats["queues"]["named"]), *_of_subscriptions(subscriptions)]

    def _page(self, path: str) -> Any:
        self._connection.request("GET", path)
        return json.loads(self._connection.getresponse().read())

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def _of_server(stats: dict[str, Any]) -> Iterator[Statistic]:
    clients, messages, buffers = stats["clients"], stats["messages"], stats["buffers"]
    dropped = messages["discarded"] + messages["rejected"] + messages["expired"]
    for metric, value in {
        "connected": clients["connected"],
        "connected_high_water": clients["connected_high_water"],
        "messages_received": messages["received"],
        "messages_sent": messages["sent"],
        "discarded": dropped,
        "depth": buffers["messages"],
        "buffered_bytes": buffers["bytes"],
        "unsafe_bytes": stats["storage"]["unsafe_bytes"],
    }.items():
        yield Statistic("server", "statistics", metric, value)


def _of_queues(named: list[dict[str, Any]]) -> Iterator[Statistic]:
    for queue in named:
        for metric in ("depth", "high_water"):
            if metric in queue:
                yield Statistic("queue", queue["name"], metric, queue[metric])


def _of_subscriptions(found: list[dict[str, Any]]) -> Iterator[Statistic]:
    for one in found[:_SUBSCRIPTIONS]:
        name = f"{one.get('client', one.get('group', ''))} {one['filter']}"
        yield Statistic("queue", name, "depth", one["buffered"])
        yield Statistic("queue", name, "high_water", one["high_water"])
        yield Statistic("queue", name, "discarded", one["discarded"] + one["rejected"])


class Heliograph(Target):
    """Our server with its default durability: it acknowledges messages when they are forced to the disk."""

    name = "heliograph"
    capabilities = frozenset(
        {
            "mqtt",
            "mqtt31",
            "mqtt5",
            "qos2",
            "tls",
            "mqtt-tcp-and-tls",
            "websocket",
            "durable",
            "shared",
            "amqp",
            "queues",
        }
    ) | {
        "transactions",
        "selectors",
        "queue-managers",
        "queues-on-demand",
        "flows",
    }
    durability = "disk"

    def version(self) -> str | None:
        """The version of this package."""
        return __version__

    def command(self, setup: TargetSetup) -> list[str]:
        """Limits out of the way of ten thousand connections, and no line in the log for each, as for the peers."""
        config = setup.directory / "heliograph.toml"
        config.write_text(
            f"""
{"".join(_listener(listener, setup) for listener in setup.listeners)}
{_queue_tables(setup)}
[queues]
create = ["lab.growth.*"]
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
sessions = 2000000
retained_messages = 2000000
queues = 30000
{_limits(setup)}
"""
        )
        return [sys.executable, "-m", "heliograph.cli.main", "serve", "--config", str(config)]

    def doors(self, setup: TargetSetup) -> tuple[Door, ...]:
        """One queue manager is the server itself; of several, each is a process with a port of its own."""
        if not setup.amqp:
            return ()
        amqp = [listener.port for listener in setup.listeners if listener.protocol == "amqp"]
        ports = amqp[:1] if setup.layout.managers == 1 else setup.spare_ports[: setup.layout.managers]
        return tuple(Door(Address(port, path="/amqp", manager=f"QM{number}")) for number, port in enumerate(ports))

    def statistics(self, setup: TargetSetup) -> Statistics | None:
        """From its pages for operators."""
        return HeliographStatistics(setup.pages) if setup.pages else None


def _listener(listener: Listener, setup: TargetSetup) -> str:
    lines = ["[[listener]]", f'protocol = "{listener.protocol}"', f'kind = "{listener.transport}"']
    if listener.encrypted:
        lines += [f'cert = "{setup.certificate.cert}"', f'key = "{setup.certificate.key}"']
    return "\n".join([*lines, f'host = "{HOST}"', f"port = {listener.port}\n"])


def _queue_tables(setup: TargetSetup) -> str:
    layout = setup.layout
    if layout.managers == 1:
        return "".join("[[queue]]\n" + _queue(queue, layout) for queue in layout.queues)
    tables = ""
    for number, port in zip(range(layout.managers), setup.spare_ports, strict=False):
        tables += f'[[queue_manager]]\nname = "QM{number}"\n'
        tables += f'[[queue_manager.listener]]\nprotocol = "amqp"\nhost = "{HOST}"\nport = {port}\n'
        tables += "".join("[[queue_manager.queue]]\n" + _queue(queue, layout) for queue in layout.queues)
    return tables


def _queue(name: str, layout: Layout) -> str:
    topics = f"topics = {json.dumps(found)}\n" if (found := layout.topics(name)) else ""
    return f'name = "{name}"\nmax_depth = {_DEPTH}\n{topics}'


def _limits(setup: TargetSetup) -> str:
    lines = []
    if setup.max_messages is not None:
        lines.append(f"max_messages = {setup.max_messages}")
    elif setup.durable:
        lines += _LONG_QUEUES
    else:
        lines.append("max_messages = 100000")
    if setup.max_message_size is not None:
        lines.append(f"packet_size = {setup.max_message_size + _FRAMING}")
    return "\n".join(lines)


class HeliographMemory(Heliograph):
    """Our server without waiting for the disk: the difference is what waiting costs."""

    name = "heliograph-memory"
    durability = "memory"
    only_compared = True
