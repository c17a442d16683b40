"""Our server with the streams and the queue that the cases need: MQTT, AMQP and pages."""

import sys
from collections.abc import Callable
from pathlib import Path

from heliograph.lab.machine import HOST
from heliograph.lab.targets.heliograph_server import Heliograph
from heliograph.lab.targets.target import Setup

STREAMS = ("small", "large", "mixed", "orders", "telemetry", "out")
"""Each keeps the topics below its name."""
QUEUE = "BENCH.SINK"
_CONFIG = """
[storage]
directory = "{data}"
[log]
level = "warning"
[[listener]]
host = "{host}"
port = {port}
[[listener]]
protocol = "amqp"
host = "{host}"
port = {amqp}
[http]
host = "{host}"
port = {http}
hosts = ["127.1"]
[limits]
inflight = 65535
max_messages = 20000000
max_bytes = 17179869184
buffered_bytes = 17179869184
[[queue]]
name = "{queue}"
max_depth = 100000000
"""
_STREAM = """
[[stream]]
name = "{name}"
filter = "{name}/#"
partitions = 2
retention_bytes = 0
"""


class SparkServer(Heliograph):
    """One that stores on the disk before it acknowledges, as it does unless told otherwise."""

    def __init__(self, write: Callable[[Path], None] | None = None) -> None:
        """`write` writes what is to be in the log when the server starts."""
        self._write = write
        self.amqp_port = 0
        self.http_port = 0

    def command(self, setup: Setup) -> list[str]:
        """With its configuration, which is written here."""
        self.amqp_port, self.http_port = setup.spare_ports[:2]
        if self._write is not None:
            self._write(setup.data)
        config = setup.directory / "heliograph.toml"
        text = _CONFIG.format(
            data=setup.data, host=HOST, port=setup.port, amqp=self.amqp_port, http=self.http_port, queue=QUEUE
        )
        config.write_text(text + "".join(_STREAM.format(name=name) for name in STREAMS), "utf-8")
        return [sys.executable, "-m", "heliograph.cli.main", "serve", "--config", str(config)]

    @property
    def pages(self) -> str:
        """What the option `server` of `format("heliograph")` gets."""
        return f"http://{HOST}:{self.http_port}"

    @property
    def amqp(self) -> str:
        """For clients."""
        return f"amqp://{HOST}:{self.amqp_port}"
