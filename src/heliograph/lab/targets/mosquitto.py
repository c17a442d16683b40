"""Eclipse Mosquitto as a system under test, with its statistics below $SYS."""

import os
import shutil
import signal
from contextlib import suppress
from typing import Any

from heliograph.lab.errors import BrokerGone
from heliograph.lab.load.client_loop import ClientLoop, give_up
from heliograph.lab.load.mqtt.client import MqttClientGroup
from heliograph.lab.load.mqtt.connection import MqttConnection
from heliograph.lab.load.plan import Address, Group, Plan
from heliograph.lab.machine import HOST
from heliograph.lab.targets.target import Listener, Statistic, Statistics, Target, TargetSetup, program_version
from heliograph.mqtt import Packet, Publish

# It publishes what has changed, once in each of its intervals.
_METRICS = {
    "$SYS/broker/clients/connected": "connected",
    "$SYS/broker/publish/messages/received": "messages_received",
    "$SYS/broker/publish/messages/sent": "messages_sent",
    "$SYS/broker/publish/messages/dropped": "discarded",
    "$SYS/broker/store/messages/count": "depth",
    "$SYS/broker/store/messages/bytes": "buffered_bytes",
}


class SysTopics:
    """A subscriber that remembers the last value of each topic."""

    def __init__(self, address: Address) -> None:
        transport = "tls" if address.ca_file else "tcp"
        group = Group("lab-statistics", "consume", 1, transport=transport, filters=tuple(_METRICS))  # type: ignore[arg-type]
        self._loop = ClientLoop(give_up)
        clients = MqttClientGroup(Plan((group,), 1.0), 0, 0, address, self._loop.poller, _Subscriber)
        self._loop.connect(clients)
        subscriber = clients.load_clients[0]
        assert isinstance(subscriber, _Subscriber)
        self._values = subscriber.values

    def read(self) -> list[Statistic]:
        """The last values that came; none when the server has gone."""
        try:
            self._loop.turn(0)
        except BrokerGone:
            return []
        return [Statistic("server", "statistics", metric, value) for metric, value in self._values.items()]

    def close(self) -> None:
        """Close the connection."""
        self._loop.close()


class _Subscriber(MqttConnection):
    """The subscriber to the statistics topics."""

    __slots__ = ("values",)

    def __init__(self, *about: Any) -> None:
        super().__init__(*about)
        self.values: dict[str, float] = {}

    def take_other(self, first: int, packet: Packet, now: int) -> None:
        """Note a value."""
        if isinstance(packet, Publish) and (metric := _METRICS.get(packet.topic)):
            with suppress(ValueError):
                self.values[metric] = float(packet.payload)


class Mosquitto(Target):
    """Eclipse Mosquitto.

    What it stores in durable cases, it keeps in memory and writes to the disk when it ends and every
    `autosave_interval`, which is half an hour as packaged and stays so: no case is that long. So it acknowledges
    before anything is on the disk, and is asked for less than our server is. As a crash would leave nothing to
    recover, it is ended with SIGTERM before a recovery. Of a backlog of ten million it gets one: more would take it
    minutes, and gigabytes of memory.
    """

    name = "mosquitto"
    install_hint = "apt install mosquitto"
    capabilities = frozenset(
        {"mqtt", "mqtt31", "mqtt5", "qos2", "tls", "mqtt-tcp-and-tls", "websocket", "durable", "shared"}
    )
    crash_signal = signal.SIGTERM
    longest_queue = 1_000_000

    def __init__(self) -> None:
        # Debian installs it where only root's PATH looks.
        self._program = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin")

    def version(self) -> str | None:
        """Its help starts with `mosquitto version 2.0.11`."""
        return program_version(self._program, "-h", r"mosquitto version (\S+)")

    def command(self, setup: TargetSetup) -> list[str]:
        """No limits, no files (but for durable cases), no log.

        `set_tcp_nodelay` stays off, its default: it writes message by message, and with Nagle's algorithm the kernel
        gathers those writes. Measured, that halves its CPU in fan-out and is better for its latency under load, too.
        """
        lines = [
            "allow_anonymous true",
            "max_inflight_messages 0",
            f"max_queued_messages {setup.max_messages or 0}",
            "log_type none",
            *(["sys_interval 1"] if setup.pages else []),
        ]
        # It wants the slash at the end, and does not make the folder.
        lines += ["persistence true", f"persistence_location {setup.data}/"] if setup.durable else ["persistence false"]
        if os.geteuid() == 0:
            lines.append("user root")  # or it becomes a user who cannot read the key for TLS
        for listener in setup.listeners:
            lines += _listener(listener, setup)
        config = setup.directory / "mosquitto.conf"
        config.write_text("\n".join(lines) + "\n")
        return [self._program or self.name, "-c", str(config)]

    def statistics(self, setup: TargetSetup) -> Statistics | None:
        """From its $SYS topics, if statistics were asked for."""
        listener = next((one for one in setup.listeners if one.transport in {"tcp", "tls"}), None)
        if not setup.pages or listener is None:
            return None
        return SysTopics(Address(listener.port, ca_file=str(setup.certificate.cert) if listener.encrypted else None))


def _listener(listener: Listener, setup: TargetSetup) -> list[str]:
    lines = [f"listener {listener.port} {HOST}", "max_connections -1"]
    if listener.transport in {"ws", "wss"}:
        lines.append("protocol websockets")
    if listener.encrypted:
        lines += [f"certfile {setup.certificate.cert}", f"keyfile {setup.certificate.key}"]
    return lines
