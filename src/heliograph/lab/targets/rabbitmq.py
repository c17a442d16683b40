"""RabbitMQ as a system under test: a node of its own in a temporary folder, with plug-ins for AMQP 1.0 and MQTT."""

import base64
import hashlib
import json
import re
import shutil
import signal
from pathlib import Path

from heliograph.lab.load.plan import Address
from heliograph.lab.machine import HOST
from heliograph.lab.targets.requirements import Door
from heliograph.lab.targets.target import Target, TargetSetup

_USER = "guest"
# Debian's command in PATH insists on its own user and its own folders; the script behind it does not.
_SCRIPTS = ("/usr/lib/rabbitmq/bin/rabbitmq-server", "/opt/rabbitmq/sbin/rabbitmq-server")
_SALT = b"salt"

_KEYS = {
    ("amqp", "tcp"): "listeners.tcp",
    ("amqp", "tls"): "listeners.ssl",
    ("mqtt", "tcp"): "mqtt.listeners.tcp",
    ("mqtt", "tls"): "mqtt.listeners.ssl",
}
_PLUGINS = {"tcp": "rabbitmq_mqtt", "tls": "rabbitmq_mqtt", "ws": "rabbitmq_web_mqtt", "wss": "rabbitmq_web_mqtt"}


class RabbitMQ(Target):
    """RabbitMQ with durable classic queues. Its MQTT is 3.1 and 3.1.1 with QoS 0 and 1.

    Its port mapper would outlive it as a daemon, so one is started beside it, on a port of its own, and ended with it.
    Queues are declared by a file of definitions that it loads when it starts, which needs no management plug-in.
    """

    name = "rabbitmq"
    install_hint = "apt install rabbitmq-server"
    capabilities = frozenset({"amqp", "queues", "tls", "durable", "queue-managers"})
    compared_protocols = frozenset({"amqp"})
    stop_signal = signal.SIGKILL  # what it would tidy up is thrown away

    def __init__(self) -> None:
        self._script = next((script for script in _SCRIPTS if Path(script).exists()), None)
        if self._has("rabbitmq_mqtt"):
            self.capabilities |= {"mqtt", "mqtt31", "mqtt-tcp-and-tls"}
        if self._has("rabbitmq_web_mqtt"):
            self.capabilities |= {"websocket"}

    def _has(self, plugin: str) -> bool:
        return bool(self._plugins(plugin))

    def _plugins(self, plugin: str) -> list[Path]:
        if self._script is None:
            return []
        return list(Path(self._script).parents[1].glob(f"lib/rabbitmq_server-*/plugins/{plugin}-[0-9]*"))

    def version(self) -> str | None:
        """The folder of its plug-ins has the version in its name."""
        if self._script is None or shutil.which("epmd") is None:
            return None
        for folder in self._plugins("rabbitmq_amqp1_0"):
            found = re.search(r"rabbitmq_amqp1_0-([\d.]+\d)", folder.name)
            if found:
                return found[1]
        return None

    def command(self, setup: TargetSetup) -> list[str]:
        """Everything it reads or writes is in the folder of this setup."""
        folder, mapper = setup.directory, setup.spare_ports[0]
        (folder / "enabled_plugins").write_text(f"[{', '.join(_plugins_for(setup))}].\n")
        (folder / "definitions.json").write_text(json.dumps(_definitions(setup)))
        (folder / "rabbitmq.conf").write_text(
            f"""
{_listeners(setup)}
load_definitions = {folder}/definitions.json
log.console = false
log.file.level = error
disk_free_limit.absolute = 50MB
"""
        )
        return ["/bin/sh", "-c", f'epmd -port {mapper} & exec "{self._script}"']

    def environment(self, setup: TargetSetup) -> dict[str, str]:
        """Its own name, folders and ports, all on the loopback."""
        folder, (mapper, distribution, *_) = setup.directory, setup.spare_ports
        return {
            "HOME": str(folder),
            "RABBITMQ_NODENAME": f"lab{setup.port}@localhost",
            "RABBITMQ_MNESIA_BASE": str(setup.data),
            "RABBITMQ_LOG_BASE": str(folder / "logs"),
            "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq.conf"),
            "RABBITMQ_ADVANCED_CONFIG_FILE": str(folder / "advanced.config"),
            "RABBITMQ_CONF_ENV_FILE": str(folder / "rabbitmq-env.conf"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "enabled_plugins"),
            "RABBITMQ_DIST_PORT": str(distribution),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
            "ERL_EPMD_PORT": str(mapper),
            "ERL_EPMD_ADDRESS": HOST,
        }

    def doors(self, setup: TargetSetup) -> tuple[Door, ...]:
        """One node is its normal form, so that a queue manager is a virtual host."""
        if not setup.amqp:
            return ()
        port = next(one.port for one in setup.listeners if one.protocol == "amqp")
        return tuple(
            Door(_address(port, name, number), _USER, _USER, transactions=False)
            for number, name in enumerate(_hosts(setup))
        )


def _address(port: int, host: str, number: int) -> Address:
    return Address(
        port,
        path="/amqp",
        manager=f"QM{number}",
        hostname=f"vhost:{host}",
        queue_prefix="/amq/queue/",
        topic_prefix="/topic/",
    )


def _plugins_for(setup: TargetSetup) -> list[str]:
    mqtt = {_PLUGINS[listener.transport] for listener in setup.listeners if listener.protocol == "mqtt"}
    return sorted(mqtt | {"rabbitmq_amqp1_0"})


def _listeners(setup: TargetSetup) -> str:
    lines = []
    for listener in setup.listeners:
        key = _KEYS.get((listener.protocol, listener.transport))
        if key:
            lines.append(f"{key}.1 = {HOST}:{listener.port}")
        elif listener.transport == "ws":
            lines += [f"web_mqtt.tcp.ip = {HOST}", f"web_mqtt.tcp.port = {listener.port}"]
        else:
            tls = setup.certificate
            lines += [f"web_mqtt.ssl.ip = {HOST}", f"web_mqtt.ssl.port = {listener.port}"]
            lines += [f"web_mqtt.ssl.certfile = {tls.cert}", f"web_mqtt.ssl.keyfile = {tls.key}"]
            lines += [f"web_mqtt.ssl.cacertfile = {tls.cert}"]
    ways = {(listener.protocol, listener.transport) for listener in setup.listeners}
    if ("amqp", "tcp") not in ways:
        lines.append("listeners.tcp = none")
    if {("mqtt", "ws"), ("mqtt", "wss")} & ways:
        lines.append("web_mqtt.ws_path = /mqtt")
        if ("mqtt", "ws") not in ways:
            lines.append("web_mqtt.tcp.listener = none")
    if any(protocol == "mqtt" for protocol, _ in ways):
        lines += [f"mqtt.vhost = {_hosts(setup)[0]}", f"mqtt.default_user = {_USER}", f"mqtt.default_pass = {_USER}"]
        if ("mqtt", "tcp") not in ways:
            lines.append("mqtt.listeners.tcp = none")
    if setup.max_message_size is not None:
        lines.append(f"max_message_size = {setup.max_message_size}")
    if setup.tls is not None:
        lines += [f"ssl_options.certfile = {setup.tls.cert}", f"ssl_options.keyfile = {setup.tls.key}"]
    return "\n".join(lines)


def _hosts(setup: TargetSetup) -> list[str]:
    return [f"qm{number}" for number in range(setup.layout.managers)]


def _definitions(setup: TargetSetup) -> dict[str, object]:
    salted = base64.b64encode(_SALT + hashlib.sha256(_SALT + _USER.encode()).digest()).decode()
    hosts = _hosts(setup)
    return {
        "vhosts": [{"name": host} for host in hosts],
        "users": [
            {
                "name": _USER,
                "password_hash": salted,
                "hashing_algorithm": "rabbit_password_hashing_sha256",
                "tags": "administrator",
            }
        ],
        "permissions": [
            {"user": _USER, "vhost": host, "configure": ".*", "write": ".*", "read": ".*"} for host in hosts
        ],
        "queues": [
            {"name": queue, "vhost": host, "durable": True, "auto_delete": False, "arguments": {}}
            for host in hosts
            for queue in setup.layout.queues
        ],
        "bindings": [
            {
                "source": "amq.topic",
                "vhost": host,
                "destination": binding.queue,
                "destination_type": "queue",
                "routing_key": _routing_key(binding.topic),
                "arguments": {},
            }
            for host in hosts
            for binding in setup.layout.bindings
        ],
    }


def _routing_key(topic: str) -> str:
    """How a topic filter is written there."""
    return topic.replace("/", ".").replace("+", "*")
