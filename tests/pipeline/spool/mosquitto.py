"""A broker of others: mosquitto, with a log of its own for sessions."""

import os
import socket
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path

from paho_client import PahoClient
from running import PATIENCE
from tools import program


class Mosquitto:
    """A broker on a port of its own, which can be stopped and started again."""

    def __init__(self, folder: Path, password: str = "") -> None:
        """With a password, only the user `reader` is let in."""
        self._command = program("mosquitto", "apt install mosquitto")
        self._folder = folder
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        self._config = folder / "mosquitto.conf"
        access = "allow_anonymous true\n"
        if password:
            users = folder / "users"
            passwd = program("mosquitto_passwd", "apt install mosquitto")
            subprocess.run([passwd, "-b", "-c", str(users), "reader", password], check=True)
            users.chmod(0o644)
            access = f"allow_anonymous false\npassword_file {users}\n"
        self._config.write_text(
            f"listener {self.port} 127.0.0.1\n{access}persistence true\npersistence_location {folder}/\n"
            "max_inflight_messages 200\nmax_queued_messages 0\n" + ("user root\n" if os.geteuid() == 0 else "")
        )
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def url(self) -> str:
        return f"mqtt://127.0.0.1:{self.port}"

    def start(self) -> None:
        self._process = subprocess.Popen(
            [self._command, "-c", str(self._config)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
            except OSError:
                assert time.monotonic() < deadline, "mosquitto did not start"
                time.sleep(0.05)
            else:
                return

    def stop(self) -> None:
        """Stop as an operator does: sessions are kept."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(PATIENCE)
            self._process = None

    def publish(self, topic: str, payloads: Iterable[str], qos: int = 1) -> None:
        """Publish and wait until the broker has everything."""
        with PahoClient() as publisher:
            publisher.connect(port=self.port)
            sent = [publisher.client.publish(topic, payload, qos) for payload in payloads]
            for each in sent:
                each.wait_for_publish(PATIENCE)
                assert each.is_published()
